/**
 * The two ends of a move of a store (`talaria migrate-store`), which every driver offers.
 *
 * Invariants
 * - A source is only read, and shows the state of one moment: it holds the lock that keeps servers out until it is
 *   closed.
 * - A target holds the same lock. It writes a batch of rows and the mark with the progress of the move in one
 *   transaction, so that after any crash the mark tells exactly which rows have arrived.
 * - No server opens a target with a mark other than `verified`.
 * - Rows travel as text, in one form for all drivers (`Row`), so two stores hold the same data when the rows are equal.
 *   The databases themselves convert them: no number passes through a JavaScript number.
 */

import type { BlobStore } from '../../blobs/blob-store.ts';

/** How the values of a column are written in a `Row`. */
export type Kind = 'integer' | 'boolean' | 'text' | 'bytes';

/**
 * The values of a row, in the order of its table's columns: integers in decimal digits, booleans as `true` and `false`,
 * bytes in hex.
 */
export type Row = readonly (string | null)[];

/** The values of the columns of the primary key. */
export type Key = readonly string[];

/** A table as the catalog of its database has it. `other` is a type that no table of ours has. */
export interface TableShape {
  readonly columns: ReadonlyMap<string, Kind | 'other'>;
  readonly key: readonly string[];
}

/** The tables and counters of a store. A counter gives out numbers that are never reused, such as `runs.n`. */
export interface StoreShape {
  readonly tables: ReadonlyMap<string, TableShape>;
  readonly counters: ReadonlySet<string>;
}

export interface MovedColumn {
  readonly name: string;
  readonly kind: Kind;
}

export interface MovedTable {
  readonly name: string;
  readonly columns: readonly MovedColumn[];
  readonly key: readonly string[];
}

/** The last number of each counter, in decimal digits; none if it was never used. */
export type Counters = ReadonlyMap<string, string>;

export interface StoreEnd extends AsyncDisposable {
  readonly shape: StoreShape;
  count(table: MovedTable): Promise<number>;
  counters(): Promise<Counters>;
}

export interface SourceEnd extends StoreEnd {
  /** Equal for the same store, and for no other. */
  readonly identity: string;
  /** Rows in the order of their keys, after the row `after`, in batches that fit into memory. */
  batches(table: MovedTable, after: Key | undefined): AsyncIterable<Row[]>;
  /** The bytes that its rows refer to. */
  readonly blobs: Pick<BlobStore, 'read'>;
  /** The blobs that its rows refer to, in the order of their ids. */
  blobIds(after: string | undefined, limit: number): Promise<string[]>;
  countBlobs(): Promise<number>;
}

export interface Held {
  readonly rows: Readonly<Record<string, number>>;
  readonly counters: Readonly<Record<string, string>>;
}

/** The progress of a move, as its target stores it. */
export interface Mark {
  /** Being copied; complete, but not compared yet; compared, and different; compared, and equal. */
  readonly state: 'copying' | 'copied' | 'different' | 'verified';
  /** The identity of the source. */
  readonly source: string;
  /** What the source held when the move began, so that a later change is noticed. */
  readonly held: Held;
  /** While copying: the tables are copied in order, up to this row of this table. */
  readonly at?: { readonly table: string; readonly after: Key; readonly rows: number } | undefined;
  /** When it was verified, in ms. */
  readonly verifiedAt?: number | undefined;
}

/** Takes blobs of another store, with their ids. */
export interface TargetBlobs extends BlobStore {
  /** Whether the blob is there as a whole. */
  has(blobId: string): Promise<boolean>;
  /** Replaces what is there. */
  put(blobId: string, bytes: AsyncIterable<Uint8Array>): Promise<unknown>;
}

export interface TargetEnd extends StoreEnd {
  readonly blobs: TargetBlobs;
  /** Whether a text can have a zero character. */
  readonly takesZeroCharacters: boolean;
  mark(): Promise<Mark | undefined>;
  /** Empties the tables and sets the first mark. */
  begin(tables: readonly MovedTable[], mark: Mark): Promise<void>;
  setMark(mark: Mark): Promise<void>;
  add(table: MovedTable, rows: readonly Row[], mark: Mark): Promise<void>;
  /** Counters continue after those of the source. */
  setCounters(counters: Counters): Promise<void>;
  /** Called once between the last added row and the first lookup. */
  settle(): Promise<void>;
  /** The existing rows with these keys, in any order. */
  find(table: MovedTable, keys: readonly Key[]): Promise<Row[]>;
}

/** Returns a function that reads the key of a row. */
export function keyOf({ columns, key }: MovedTable): (row: Row) => Key {
  const places = key.map((name) => columns.findIndex((column) => column.name === name));
  return (row) => places.map((place) => row[place]!);
}

/** Limits how much is in memory at a time, whatever the size of the rows; a single row may be larger. */
export interface BatchLimits {
  readonly rows: number;
  readonly chars: number;
}

export const BATCH: BatchLimits = { rows: 2_000, chars: 4_000_000 };

/** The move cannot happen; the message says why and what to do. */
export class MoveRefusedError extends Error {}
