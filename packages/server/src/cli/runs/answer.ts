/**
 * `talaria answer`: answers a client tool call by hand. It prints which call it answered, and the output cannot reach
 * another call.
 */
import type { PendingCall, Run } from '@talaria/client';
import { connect } from '../client/connect.ts';
import { findRun } from '../client/find-run.ts';
import { CommandError } from '../command-error.ts';
import type { Arguments } from '../commands.ts';
import { exitCodes } from '../exit-codes.ts';
import { readStdin } from '../read-text.ts';
import type { Terminal } from '../terminal.ts';
import { safeJson } from '../text/safe-text.ts';
import { UsageError } from '../usage-error.ts';
import { callLine, callLines } from './pending-call.ts';

export async function answer(args: Arguments<'answer'>, terminal: Terminal): Promise<number> {
  const client = connect(args, terminal);
  const runId = await findRun(client, args.run);
  const call = pendingCall(await client.runs.get(runId), args.call);
  const output = await readOutput(args.output, call, terminal);
  const { tool_call_id } = call;
  const answered = await client.runs.toolOutputs(runId, [
    { tool_call_id, output, ...(args.error ? { error: true } : {}) },
  ]);
  const { good, bad } = terminal.stdout.style;
  const mark = args.error ? `${bad('✗')} failed` : `${good('✓')} answered`;
  terminal.out(args.json ? safeJson(answered, 2) : `${mark}: ${callLine(call)}`);
  return exitCodes.ok;
}

function pendingCall(
  { run_id, status, pending_calls: calls = [] }: Run,
  wanted: string | undefined,
): PendingCall {
  if (calls.length === 0) throw new CommandError(`${run_id} waits for no output: it is ${status}`);
  const found = calls.filter(({ tool_call_id }) => tool_call_id.startsWith(wanted ?? ''));
  const call = calls.find(({ tool_call_id }) => tool_call_id === wanted);
  if (call !== undefined) return call;
  if (found.length === 1) return found[0]!;
  const listed = calls.map((each) => `${each.tool_call_id} (${callLine(each)})`).join(', ');
  const problem = found.length === 0 ? `None begins with ${wanted}` : 'Name the call';
  throw new CommandError(`${problem}; ${run_id} waits for ${listed}`);
}

async function readOutput(given: string | undefined, call: PendingCall, terminal: Terminal): Promise<string> {
  if (given !== undefined && given !== '-') return given;
  if (given === undefined) {
    if (!terminal.stdin.isTerminal)
      throw new UsageError('there is no terminal to ask on; give --output <text>');
    const { columns, style } = terminal.stderr;
    for (const line of callLines(call, columns, style)) terminal.err(line);
  }
  return readStdin('the output', terminal);
}
