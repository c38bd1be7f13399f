/** Runs a script in the workspace while its call waits, and describes its end in text. */
import type { LimitHit } from '../limits/limit-hits.ts';
import { type LimitedEnd, runLimited } from '../limits/run-limited.ts';
import { type CapturedOutput, OutputCapture } from '../process/output-capture.ts';
import { openOutput } from './open-output.ts';
import type { ToolContext, ToolOutcome } from './tool.ts';

export interface ForegroundOptions {
  timeoutS: number;
  /** How much of that time is over already. */
  waitedMs?: number;
  /** Whether standard error follows the output, under a line of its own. */
  errorsAfter?: boolean;
}

export async function runInForeground(
  script: Uint8Array,
  { timeoutS, waitedMs = 0, errorsAfter = false }: ForegroundOptions,
  context: ToolContext,
): Promise<{ end: LimitedEnd; outcome: ToolOutcome }> {
  const { executionId } = context;
  const capture = new OutputCapture(context.limits, () => openOutput(executionId, context));
  const errors = errorsAfter
    ? new OutputCapture(context.limits, () => openOutput(`${executionId}-stderr`, context))
    : undefined;
  let end: LimitedEnd;
  try {
    const timeoutMs = Math.max(timeoutS * 1000 - waitedMs, 0);
    end = await runLimited(context, { script, capture, errors, timeoutMs });
  } catch (error) {
    await Promise.all([capture.finish(), errors?.finish()]);
    throw error;
  }
  const [printed, complaints] = await Promise.all([capture.finish(), errors?.finish()]);
  const { text, totalBytes, truncated, spoolPath } = join(printed, complaints);
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

/** As two outputs in one text: the errors come last, under a line of their own if anything is before them. */
function join(output: CapturedOutput, errors: CapturedOutput | undefined): CapturedOutput {
  if (!errors || errors.text === '') return output;
  const { text } = output;
  const between = text === '' ? '' : `${text.endsWith('\n') ? '' : '\n'}[stderr]\n`;
  return {
    text: `${text}${between}${errors.text}`,
    totalBytes: output.totalBytes + errors.totalBytes,
    truncated: output.truncated || errors.truncated,
    spoolPath: output.spoolPath ?? errors.spoolPath,
  };
}

function outcomeOf(end: LimitedEnd, timeoutS: number): Omit<ToolOutcome, 'output'> {
  const remains = end.gone
    ? 'everything it had started was ended'
    : 'something it had started could not be ended';
  if (end.limit) return limitOutcome(end, end.limit);
  switch (end.cause) {
    case 'timeout':
      return {
        error: `The command timed out after ${timeoutS} s; ${remains}.`,
        metadata: { timed_out: true, failure: 'timeout' },
      };
    case 'lost':
      return {
        error:
          'The sandbox ended while the command ran, and the command with it; what it did before is unknown.',
        metadata: { failure: 'gone' },
      };
    case 'aborted':
      return { error: `The command was stopped; ${remains}.`, metadata: { failure: 'aborted' } };
    case 'exited':
      return exitOutcome(end);
  }
}

function limitOutcome(end: LimitedEnd, { failure, message }: LimitHit): Omit<ToolOutcome, 'output'> {
  return { error: message + leftBy(end), metadata: { ...exitMetadata(end), failure } };
}

function exitOutcome(end: LimitedEnd): Omit<ToolOutcome, 'output'> {
  const { exitCode, started, message } = end;
  const metadata = exitMetadata(end);
  if (!started) {
    return {
      error: `The sandbox could not start the command: ${message || `it exited with code ${exitCode}`}`,
      metadata: { ...metadata, failure: 'backend_down' },
    };
  }
  if (exitCode === 0) return { error: leftBy(end).trim(), metadata };
  return { error: `The command exited with code ${exitCode}.${leftBy(end)}`, metadata };
}

function exitMetadata({ cause, exitCode, signal }: LimitedEnd): ToolOutcome['metadata'] {
  if (cause !== 'exited') return {};
  return {
    ...(exitCode === undefined ? {} : { exit_code: exitCode }),
    ...(signal === undefined ? {} : { signal }),
  };
}

function leftBy({ gone }: LimitedEnd): string {
  return gone ? '' : ' Something it left running could not be ended.';
}
