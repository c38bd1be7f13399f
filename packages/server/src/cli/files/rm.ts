/** `talaria files rm`: deletes what was uploaded. */
import { connect } from '../client/connect.ts';
import type { Arguments } from '../commands.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Terminal } from '../terminal.ts';
import { safeJson, safeLine } from '../text/safe-text.ts';
import { findFile } from './find-file.ts';

export async function removeFiles(args: Arguments<'filesRm'>, terminal: Terminal): Promise<number> {
  const client = connect(args, terminal);
  // All are looked up before one is deleted: a mistake in an id deletes nothing.
  const ids = await Promise.all(args.file.map((given) => findFile(client, given)));
  for (const id of new Set(ids)) {
    const deleted = await client.files.delete(id);
    terminal.out(args.json ? safeJson(deleted) : `${safeLine(deleted.id)} deleted`);
  }
  return exitCodes.ok;
}
