/** The mark of a move into a database (`../moving/store-ends.ts`). */
import type { DatabaseSync } from 'node:sqlite';
import type { Mark } from '../moving/store-ends.ts';
import { MARK_TABLE } from '../moving/unfinished-move.ts';

export function readMark(db: DatabaseSync): Mark | undefined {
  if (!hasMarkTable(db)) return undefined;
  const row = db.prepare('SELECT mark FROM store_move').get();
  return row && (JSON.parse(row.mark as string) as Mark);
}

export function writeMark(db: DatabaseSync, mark: Mark): void {
  db.exec(MARK_TABLE);
  db.prepare('INSERT OR REPLACE INTO store_move (id, state, mark) VALUES (0, ?, ?)').run(
    mark.state,
    JSON.stringify(mark),
  );
}

/** Without reading the mark itself, which a later version may write otherwise. */
export function moveState(db: DatabaseSync): Mark['state'] | undefined {
  return hasMarkTable(db)
    ? (db.prepare('SELECT state FROM store_move').get()?.state as Mark['state'] | undefined)
    : undefined;
}

function hasMarkTable(db: DatabaseSync): boolean {
  return db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'store_move'").get() !== undefined;
}
