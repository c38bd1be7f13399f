/**
 * The entries of a tree for those who write trees: workspaces and archives. Directories come first. Files come in the order of
 * their contents, so that each blob is read from front to back, mostly in one piece.
 */
import type { TreeEntry } from '@talaria/sandbox';
import type { BlobStore } from '../blobs/blob-store.ts';
import { type CheckpointEntry, type CheckpointTree, entryKey } from './checkpoint-tree.ts';
import { targetOf } from './entry-bytes.ts';

export async function* treeEntries(
  tree: CheckpointTree,
  blobs: Pick<BlobStore, 'read'>,
): AsyncGenerator<TreeEntry, void> {
  const entries = [...tree.values()];
  for (const entry of entries) if (entry.type !== 'file') yield plainEntry(entry);
  const files = entries.filter(({ type }) => type === 'file').sort(byPlace);
  for (const row of rowsOf(files)) {
    await using contents = new Pieces(row.end === row.start ? nothing() : blobs.read(row.blobId, row));
    for (const file of row.files) yield { ...describe(file), content: () => contents.take(file.size) };
  }
}

async function* nothing(): AsyncGenerator<Uint8Array, void> {}

function plainEntry(entry: CheckpointEntry): TreeEntry {
  const target = entry.type === 'symlink' ? targetOf(entry) : Buffer.alloc(0);
  return {
    ...describe(entry),
    size: target.length,
    async *content() {
      if (target.length > 0) yield target;
    },
  };
}

function describe(entry: CheckpointEntry): Omit<TreeEntry, 'content'> {
  const { type, size, mode, modified_ms: modifiedMs } = entry;
  return { name: Buffer.from(entryKey(entry), 'latin1'), type, size, mode, modifiedMs };
}

function byPlace(a: CheckpointEntry, b: CheckpointEntry): number {
  const [x, y] = [a.content, b.content];
  if (x === undefined || y === undefined) return Number(x !== undefined) - Number(y !== undefined);
  if (x.blob_id !== y.blob_id) return x.blob_id < y.blob_id ? -1 : 1;
  return x.start - y.start;
}

/** Files whose contents follow each other in a blob. */
interface Row {
  blobId: string;
  start: number;
  end: number;
  files: CheckpointEntry[];
}

function rowsOf(files: readonly CheckpointEntry[]): Row[] {
  const rows: Row[] = [];
  for (const file of files) {
    const { blob_id: blobId, start } = file.content ?? { blob_id: '', start: 0 };
    const last = rows.at(-1);
    if (last?.blobId === blobId && last.end === start) {
      last.files.push(file);
      last.end += file.size;
    } else rows.push({ blobId, start, end: start + file.size, files: [file] });
  }
  return rows;
}

/** The next bytes of a stream, so many at a time. */
class Pieces implements AsyncDisposable {
  readonly #bytes: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array();

  constructor(bytes: AsyncIterable<Uint8Array>) {
    this.#bytes = bytes[Symbol.asyncIterator]();
  }

  async *take(size: number): AsyncGenerator<Buffer, void> {
    for (let left = size; left > 0; ) {
      if (this.#rest.length === 0) {
        const { value, done } = await this.#bytes.next();
        if (done === true) throw new Error('The contents of a checkpoint end too early');
        this.#rest = value;
      }
      const piece = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(piece.length);
      left -= piece.length;
      yield Buffer.from(piece.buffer, piece.byteOffset, piece.length);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#bytes.return?.();
  }
}
