/** Runs a script in the workspace while its call waits, and puts its end into words. */
import { posix } from 'node:path';
import { createFile } from '../files/workspace-path.ts';
import { type LimitedEnd, runLimited } from '../limits/run-limited.ts';
import { OutputCapture, type Spool } from '../process/output-capture.ts';
import type { ToolContext, ToolOutcome } from './tool.ts';

export interface ForegroundOptions {
  timeoutS: number;
  /** How much of that time is over already. */
  waitedMs?: number;
}

export async function runInForeground(
  script: Uint8Array,
  { timeoutS, waitedMs = 0 }: ForegroundOptions,
  context: ToolContext,
): Promise<{ end: LimitedEnd; outcome: ToolOutcome }> {
  const capture = new OutputCapture(context.limits, () => openSpool(context));
  let end: LimitedEnd;
  try {
    const timeoutMs = Math.max(timeoutS * 1000 - waitedMs, 0);
    end = await runLimited(context, { script, capture, timeoutMs });
  } catch (error) {
    await capture.finish();
    throw error;
  }
  const { text, totalBytes, truncated, spoolPath } = await capture.finish();
  const { error, metadata } = outcomeOf(end, timeoutS);
  const outcome = {
    output: text,
    error,
    metadata: {
      ...metadata,
      truncated,
      total_bytes: totalBytes,
      ...(spoolPath === undefined ? {} : { full_output_path: spoolPath }),
    },
  };
  return { end, outcome };
}

/** Under the workspace, so that the model can reach the rest of a long output with its own tools. */
async function openSpool({ executionId, isolation, workspace }: ToolContext): Promise<Spool> {
  const components = ['.talaria', 'output', `${executionId}.log`];
  const handle = await createFile(workspace.dir, components);
  return { handle, path: posix.join(isolation.workspaceDir(workspace), ...components) };
}

function outcomeOf(end: LimitedEnd, timeoutS: number): Omit<ToolOutcome, 'output'> {
  const remains = end.gone
    ? 'everything it had started was ended'
    : 'something it had started could not be ended';
  switch (end.cause) {
    case 'timeout':
      return {
        error: `The command was still running after ${timeoutS} s; ${remains}.`,
        metadata: { timed_out: true, failure: 'timeout' },
      };
    case 'aborted':
      return { error: `The command was stopped; ${remains}.`, metadata: { failure: 'aborted' } };
    case 'exited':
      return exitOutcome(end);
  }
}

function exitOutcome(end: LimitedEnd): Omit<ToolOutcome, 'output'> {
  const { exitCode, signal, limit, started, message, gone } = end;
  const metadata = {
    ...(exitCode === undefined ? {} : { exit_code: exitCode }),
    ...(signal === undefined ? {} : { signal }),
  };
  const left = gone ? '' : ' Something it left running could not be ended.';
  if (limit) return { error: `${limit.message}${left}`, metadata: { ...metadata, failure: limit.failure } };
  if (!started) {
    return {
      error: `The sandbox could not start the command: ${message || `it exited with code ${exitCode}`}`,
      metadata: { ...metadata, failure: 'backend_down' },
    };
  }
  if (exitCode === 0) return { error: left.trim(), metadata };
  return { error: `The command exited with code ${exitCode}.${left}`, metadata };
}
