/** The mark of a move into a database (`../moving/store-ends.ts`). */
import type { Mark } from '../moving/store-ends.ts';
import { MARK_TABLE } from '../moving/unfinished-move.ts';
import type { Transaction } from './database.ts';

type Connection = Pick<Transaction, 'rows'>;

export async function readMark(connection: Connection): Promise<Mark | undefined> {
  if (!(await hasMarkTable(connection))) return undefined;
  const [row] = await connection.rows<{ mark: string }>('SELECT mark FROM store_move');
  return row && (JSON.parse(row.mark) as Mark);
}

/** Sets the mark from two parameters, its state and itself. */
export function markStatement(state: string, mark: string): string {
  return `INSERT INTO store_move (id, state, mark) VALUES (0, ${state}, ${mark})
              ON CONFLICT (id) DO UPDATE SET state = excluded.state, mark = excluded.mark`;
}

export async function writeMark(connection: Connection, mark: Mark): Promise<void> {
  await connection.rows(MARK_TABLE);
  await connection.rows(markStatement('$1', '$2'), [mark.state, JSON.stringify(mark)]);
}

/** Without reading the mark itself, which a later version may write differently. */
export async function moveState(connection: Connection): Promise<Mark['state'] | undefined> {
  if (!(await hasMarkTable(connection))) return undefined;
  const [row] = await connection.rows<{ state: Mark['state'] }>('SELECT state FROM store_move');
  return row?.state;
}

async function hasMarkTable(connection: Connection): Promise<boolean> {
  const [table] = await connection.rows<{ found: boolean }>(
    "SELECT to_regclass('store_move') IS NOT NULL AS found",
  );
  return table!.found;
}
