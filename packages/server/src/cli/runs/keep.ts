/** `talaria keep`: keeps runs, or takes that back, and says until when they are there. */
import { connect } from '../client/connect.ts';
import { findRun } from '../client/find-run.ts';
import type { Arguments } from '../commands.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Terminal } from '../terminal.ts';
import { safeJson, safeLine } from '../text/safe-text.ts';
import { describeKeeping } from './describe-run.ts';

export async function keep(args: Arguments<'keep'>, terminal: Terminal): Promise<number> {
  const client = connect(args, terminal);
  // All are looked up before one is changed: a mistake in an id changes nothing.
  const ids = await Promise.all(args.run.map((given) => findRun(client, given)));
  for (const id of ids) {
    const run = await client.runs.keep(id, !args.undo);
    const until = describeKeeping(run) ?? 'until some time after its end';
    terminal.out(args.json ? safeJson(run) : `${safeLine(run.run_id)} is kept ${until}`);
  }
  return exitCodes.ok;
}
