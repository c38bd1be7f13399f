/** The part of the SQLite driver that tells which runs have changed. */
import type { ChangePlace, ChangeRead, Changes } from '../changes.ts';
import type { StoredRun } from '../run-state.ts';
import type { Wakeups } from '../wakeups.ts';
import type { ChangesReader } from './changes-reader.ts';
import type { WriterClient } from './writer-client.ts';

export class SqliteChanges implements Changes {
  readonly #writer: WriterClient;
  readonly #reader: ChangesReader;
  readonly #wakeups: Wakeups;

  constructor(writer: WriterClient, reader: ChangesReader, wakeups: Wakeups) {
    this.#writer = writer;
    this.#reader = reader;
    this.#wakeups = wakeups;
  }

  async now(): Promise<ChangePlace> {
    return { mark: this.#writer.nextMark };
  }

  /**
   * Up to the last commit that the writer has reported. Later ones may be visible already, but not in every statement
   * of this read.
   */
  async read(owners: readonly string[], after: ChangePlace): Promise<ChangeRead> {
    const mark = Math.max(after.mark, this.#writer.nextMark);
    return { changed: this.#reader.changed(owners, after.mark, mark), place: { mark } };
  }

  async runs(ordinals: readonly number[], maxChars: number): Promise<StoredRun[]> {
    return this.#reader.runs(ordinals, maxChars);
  }

  seal(owner: string, { mark }: ChangePlace): string {
    return this.#reader.cursors.seal(owner, mark);
  }

  async open(owner: string, cursor: string): Promise<ChangePlace> {
    return { mark: this.#reader.cursors.open(owner, cursor) };
  }

  watch(listener: () => void): () => void {
    return this.#wakeups.watchChanges(listener);
  }
}
