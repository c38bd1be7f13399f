/**
 * Moves the bytes that references name. A blob keeps its id, and is whole or not there. So after a crash between a blob and its
 * mark, what the target has need not be copied again.
 *
 * Bytes that the source has lost, as after a restore of the database alone, do not stop the move: the target will not have them
 * either.
 */
import { createHash } from 'node:crypto';
import { failpoint } from '../../basics/failpoints.ts';
import { BlobGoneError, type BlobStore } from '../../blobs/blob-store.ts';
import type { ComparedTable } from './compare-stores.ts';
import type { Mark, SourceEnd, TargetEnd } from './store-ends.ts';

/** Stands for the contents in reports, next to the names of tables. */
export const CONTENTS = 'contents';

const PAGE = 1_000;

export async function copyBlobs(
  source: SourceEnd,
  target: TargetEnd,
  mark: Mark,
  onBlobs: (name: string, count: number) => void,
): Promise<void> {
  const reached = mark.at?.table === CONTENTS ? mark.at : undefined;
  let rows = reached?.rows ?? 0;
  onBlobs(CONTENTS, rows);
  for await (const blobId of blobIdsOf(source, reached?.after[0])) {
    if (!(await target.blobs.has(blobId))) {
      await target.blobs.put(blobId, source.blobs.read(blobId)).catch(ignoreGone);
    }
    rows += 1;
    await target.setMark({ ...mark, at: { table: CONTENTS, after: [blobId], rows } });
    failpoint('move.after-batch');
    onBlobs(CONTENTS, rows);
  }
}

export interface ComparedBlobs extends ComparedTable {
  /** How many neither store has. */
  missing: number;
}

/** The difference, if there is one. */
export async function compareBlobs(
  source: SourceEnd,
  target: TargetEnd,
  onBlobs: (name: string, count: number) => void,
): Promise<{ difference: string } | ComparedBlobs> {
  const digest = createHash('sha256');
  let [count, missing] = [0, 0];
  onBlobs(CONTENTS, count);
  for await (const blobId of blobIdsOf(source)) {
    const [expected, found] = [await digestOf(source.blobs, blobId), await digestOf(target.blobs, blobId)];
    if (expected !== found) return { difference: `the contents ${blobId} differ` };
    if (expected === undefined) missing += 1;
    digest.update(`${blobId} ${expected}\n`);
    onBlobs(CONTENTS, ++count);
  }
  return { table: CONTENTS, rows: count, replacedTexts: 0, sha256: digest.digest('hex'), missing };
}

async function* blobIdsOf(source: SourceEnd, from?: string): AsyncGenerator<string, void> {
  for (let after = from; ; ) {
    const page = await source.blobIds(after, PAGE);
    if (page.length === 0) return;
    yield* page;
    after = page.at(-1);
  }
}

/** Undefined if it does not exist. */
async function digestOf(blobs: Pick<BlobStore, 'read'>, blobId: string): Promise<string | undefined> {
  const hash = createHash('sha256');
  try {
    for await (const piece of blobs.read(blobId)) hash.update(piece);
    return hash.digest('hex');
  } catch (error) {
    return ignoreGone(error);
  }
}

function ignoreGone(error: unknown): undefined {
  if (!(error instanceof BlobGoneError)) throw error;
}
