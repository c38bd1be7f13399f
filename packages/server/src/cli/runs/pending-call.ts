/** A tool call that the run's client has to run: what it is, and how to answer it by hand. */

import type { PendingCall } from '@talaria/client';
import type { Style } from '../style.ts';
import { nextCommand } from '../text/next-command.ts';
import { quote } from '../text/quote.ts';
import { safeCommandLine, safeLine } from '../text/safe-text.ts';
import { elapsed } from '../text/time.ts';

/** `getWeather {"city":"Oslo"}` */
export function callLine({ tool, arguments: args }: PendingCall): string {
  return safeCommandLine(`${tool} ${JSON.stringify(args)}`);
}

/** With the whole arguments. */
export function callLines(call: PendingCall, columns: number, style: Style): string[] {
  const { tool, tool_call_id, arguments: args } = call;
  const head = `${style.strong('Waits for its client')}: ${safeLine(tool)}`;
  return [
    `${style.careful('?')} ${head}  ${style.faint(safeLine(tool_call_id))}`,
    ...quote(JSON.stringify(args), columns, style),
  ];
}

/** How to answer from elsewhere, and until when. The call is named if there are several. */
export function howToAnswer(
  runId: string,
  calls: readonly PendingCall[],
  server: string | undefined,
): string {
  const name = calls.length > 1 ? ' <call>' : '';
  const seconds = Math.min(...calls.map(({ expires_at }) => expires_at)) - Date.now() / 1000;
  const time = seconds > 0 ? ` (given up in ${elapsed(Math.ceil(seconds))} without one)` : '';
  return `  Answer it with: ${nextCommand(`answer ${runId}${name} --output <text>`, server)}${time}`;
}
