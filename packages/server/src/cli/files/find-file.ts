/** The id of an uploaded file from what a person typed: the whole id, or a unique beginning of it. */
import type { Talaria } from '@talaria/client';
import { isFileId } from '@talaria/protocol';
import { CommandError } from '../command-error.ts';
import { UsageError } from '../usage-error.ts';

const SHOWN_MAX = 5;

export async function findFile(client: Talaria, given: string): Promise<string> {
  const start = given.startsWith('file-') ? given : `file-${given}`;
  if (isFileId(start)) return start;
  if (!/^file-[0-9a-f]{1,31}$/.test(start)) {
    throw new UsageError(`${JSON.stringify(given)} is not the id of a file; expected file- and hex digits`);
  }
  const found: string[] = [];
  for await (const { id } of client.files.list()) if (id.startsWith(start)) found.push(id);
  if (found.length === 1) return found[0]!;
  if (found.length === 0) throw new CommandError(`No file begins with ${start}; talaria files ls lists them`);
  const more = found.length > SHOWN_MAX ? ` and ${found.length - SHOWN_MAX} more` : '';
  const shown = found.slice(0, SHOWN_MAX).join(', ');
  throw new CommandError(`${found.length} files begin with ${start}: ${shown}${more}; give more of the id`);
}
