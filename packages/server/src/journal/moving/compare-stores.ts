/**
 * Compares two stores row by row: the rows of the source, as they should have arrived, with the rows of the target
 * under the same keys. Both have the same number of rows and keys are unique, so the target then has no other rows.
 *
 * A difference is named by its table, key and columns, never by a value, which may be a secret.
 */
import { createHash } from 'node:crypto';
import { Adaptation } from './adapted-rows.ts';
import {
  type Held,
  type Key,
  keyOf,
  type MovedTable,
  type Row,
  type SourceEnd,
  type TargetEnd,
} from './store-ends.ts';

export interface ComparedTable {
  table: string;
  rows: number;
  /** How many texts had characters that the target cannot store. */
  replacedTexts: number;
  /** Over all rows of the table, as both stores have them, in the source's order. */
  sha256: string;
}

export interface Comparison {
  /** The first one found. */
  difference: string | undefined;
  compared: ComparedTable[];
}

export async function compareStores(
  source: SourceEnd,
  target: TargetEnd,
  tables: readonly MovedTable[],
  held: Held,
  onRows: (table: string, rows: number) => void,
): Promise<Comparison> {
  const compared: ComparedTable[] = [];
  const differs = (difference: string): Comparison => ({ difference, compared });
  for (const table of tables) {
    const { name } = table;
    const [expected, found] = [held.rows[name]!, await target.count(table)];
    if (found !== expected) return differs(`${name} has ${found} rows instead of ${expected}`);
    const digest = createHash('sha256');
    const [adaptation, key] = [new Adaptation(table, target), keyOf(table)];
    let rows = 0;
    onRows(name, rows);
    for await (const batch of source.batches(table, undefined)) {
      const sent = batch.map((row) => adaptation.apply(row));
      const arrived = new Map<string, Row>();
      for (const row of await target.find(table, sent.map(key))) arrived.set(JSON.stringify(key(row)), row);
      for (const row of sent) {
        const there = arrived.get(JSON.stringify(key(row)));
        if (there === undefined) return differs(`${name} has no row with ${describeKey(table, key(row))}`);
        const line = JSON.stringify(row);
        if (line !== JSON.stringify(there)) return differs(describeDifference(table, row, there));
        digest.update(line);
      }
      rows += batch.length;
      onRows(name, rows);
    }
    if (rows !== expected)
      return differs(`${name} has ${rows} rows in the source, which had ${expected} before`);
    const { replacedTexts } = adaptation;
    compared.push({ table: name, rows, replacedTexts, sha256: digest.digest('hex') });
  }
  const counters = await target.counters();
  for (const [name, last] of Object.entries(held.counters)) {
    if (counters.get(name) !== last) return differs(`${name} continues counting from another number`);
  }
  return { difference: undefined, compared };
}

function describeDifference(table: MovedTable, row: Row, there: Row): string {
  const columns = table.columns.filter((_, place) => row[place] !== there[place]).map(({ name }) => name);
  return `the row of ${table.name} with ${describeKey(table, keyOf(table)(row))} differs in ${columns.join(', ')}`;
}

function describeKey({ key }: MovedTable, values: Key): string {
  return key.map((name, place) => `${name} ${values[place]}`).join(', ');
}
