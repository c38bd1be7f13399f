/**
 * Moves all data of a store into an empty one, and compares both.
 *
 *    (empty) ─ begin ─▶ copying ─ last row ─▶ copied ─ compared ─▶ verified
 *                        ▲    │                 │
 *                        └────┘ each batch      └─ a difference ─▶ different ─ start over ─▶ copying
 *
 * Rows are copied first, and then the bytes that they refer to (move-blobs.ts). The state is the mark in the target. However the command ends, the same command continues from the mark: with the row
 * after the last one that arrived, or with the comparison, which always begins at its beginning.
 */
import { failpoint } from '../../basics/failpoints.ts';
import { Adaptation } from './adapted-rows.ts';
import { type ComparedTable, compareStores } from './compare-stores.ts';
import { CONTENTS, compareBlobs, copyBlobs } from './move-blobs.ts';
import { movedTables, NEVER_EMPTY } from './moved-tables.ts';
import {
  type Held,
  keyOf,
  type Mark,
  type MovedTable,
  MoveRefusedError,
  type SourceEnd,
  type TargetEnd,
} from './store-ends.ts';

export interface MoveOptions {
  /** Throws away what an unfinished move has left in the target. */
  startOver?: boolean;
  /** The move may end between two batches; the same command continues it. */
  signal?: AbortSignal;
  onProgress?: (progress: MoveProgress) => void;
}

export interface MoveProgress {
  phase: 'copying' | 'comparing';
  table: string;
  /** How many rows of all tables this phase has done. */
  rows: number;
  totalRows: number;
}

export interface Moved {
  /** Also the contents that rows refer to, as if they were a table. */
  tables: ComparedTable[];
  /** How many contents neither store has. */
  missingContents: number;
  /** When an earlier command finished everything; undefined if this one did the work. */
  verifiedBefore: Date | undefined;
}

export async function moveStore(
  source: SourceEnd,
  target: TargetEnd,
  { startOver = false, signal, onProgress = () => {} }: MoveOptions = {},
): Promise<Moved> {
  const tables = movedTables(source.shape, target.shape);
  const held = await whatIsHeld(source, target, tables);
  let mark = await target.mark();
  if (mark?.state === 'verified') return alreadyMoved(mark, source, held);
  if (mark === undefined) await expectEmpty(target, tables);
  if (mark === undefined || startOver) {
    mark = { state: 'copying', source: source.identity, held };
    await target.begin(tables, mark);
  }
  expectSameMove(mark, source, held);

  const totalRows = sum(Object.values(held.rows));
  const progress = (phase: MoveProgress['phase']) => (table: string, rows: number) => {
    signal?.throwIfAborted();
    const names = [...tables.map(({ name }) => name), CONTENTS];
    const rowsBefore = sum(names.slice(0, names.indexOf(table)).map((name) => held.rows[name]!));
    onProgress({ phase, table, rows: rowsBefore + rows, totalRows });
  };
  if (mark.state === 'copying') {
    if (mark.at?.table !== CONTENTS) await copyRows(source, target, tables, mark, progress('copying'));
    await copyBlobs(source, target, mark, progress('copying'));
    await target.setCounters(new Map(Object.entries(held.counters)));
    mark = { ...mark, state: 'copied', at: undefined };
    await target.setMark(mark);
    failpoint('move.after-copy');
  }
  await target.settle();
  const { difference: inRows, compared } = await compareStores(
    source,
    target,
    tables,
    held,
    progress('comparing'),
  );
  const blobs =
    inRows === undefined ? await compareBlobs(source, target, progress('comparing')) : { difference: inRows };
  if ('difference' in blobs) {
    const { difference } = blobs;
    await target.setMark({ ...mark, state: 'different' });
    throw new MoveRefusedError(
      `The target differs from the source, so no server will open it: ${difference}. Begin again with --start-over`,
    );
  }
  failpoint('move.before-verified');
  await target.setMark({ ...mark, state: 'verified', verifiedAt: Date.now() });
  const { missing: missingContents, ...contents } = blobs;
  return { tables: [...compared, contents], missingContents, verifiedBefore: undefined };
}

async function copyRows(
  source: SourceEnd,
  target: TargetEnd,
  tables: readonly MovedTable[],
  mark: Mark,
  onRows: (table: string, rows: number) => void,
): Promise<void> {
  const { at } = mark;
  const first = at === undefined ? 0 : tables.findIndex(({ name }) => name === at.table);
  for (const table of tables.slice(first)) {
    const reached = at?.table === table.name ? at : undefined;
    const [adaptation, key] = [new Adaptation(table, target), keyOf(table)];
    let rows = reached?.rows ?? 0;
    onRows(table.name, rows);
    for await (const batch of source.batches(table, reached?.after)) {
      rows += batch.length;
      const now: Mark = { ...mark, at: { table: table.name, after: key(batch.at(-1)!), rows } };
      await target.add(
        table,
        batch.map((row) => adaptation.apply(row)),
        now,
      );
      failpoint('move.after-batch');
      onRows(table.name, rows);
    }
  }
}

async function whatIsHeld(
  source: SourceEnd,
  target: TargetEnd,
  tables: readonly MovedTable[],
): Promise<Held> {
  const rows: Record<string, number> = {};
  for (const table of tables) rows[table.name] = await source.count(table);
  rows[CONTENTS] = await source.countBlobs();
  const counters = [...(await source.counters())].filter(([name]) => target.shape.counters.has(name));
  return { rows, counters: Object.fromEntries(counters.sort()) };
}

async function expectEmpty(target: TargetEnd, tables: readonly MovedTable[]): Promise<void> {
  for (const table of tables) {
    const rows = NEVER_EMPTY.includes(table.name) ? 0 : await target.count(table);
    if (rows > 0) {
      throw new MoveRefusedError(
        `The target is not empty: its table ${table.name} has ${rows} rows. A store is moved into an empty database`,
      );
    }
  }
}

function alreadyMoved(mark: Mark, source: SourceEnd, held: Held): Moved {
  if (mark.source !== source.identity || changeOf(mark.held, held) !== undefined) {
    throw new MoveRefusedError(
      'The target holds a store that was moved there before. A store is moved into an empty database',
    );
  }
  return { tables: [], missingContents: 0, verifiedBefore: new Date(mark.verifiedAt!) };
}

function expectSameMove(mark: Mark, source: SourceEnd, held: Held): void {
  if (mark.source !== source.identity) {
    throw new MoveRefusedError(
      'The target holds part of another store. Finish that move, or throw its part away with --start-over',
    );
  }
  const change = changeOf(mark.held, held);
  if (change !== undefined) {
    throw new MoveRefusedError(
      `The source has changed since the move began: ${change}. Begin again with --start-over`,
    );
  }
  if (mark.state === 'different') {
    throw new MoveRefusedError(
      'An earlier comparison found the target to differ from the source. Begin again with --start-over',
    );
  }
}

function changeOf(then: Held, now: Held): string | undefined {
  for (const [name, rows] of Object.entries(now.rows)) {
    if (then.rows[name] !== rows) return `${name} had ${then.rows[name] ?? 0} rows and has ${rows}`;
  }
  for (const [name, last] of Object.entries(now.counters)) {
    if (then.counters[name] !== last)
      return `${name} was counted up to ${then.counters[name] ?? 0} and is at ${last}`;
  }
  return undefined;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
