/** Reads the checkpoints of runs from the store that all servers share. */
import { TalariaError } from '@talaria/protocol';
import type { BlobStore } from '../blobs/blob-store.ts';
import { BlobGoneError } from '../blobs/blob-store.ts';
import { type Checkpoint, type CheckpointRecord, isMissed } from '../journal/checkpoints.ts';
import type { Journal } from '../journal/journal.ts';
import type { ByteRange, CheckpointEntry, CheckpointFiles, Checkpoints } from './checkpoint-tree.ts';
import { blobsOf, EMPTY_TREE, readTree } from './manifest.ts';

export interface StoredCheckpointsOptions {
  journal: Pick<Journal, 'readCheckpoints' | 'positionOf' | 'lastSeqAt'>;
  blobs: Pick<BlobStore, 'read'>;
}

/** A client waits for what is read. */
const REFUSE = { whileAway: 'refuse' } as const;

export class StoredCheckpoints implements Checkpoints {
  readonly #options: StoredCheckpointsOptions;

  constructor(options: StoredCheckpointsOptions) {
    this.#options = options;
  }

  async at(runId: string, seq?: number): Promise<CheckpointFiles> {
    const { journal } = this.#options;
    const pos = seq === undefined ? Number.MAX_SAFE_INTEGER : await journal.positionOf(runId, seq);
    if (pos === undefined) {
      throw new TalariaError('invalid_cursor', { message: `The run has no event ${seq}` });
    }
    const records = await journal.readCheckpoints(runId);
    return this.#read(runId, checkpointAt(records, pos));
  }

  async start(runId: string): Promise<CheckpointFiles> {
    const records = await this.#options.journal.readCheckpoints(runId);
    return this.#read(runId, startOf(records));
  }

  async blobsOf(checkpoint: Checkpoint): Promise<string[]> {
    return blobsOf(await this.#treeOf(checkpoint), checkpoint.parts);
  }

  async #read(runId: string, record: CheckpointRecord | undefined): Promise<CheckpointFiles> {
    const { journal } = this.#options;
    const read = this.#contentOf;
    if (record === undefined) return { asOfSeq: -1, tree: EMPTY_TREE, omitted: [], omittedCount: 0, read };
    if (isMissed(record)) throw new TalariaError('checkpoint_gone', { message: GONE[record.missed] });
    const [asOfSeq, tree] = await Promise.all([journal.lastSeqAt(runId, record.upto), this.#treeOf(record)]);
    const { omitted = [], omitted_count: omittedCount = 0 } = record;
    return { asOfSeq, tree, omitted, omittedCount, read };
  }

  async #treeOf({ parts }: Checkpoint) {
    try {
      return await readTree(parts, { read: (id, range) => this.#options.blobs.read(id, range, REFUSE) });
    } catch (error) {
      // The run was evicted meanwhile.
      if (error instanceof BlobGoneError) throw new TalariaError('checkpoint_gone', { cause: error });
      throw error;
    }
  }

  readonly #contentOf = (entry: CheckpointEntry, range?: ByteRange): AsyncIterable<Uint8Array> => {
    const { start, end } = range ?? { start: 0, end: entry.size };
    if (entry.content === undefined || end <= start) return nothing();
    const { blob_id, start: from } = entry.content;
    return this.#options.blobs.read(blob_id, { start: from + start, end: from + end }, REFUSE);
  };
}

const GONE = {
  too_large: 'The files were not kept at that point: they were too large',
  failed: 'The files were not kept at that point: the server could not store them',
};

/** The last one whose files contain nothing that came after this position; before the first one, the files of the start. */
export function checkpointAt(
  records: readonly CheckpointRecord[],
  pos: number,
): CheckpointRecord | undefined {
  return records.findLast(({ upto }) => upto <= pos) ?? startOf(records);
}

/** The checkpoint of the files that the run began with. */
function startOf(records: readonly CheckpointRecord[]): CheckpointRecord | undefined {
  return records.findLast((record) => !isMissed(record) && record.origin !== 'worked');
}

async function* nothing(): AsyncGenerator<Uint8Array, void> {}
