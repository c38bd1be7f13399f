/** `tmux`: keys for the terminal of the slot, its screen, and what it printed. */
import { setTimeout as delay } from 'node:timers/promises';
import type { SandboxArguments } from '../../tools/sandbox-tools.ts';
import { grant } from '../confinement.ts';
import { bytesOf, endsLine } from '../terminal/key-names.ts';
import { TerminalError, type TerminalSession } from '../terminal/terminal-session.ts';
import { noTerminal } from './bash-stateful.ts';
import type { Run, ToolContext, ToolOutcome } from './tool.ts';

type Arguments = SandboxArguments<'tmux'>;
type Action = (session: TerminalSession, args: Arguments, context: ToolContext) => Promise<ToolOutcome>;

const COLUMNS = { least: 20, most: 500 };
const ROWS = { least: 10, most: 200 };
const STREAM_BYTES = 50_000;

export const tmux: Run<'tmux'> = async (args, context) => {
  const granted = grant(context.confinement, args);
  if (!('isCutOff' in granted)) return granted;
  const { isCutOff, metadata } = granted;
  const outcome = await act(args, { ...context, isCutOff });
  return { ...outcome, metadata: { ...outcome.metadata, ...metadata, stateful: true } };
};

async function act(args: Arguments, context: ToolContext): Promise<ToolOutcome> {
  const { terminal } = context;
  const { action, pane_width, pane_height } = args;
  if (action === 'stop') {
    await terminal.close();
    return said('stopped');
  }
  try {
    const session = await terminal.open(context, {
      ...(pane_width && { columns: between(pane_width, COLUMNS) }),
      ...(pane_height && { rows: between(pane_height, ROWS) }),
    });
    return await ACTIONS[action](session, args, context);
  } catch (error) {
    if (!(error instanceof TerminalError)) throw error;
    return noTerminal(error);
  }
}

const start: Action = async ({ size, recording }) => {
  recording.rewind();
  return said('started', { pane_width: size.columns, pane_height: size.rows });
};

const sendKeys: Action = async (session, args, { signal, defaultTimeoutS, maxTimeoutS }) => {
  const { keys = '', block = false, min_wait_s: minWaitS = 0, max_wait_s, timeout } = args;
  const limitS = Math.min(timeout ?? defaultTimeoutS, maxTimeoutS);
  const typed = bytesOf(keys);
  const bytes = block && !endsLine(typed) ? `${typed}\r` : typed;
  const waitS = Math.min(max_wait_s ?? limitS, limitS);
  const { cause } = await session.send(bytes, block, waitS * 1000, signal);
  if (cause === 'timeout') {
    await session.end();
    const error = `The keys timed out after ${waitS} s: the shell did not prompt again. Its terminal was ended.`;
    return { output: '', error, metadata: { timed_out: true, failure: 'timeout' } };
  }
  if (cause === 'aborted') {
    await session.end();
    return {
      output: '',
      error: 'The keys were stopped; the terminal was ended.',
      metadata: { failure: 'aborted' },
    };
  }
  if (!block && minWaitS > 0)
    await delay(Math.min(minWaitS, limitS) * 1000, undefined, { signal }).catch(() => {});
  return said('ok');
};

const capture: Action = async ({ recording, size }, { capture_entire: entire = false }) => {
  const { text, alternate } = recording.replay();
  return { output: text, error: '', metadata: { screen: { ...size, alternate, entire } } };
};

const stream: Action = async ({ recording }, { max_bytes: maxBytes = STREAM_BYTES, reset = false }) => {
  if (reset) recording.rewind();
  const { lines, offset, missing } = recording.stream(Math.min(maxBytes, 4 * STREAM_BYTES));
  return { output: lines, error: '', metadata: { stream_offset: offset, truncated: missing } };
};

const ACTIONS: Readonly<Record<Exclude<Arguments['action'], 'stop'>, Action>> = {
  start,
  send_keys: sendKeys,
  capture,
  stream,
};

function said(output: string, metadata: ToolOutcome['metadata'] = {}): ToolOutcome {
  return { output, error: '', metadata };
}

function between(value: number, { least, most }: typeof COLUMNS): number {
  return Math.min(Math.max(value, least), most);
}
