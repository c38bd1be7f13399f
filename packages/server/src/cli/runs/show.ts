/** `talaria show`: one run, with its question, the calls it waits for, and its answer. */
import {
  describeQueue,
  type ForkedFrom,
  isTerminalStatus,
  NotFoundError,
  type Run,
  type Talaria,
} from '@talaria/client';
import { connect } from '../client/connect.ts';
import { findRun } from '../client/find-run.ts';
import type { Arguments } from '../commands.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Terminal } from '../terminal.ts';
import { type Field, fields } from '../text/fields.ts';
import { safeJson, safeLine, safeText } from '../text/safe-text.ts';
import { age, duration, localTime } from '../text/time.ts';
import { tokens } from '../text/tokens.ts';
import { howToApprove, questionLines } from './approval-question.ts';
import { describeKeeping, paintStatus } from './describe-run.ts';
import { callLines, howToAnswer } from './pending-call.ts';

export async function showRun(args: Arguments<'show'>, terminal: Terminal): Promise<number> {
  const client = connect(args, terminal);
  const run = await getRun(client, await findRun(client, args.run));
  terminal.out(args.json ? safeJson(run, 2) : asText(run, terminal, args.server));
  return exitCodes.ok;
}

/** An evicted run only has its head left. */
async function getRun(client: Talaria, runId: string): Promise<Run> {
  try {
    return await client.runs.get(runId);
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    return client.runs.head(runId);
  }
}

function asText(run: Run, { stdout: { style, columns } }: Terminal, server: string | undefined): string {
  const { approval, output, pending_calls: calls = [] } = run;
  const kept = describeKeeping(run);
  const used = tokens(run.usage ?? run.usage_so_far);
  const lines = fields(
    [
      ['run', safeLine(run.run_id)],
      ['status', paintStatus(run.status, style)(safeLine(run.status))],
      run.queue === undefined ? undefined : ['queue', safeLine(describeQueue(run.queue))],
      ...times(run),
      run.session_id === run.run_id ? undefined : ['session', safeLine(run.session_id)],
      run.forked_from === undefined ? undefined : ['fork of', originOf(run.forked_from)],
      run.model === undefined ? undefined : ['model', safeLine(run.model)],
      used === undefined ? undefined : ['tokens', used],
      run.cost === undefined ? undefined : ['cost', dollars(run.cost)],
      kept === undefined ? undefined : ['kept', kept],
      run.evicted ? ['evicted', whyGone(run)] : undefined,
      run.error === undefined ? undefined : ['error', style.bad(safeLine(errorOf(run)))],
    ],
    style,
  );
  if (approval !== undefined) {
    lines.push('', ...questionLines(approval, columns, style), howToApprove(approval, run.run_id, server));
  }
  if (calls.length > 0) {
    lines.push(
      '',
      ...calls.flatMap((call) => callLines(call, columns, style)),
      howToAnswer(run.run_id, calls, server),
    );
  }
  if (output !== undefined) lines.push('', safeText(output).trimEnd());
  return lines.join('\n');
}

/** Servers of the older dialect send none. */
function times({ created_at, updated_at, status }: Run): Field[] {
  if (created_at === undefined || updated_at === undefined) return [];
  const ended = isTerminalStatus(status);
  return [
    ['created', `${localTime(new Date(created_at * 1000))} (${age(created_at)} ago)`],
    [ended ? 'took' : 'so far', duration((ended ? updated_at : Date.now() / 1000) - created_at)],
  ];
}

function whyGone({ evicted_for }: Run): string {
  const gone = 'its answer, events and files are gone';
  return evicted_for === 'room' ? `${gone}, to make room on the disk` : gone;
}

/** As many digits as tell a cheap step from a free one. */
function dollars(cost: number): string {
  return `$${cost >= 1 ? cost.toFixed(2) : Number(cost.toPrecision(2))}`;
}

function originOf({ run_id, seq }: ForkedFrom): string {
  return safeLine(seq === null ? run_id : `${run_id}, from event ${seq}`);
}

function errorOf({ error = '', error_code }: Run): string {
  return error_code === undefined ? error : `${error} (${error_code})`;
}
