/**
 * The identity of this server for others on the same store: a random id, kept in the data directory. So it stays the
 * same after a restart, and differs for another directory. Records under this id are about the contents of that
 * directory.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createId } from '@talaria/protocol';

const SERVER_ID = /^server_[0-9a-f]{32}$/;

/** Reads the id, or creates it. No other process may be using the directory. */
export function readServerId(dataDir: string): string {
  const path = join(dataDir, 'server-id');
  const kept = read(path);
  if (kept !== undefined && SERVER_ID.test(kept)) return kept;
  // A file that was cut off while it was written has named nobody yet.
  if (kept !== undefined && kept !== '') {
    throw new Error(`${path} does not contain a server id; delete it, and this server gets a new one`);
  }
  const made = createId('server');
  writeFileSync(path, `${made}\n`, { mode: 0o600, flush: true });
  return made;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
