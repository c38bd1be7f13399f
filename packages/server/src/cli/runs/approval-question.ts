/** An approval request for a person: the whole command, the reason, and the deadline. */

import type { ApprovalChoice, ApprovalRequest } from '@talaria/client';
import type { Style } from '../style.ts';
import { nextCommand } from '../text/next-command.ts';
import { quote } from '../text/quote.ts';
import { safeLine } from '../text/safe-text.ts';
import { elapsed } from '../text/time.ts';

/** Servers of the older dialect leave fields out. */
export type Question = Partial<ApprovalRequest>;

export function questionLines(question: Question, columns: number, style: Style): string[] {
  const { command = '', description, pattern_key } = question;
  return [
    `${style.careful('?')} ${style.strong('Approval needed')}: ${safeLine(description ?? pattern_key ?? 'a command')}`,
    ...quote(command, columns, style),
  ];
}

/** How long there is to answer: `4m 59s`. */
export function timeLeft({ expires_at }: Question, nowMs: number = Date.now()): string | undefined {
  if (expires_at === undefined) return undefined;
  const seconds = expires_at - nowMs / 1000;
  return seconds > 0 ? elapsed(Math.ceil(seconds)) : undefined;
}

export function remaining(question: Question, nowMs?: number): string | undefined {
  const left = timeLeft(question, nowMs);
  return left === undefined ? undefined : `denied in ${left} without an answer`;
}

/** How to answer from elsewhere, and until when. */
export function howToApprove(question: Question, runId: string, server: string | undefined): string {
  const time = remaining(question);
  return `  Answer it with: ${nextCommand(`approve ${runId}`, server)}${time === undefined ? '' : ` (${time})`}`;
}

export function answeredLine(choice: string, { good, bad }: Style): string {
  return choice === 'deny' ? `${bad('✗')} denied` : `${good('✓')} approved ${safeLine(choice)}`;
}

export const MEANINGS: Readonly<Record<ApprovalChoice, string>> = {
  once: 'this time',
  session: 'for this session',
  always: 'for good',
  deny: 'no',
};
