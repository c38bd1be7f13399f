/** `talaria watch`: follows an existing run. */
import { connect } from '../client/connect.ts';
import { findRun } from '../client/find-run.ts';
import type { Arguments } from '../commands.ts';
import type { Terminal } from '../terminal.ts';
import { followRun } from './follow-run.ts';
import { openView } from './open-view.ts';

export async function watch(args: Arguments<'watch'>, terminal: Terminal): Promise<number> {
  const client = connect(args, terminal);
  const runId = await findRun(client, args.run);
  using view = openView({ ...args, quiet: false }, terminal);
  return await followRun({ client, runId, after: args.after, view, terminal, server: args.server });
}
