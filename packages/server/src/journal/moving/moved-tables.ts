/**
 * Which tables and columns are moved: all that the catalogs of both databases name, except those listed here. There is
 * no other list. So a table that is added to both drivers is moved, and one that is added to only one driver fails the
 * test beside this file until somebody has decided what happens to it.
 */
import type { Kind, MovedTable, StoreShape, TableShape } from './store-ends.ts';

/** Tables and columns that stay, and why. */
const NOT_MOVED: Readonly<Record<string, string>> = {
  probe: 'is only written to check that the store accepts writes',
  store_move: 'records the progress of a move into this store',
  talaria_schema: 'is the version of the tables; the target has its own',
  leftovers: 'lists what is still to be deleted, which is not moved either',
  servers: 'are the servers that work on this database',
  workspaces: 'says which server has which files; each server adds its own at its start',
  workspace_snapshots: 'are what earlier versions kept instead of checkpoints',
  workspace_snapshot_chunks: 'are what those consist of',
  blobs: 'are the bytes that references name; a move copies them by themselves',
  blob_chunks: 'are what the blobs consist of',
  small_blobs: 'are such bytes, too',
  change_marks: 'are given by the store itself; no cursor of a feed continues in another store',
  'runs.changed': 'is such a mark',
  'runs.settled': 'is such a mark',
  'run_heads.changed': 'is such a mark',
  'runs.bytes': 'is measured again',
  disk_use: 'is the sum of what was measured',
};

export function isMoved(table: string, column?: string): boolean {
  return !(table in NOT_MOVED) && (column === undefined || !(`${table}.${column}` in NOT_MOVED));
}

/** Columns that SQLite does not need. As a source it computes them (`sqlite-source.ts`). */
export const NOT_IN_SQLITE: Readonly<Record<string, string>> = {
  owners: 'the order of turns is forgotten at a restart',
  'webhooks.receiver': 'follows from the URL',
};

/** Tables that are not empty in a new store. */
export const NEVER_EMPTY: readonly string[] = ['keys'];

export function movedTables(source: StoreShape, target: StoreShape): MovedTable[] {
  const moved: MovedTable[] = [];
  for (const [name, shape] of [...target.tables].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const from = source.tables.get(name);
    if (from === undefined || !isMoved(name)) continue;
    moved.push(movedTable(name, from, shape));
  }
  return moved;
}

function movedTable(name: string, from: TableShape, to: TableShape): MovedTable {
  const missing = [...from.columns.keys()].filter(
    (column) => isMoved(name, column) && !to.columns.has(column) && !(`${name}.${column}` in NOT_IN_SQLITE),
  );
  if (missing.length > 0) throw new Error(`the target has no ${name}.${missing[0]}`);
  if (from.key.length === 0 || from.key.join() !== to.key.join()) {
    throw new Error(`the keys of ${name} differ: ${from.key.join()} and ${to.key.join()}`);
  }
  const columns = [...to.columns]
    .filter(([column]) => isMoved(name, column))
    .map(([column, kind]) => ({
      name: column,
      kind: commonKind(`${name}.${column}`, from.columns.get(column), kind),
    }));
  return { name, columns, key: to.key };
}

/** SQLite has no booleans: they are integers there. */
function commonKind(column: string, from: Kind | 'other' | undefined, to: Kind | 'other'): Kind {
  const kinds = new Set([from, to]);
  if (from === to && from !== 'other') return from;
  if (kinds.has('integer') && kinds.has('boolean')) return 'boolean';
  throw new Error(`${column} is ${from ?? 'missing'} in the source and ${to} in the target`);
}
