/** `bash`: runs a command in the workspace. */
import { posix } from 'node:path';
import { createFile, pathComponents } from '../files/workspace-path.ts';
import { renderScript } from '../isolation/shell.ts';
import { OutputCapture, type Spool } from '../process/output-capture.ts';
import { type CommandEnd, runCommand } from '../process/run-command.ts';
import {
  InvalidArgumentError,
  optionalEnvironment,
  optionalPositive,
  optionalString,
  rejectUnknown,
  requiredString,
} from './arguments.ts';
import type { Tool, ToolContext, ToolOutcome } from './tool.ts';

export const bash: Tool = async (args, context) => {
  rejectUnknown(args, ['command', 'timeout', 'workdir', 'env']);
  const command = requiredString(args, 'command');
  if (command.trim() === '') throw new InvalidArgumentError('The argument command is empty.');
  if (command.includes('\0'))
    throw new InvalidArgumentError('The argument command contains a NUL character.');
  const timeoutS = Math.min(
    optionalPositive(args, 'timeout') ?? context.defaultTimeoutS,
    context.maxTimeoutS,
  );
  const workspaceDir = context.isolation.workspaceDir(context.workspace);
  const workdir = posix.join(
    workspaceDir,
    ...pathComponents(optionalString(args, 'workdir') ?? '.', workspaceDir),
  );
  const script = renderScript({ command, workdir, env: optionalEnvironment(args, 'env') });

  const capture = new OutputCapture(context.limits, () => openSpool(context, workspaceDir));
  let end: CommandEnd;
  try {
    end = await runCommand(context.isolation.launch(context.workspace, context.executionId), {
      script,
      scriptDir: context.workspace.stateDir,
      pipes: context.pipes,
      capture,
      timeoutMs: timeoutS * 1000,
      signal: context.signal,
    });
  } catch (error) {
    await capture.finish();
    throw error;
  }
  const { text, totalBytes, truncated, spoolPath } = await capture.finish();
  const { error, metadata } = outcomeOf(end, timeoutS);
  return {
    output: text,
    error,
    metadata: {
      ...metadata,
      truncated,
      total_bytes: totalBytes,
      ...(spoolPath === undefined ? {} : { full_output_path: spoolPath }),
    },
  };
};

/** Under the workspace, so that the model can reach the rest of a long output with its own tools. */
async function openSpool(context: ToolContext, workspaceDir: string): Promise<Spool> {
  const components = ['.talaria', 'output', `${context.executionId}.log`];
  const handle = await createFile(context.workspace.dir, components);
  return { handle, path: posix.join(workspaceDir, ...components) };
}

function outcomeOf(end: CommandEnd, timeoutS: number): Omit<ToolOutcome, 'output'> {
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

function exitOutcome({ exitCode, signal, started, message, gone }: CommandEnd): Omit<ToolOutcome, 'output'> {
  const metadata = {
    ...(exitCode === undefined ? {} : { exit_code: exitCode }),
    ...(signal === undefined ? {} : { signal }),
  };
  if (!started) {
    return {
      error: `The sandbox could not start the command: ${message || `it exited with code ${exitCode}`}`,
      metadata: { ...metadata, failure: 'backend_down' },
    };
  }
  const left = gone ? '' : ' Something it left running could not be ended.';
  if (exitCode === 0) return { error: left.trim(), metadata };
  return { error: `The command exited with code ${exitCode}.${left}`, metadata };
}
