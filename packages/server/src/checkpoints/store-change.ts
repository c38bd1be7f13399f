/**
 * Makes one blob of what a capture found: the contents that are new, one after the other, and after them the part of the
 * manifest. A content that is known is not read. The blob is stored, unless it is small: the journal stores that with the record.
 *
 * The files may change while they are read, if background processes run. An entry is then what was read, and a file that is gone
 * is left out. The next capture sees both.
 */
import { createHash } from 'node:crypto';
import type { CapturedPath, TrajectoryWorkspaces } from '@talaria/sandbox';
import { failpoint } from '../basics/failpoints.ts';
import { createBlobId } from '../blobs/blob-ids.ts';
import { type BlobStore, BlobTooLargeError } from '../blobs/blob-store.ts';
import type { BlobPart } from '../journal/checkpoints.ts';
import { MAX_SMALL_BLOB_BYTES, type NewBlob, type SmallBlob } from '../journal/contents.ts';
import { type CheckpointEntry, type ContentPlace, entryKey } from './checkpoint-tree.ts';
import { encodePart, type TreeChange } from './manifest.ts';

/** Stands for the id of the blob until it is known. */
const OWN = '';

export interface StoredChange {
  /** The blob that the caller appends with the record. */
  blob: NewBlob | SmallBlob;
  size: number;
  part: BlobPart;
  /** The change as it is stored, with the place of every content. */
  change: TreeChange;
}

export interface ChangeSource {
  trajectoryId: string;
  workspaces: Pick<TrajectoryWorkspaces, 'readFiles'>;
  /** Contents that need not be read, by their sha256. */
  contents: ReadonlyMap<string, Uint8Array>;
  /** The place of a content that is stored already. */
  known(sha256: string): ContentPlace | undefined;
}

export interface StoreChangeOptions {
  maxBytes: number;
  signal?: AbortSignal | undefined;
}

export async function storeChange(
  { removed, changed }: TreeChange,
  source: ChangeSource,
  blobs: BlobStore,
  options: StoreChangeOptions,
): Promise<StoredChange> {
  const packing = new Packing(changed, source, options.signal);
  let part = { start: 0, end: 0 };
  let stored: TreeChange = { removed, changed: [] };
  const bytes = async function* (): AsyncGenerator<Uint8Array, void> {
    yield* packing.contents();
    stored = { removed: [...removed, ...packing.gone], changed: packing.entries() };
    const encoded = encodePart(stored, ({ content }) => content?.blob_id === OWN);
    part = { start: packing.size, end: packing.size + encoded.length };
    yield encoded;
  };
  const { blob, size } = await store(bytes(), blobs, options);
  failpoint('checkpoint.after-blob');
  const { blobId } = blob;
  const place = (entry: CheckpointEntry): CheckpointEntry =>
    entry.content?.blob_id === OWN ? { ...entry, content: { ...entry.content, blob_id: blobId } } : entry;
  return {
    blob,
    size,
    part: { blob_id: blobId, ...part },
    change: { ...stored, changed: stored.changed.map(place) },
  };
}

async function store(
  bytes: AsyncGenerator<Uint8Array, void>,
  blobs: BlobStore,
  { maxBytes, signal }: StoreChangeOptions,
): Promise<Pick<StoredChange, 'blob' | 'size'>> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const next = await bytes.next();
      if (next.done === true) break;
      pieces.push(next.value);
      size += next.value.length;
      if (size <= MAX_SMALL_BLOB_BYTES) continue;
      const written = await blobs.write(chain(pieces, bytes), { maxBytes, signal });
      return { blob: { blobId: written.blobId, writtenAt: written.writtenAt }, size: written.size };
    }
  } finally {
    // A store that refuses the first pieces never asks for the rest, and the files would stay open.
    await bytes.return();
  }
  if (size > maxBytes) throw new BlobTooLargeError(maxBytes);
  return { blob: { blobId: createBlobId(), bytes: Buffer.concat(pieces) }, size };
}

async function* chain(
  first: readonly Uint8Array[],
  rest: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  yield* first;
  yield* rest;
}

class Packing {
  size = 0;
  /** Files that were captured and do not exist any more. */
  readonly gone: CapturedPath[] = [];
  readonly #source: ChangeSource;
  readonly #signal: AbortSignal | undefined;
  readonly #entries = new Map<string, CheckpointEntry>();
  readonly #packed = new Map<string, ContentPlace>();

  constructor(changed: readonly CheckpointEntry[], source: ChangeSource, signal: AbortSignal | undefined) {
    for (const entry of changed) this.#entries.set(entryKey(entry), entry);
    this.#source = source;
    this.#signal = signal;
  }

  entries(): CheckpointEntry[] {
    return [...this.#entries.values()];
  }

  /** If several files have the same content, only one of them is read; the others only if that one has changed meanwhile. */
  async *contents(): AsyncGenerator<Uint8Array, void> {
    yield* this.#given();
    for (;;) {
      const asked = this.#missing();
      if (asked.size === 0) return;
      const { workspaces, trajectoryId } = this.#source;
      const paths = [...asked.values()];
      for await (const file of workspaces.readFiles(trajectoryId, paths, { signal: this.#signal })) {
        const key = entryKey(file);
        asked.delete(key);
        const hash = createHash('sha256');
        const start = this.size;
        for await (const chunk of file.content()) {
          hash.update(chunk);
          this.size += chunk.length;
          yield chunk;
        }
        const sha256 = hash.digest('hex');
        const { size, mode, modified_ms } = file;
        const content = { blob_id: OWN, start };
        this.#packed.set(sha256, content);
        const entry = this.#entries.get(key)!;
        this.#entries.set(key, { ...entry, size, mode, modified_ms, sha256, content });
      }
      for (const [key, { path, path_bytes }] of asked) {
        this.#entries.delete(key);
        this.gone.push(path_bytes === undefined ? { path } : { path, path_bytes });
      }
    }
  }

  /** The contents that are here already. */
  *#given(): Generator<Uint8Array, void> {
    for (const [key, { sha256 }] of this.#missing()) {
      const bytes = this.#source.contents.get(sha256!);
      if (bytes === undefined) continue;
      const content = { blob_id: OWN, start: this.size };
      this.#packed.set(sha256!, content);
      this.#entries.set(key, { ...this.#entries.get(key)!, content });
      this.size += bytes.length;
      yield bytes;
    }
  }

  /** Enters the place of every content that has one by now; returns one file for each of the other contents. */
  #missing(): Map<string, CheckpointEntry> {
    const missing = new Map<string, CheckpointEntry>();
    const asked = new Set<string>();
    for (const [key, entry] of this.#entries) {
      const { sha256, content, size } = entry;
      if (sha256 === undefined || content !== undefined || size === 0) continue;
      const place = this.#packed.get(sha256) ?? this.#source.known(sha256);
      if (place !== undefined) this.#entries.set(key, { ...entry, content: place });
      else if (!asked.has(sha256)) {
        asked.add(sha256);
        missing.set(key, entry);
      }
    }
    return missing;
  }
}
