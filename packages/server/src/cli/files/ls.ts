/** `talaria files ls`: what was uploaded. */
import type { StoredFile } from '@talaria/client';
import { connect } from '../client/connect.ts';
import type { Arguments } from '../commands.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Terminal } from '../terminal.ts';
import { bytes } from '../text/bytes.ts';
import { safeJson, safeLine } from '../text/safe-text.ts';
import { type Cell, table } from '../text/table.ts';
import { localTime } from '../text/time.ts';

export async function listFiles(args: Arguments<'filesLs'>, terminal: Terminal): Promise<number> {
  const client = connect(args, terminal);
  const { purpose, limit = Number.POSITIVE_INFINITY } = args;
  const files: StoredFile[] = [];
  for await (const file of client.files.list({ purpose })) {
    files.push(file);
    if (files.length === limit) break;
  }
  if (args.json) terminal.out(safeJson(files, 2));
  else if (args.quiet) for (const { id } of files) terminal.out(safeLine(id));
  else if (files.length === 0) terminal.err('No files; talaria files put uploads one');
  else terminal.out(asTable(files, terminal));
  return exitCodes.ok;
}

function asTable(files: readonly StoredFile[], { stdout }: Terminal): string {
  const { faint } = stdout.style;
  const rows = files.map((file): Cell[] => [
    { text: safeLine(file.id) },
    { text: bytes(file.bytes) },
    { text: localTime(new Date(file.created_at * 1000)), paint: faint },
    { text: safeLine(file.filename) },
  ]);
  return table(['FILE', 'SIZE', 'UPLOADED', 'NAME'], rows, stdout.columns);
}
