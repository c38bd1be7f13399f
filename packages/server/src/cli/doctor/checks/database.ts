/** The database: not created yet, or intact and of a version that this server knows. It is only read. */
import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { unfinishedMove } from '../../../journal/moving/unfinished-move.ts';
import { SCHEMA_VERSION } from '../../../journal/sqlite/migrations.ts';
import { moveState } from '../../../journal/sqlite/move-mark.ts';
import { bytes } from '../../text/bytes.ts';
import type { Finding } from '../finding.ts';

/** Reading all of a larger one takes too long. */
const CHECKED_MAX_BYTES = 2_000_000_000;

export function checkDatabase(path: string): Finding {
  if (!existsSync(path)) return { status: 'ok', detail: `SQLite, ${path} will be made at the first start` };
  const { size } = statSync(path);
  const name = `SQLite, ${path}, ${bytes(size)}`;
  try {
    using db = new DatabaseSync(path, { readOnly: true });
    const { user_version: version } = db.prepare('PRAGMA user_version').get() as { user_version: number };
    if (version > SCHEMA_VERSION) {
      return {
        status: 'failed',
        detail: `${name}: made by a newer version (schema ${version}, this one knows ${SCHEMA_VERSION})`,
        fix: 'Start the newer version, or restore a backup from before it',
      };
    }
    const move = unfinishedMove(moveState(db));
    if (move !== undefined) return { status: 'failed', detail: `${name}: ${move.problem}`, fix: move.fix };
    if (size <= CHECKED_MAX_BYTES) {
      const problem = (db.prepare('PRAGMA quick_check(1)').get() as { quick_check: string }).quick_check;
      if (problem !== 'ok') return damaged(name, problem);
    }
    const open = whyOpen(path);
    if (open !== undefined) return { status: 'warning', detail: `${name}; ${open.what}`, fix: open.fix };
    const unread = size > CHECKED_MAX_BYTES ? '; too large to be read through here' : '';
    return { status: 'ok', detail: `${name}${unread}` };
  } catch (error) {
    return damaged(name, (error as Error).message);
  }
}

/** Other users can read a database from an earlier version until a server opens it. */
function whyOpen(path: string): { what: string; fix: string } | undefined {
  if ((statSync(path).mode & 0o077) !== 0) {
    return { what: 'other users of this machine can read it', fix: `chmod 600 ${path}` };
  }
  const directory = dirname(path);
  if ((statSync(directory).mode & 0o077) === 0) return undefined;
  return {
    what: `its directory is open to other users of this machine`,
    fix: `chmod 700 ${directory}, or put it into one of its own`,
  };
}

function damaged(name: string, problem: string): Finding {
  return {
    status: 'failed',
    detail: `${name}: ${problem}`,
    fix: 'Restore a backup, or move the file away to begin with an empty one (docs/operations.md)',
  };
}
