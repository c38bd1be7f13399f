/** `talaria steer`: sends text to a running run. */
import { connect } from '../client/connect.ts';
import { findRun } from '../client/find-run.ts';
import type { Arguments } from '../commands.ts';
import { exitCodes } from '../exit-codes.ts';
import { readText } from '../read-text.ts';
import type { Terminal } from '../terminal.ts';
import { safeJson } from '../text/safe-text.ts';

export async function steer(args: Arguments<'steer'>, terminal: Terminal): Promise<number> {
  const text = await readText(args.text, 'the text', terminal);
  const client = connect(args, terminal);
  const runId = await findRun(client, args.run);
  const answer = await client.runs.steer(runId, text);
  terminal.out(args.json ? safeJson(answer, 2) : `Told ${runId}; the model reads it before its next step`);
  return exitCodes.ok;
}
