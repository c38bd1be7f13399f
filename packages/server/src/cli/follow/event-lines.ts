/** The events of a run as lines for people. The text comes from a model and its tools, and is made safe here. */
import type { RunEvent } from '@talaria/client';
import { answeredLine } from '../runs/approval-question.ts';
import type { Style } from '../style.ts';
import { safeCommandLine, safeLine, safeText } from '../text/safe-text.ts';
import { duration } from '../text/time.ts';
import { tokens } from '../text/tokens.ts';
import { fit, widthOf } from '../text/width.ts';

export type EventOf<Name extends RunEvent['event']> = Extract<RunEvent, { event: Name }>;

/** How many lines of a failed tool's output are shown by default. */
const FAILURE_LINES = 4;

export interface ToolParts {
  /** One column wide. */
  readonly mark: string;
  readonly tool: string;
  readonly preview: string;
  readonly note: string;
}

/** `✓ terminal  npm test  1.2s`, the middle cut to fit. */
export function toolLine({ mark, tool, preview, note }: ToolParts, columns: number, style: Style): string {
  const name = safeLine(tool);
  const room = columns - widthOf(name) - widthOf(note) - 6;
  const shown = fit(safeCommandLine(preview), Math.max(room, 1));
  return [`${mark} ${style.strong(name)}`, shown, style.faint(note)].filter((part) => part !== '').join('  ');
}

export function completedToolLines(
  event: EventOf<'tool.completed'>,
  preview: string,
  options: { columns: number; style: Style; verbose: boolean },
): string[] {
  const { style, columns, verbose } = options;
  const { error, exit_code, tool } = event;
  const took = duration(event.duration ?? 0);
  const note = error && exit_code !== undefined ? `exit ${exit_code}, ${took}` : took;
  const mark = error ? style.bad('✗') : style.good('✓');
  const said = safeText(event.preview ?? '').trim();
  const answer = said === '' || !(error || verbose) ? [] : said.split('\n');
  const shown =
    verbose || answer.length <= FAILURE_LINES ? answer : [...answer.slice(0, FAILURE_LINES - 1), '…'];
  return [
    toolLine({ mark, tool, preview, note }, columns, style),
    ...shown.map((line) => style.faint(`    ${line}`)),
  ];
}

export function reasoningLines({ text }: EventOf<'reasoning.available'>, { faint }: Style): string[] {
  return safeText(text).trim().split('\n').map(faint);
}

/** `• step 2  1.2s  tokens 1,234 in, 56 out`; a reason other than the usual ones is named. */
export function stepLine(event: EventOf<'step.completed'>, { faint }: Style): string {
  const { step, finish_reason: reason } = event;
  const used = tokens(event.usage);
  const usual = reason === undefined || reason === 'stop' || reason === 'tool_calls';
  const parts = [
    `• step ${step}`,
    duration(event.duration ?? 0),
    used === undefined ? '' : `tokens ${used}`,
    usual ? '' : `ended by ${safeLine(reason)}`,
  ];
  return faint(parts.filter((part) => part !== '').join('  '));
}

export function respondedLine(event: EventOf<'approval.responded'>, style: Style): string {
  const { choice, reason, message } = event;
  const said = reason === 'timeout' ? 'nobody answered in time' : (message ?? reason);
  const why = said === undefined || said === '' ? '' : `: ${safeLine(said)}`;
  return `${answeredLine(choice, style)}${why}`;
}

/** The tools are unknown if the events were read from the middle on. */
export function waitingLine(tools: readonly string[], { careful }: Style): string {
  const names = [...new Set(tools)].map(safeLine).join(', ') || 'its tools';
  return `${careful('?')} waits for its client to run ${names}`;
}

export function steeredLine({ input }: EventOf<'run.steered'>, { busy }: Style): string {
  return `${busy('→')} steered: ${safeLine(input)}`;
}

export type TerminalEvent = EventOf<'run.completed' | 'run.failed' | 'run.cancelled'>;

/** `✓ completed in 14s · tokens 1,234 in, 56 out · run_…` */
export function endLine(event: TerminalEvent, createdAt: number | undefined, style: Style): string {
  const seconds = createdAt === undefined ? undefined : event.timestamp - createdAt;
  const time = (word: string): string => (seconds === undefined ? '' : ` ${word} ${duration(seconds)}`);
  const rest = [usageOf(event), safeLine(event.run_id)].filter((part) => part !== undefined).join(' · ');
  switch (event.event) {
    case 'run.completed':
      return `${style.good('✓')} completed${time('in')} ${style.faint(`· ${rest}`)}`;
    case 'run.cancelled':
      return `${style.careful('■')} cancelled${time('after')} ${style.faint(`· ${rest}`)}`;
    case 'run.failed': {
      const code = event.error_code === undefined ? '' : ` (${safeLine(event.error_code)})`;
      const why = `${safeLine(event.error ?? 'no reason given')}${code}`;
      return `${style.bad('✗')} failed${time('after')}: ${why} ${style.faint(`· ${rest}`)}`;
    }
  }
}

function usageOf(event: TerminalEvent): string | undefined {
  const used = tokens(event.event === 'run.completed' ? event.usage : event.usage_so_far);
  return used === undefined ? undefined : `tokens ${used}`;
}
