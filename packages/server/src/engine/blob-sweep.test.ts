import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { BlobStore, ListedBlob } from '../blobs/blob-store.ts';
import { BLOB_GRACE_MS, type Contents } from '../journal/contents.ts';
import { BlobSweep } from './blob-sweep.ts';

let blobs: Map<string, number>;
let held: Set<string>;
let messages: [level: string, message: string, fields: object][];
let failing: boolean;
let sweep: BlobSweep;

beforeEach(() => {
  blobs = new Map();
  held = new Set();
  messages = [];
  failing = false;
  const note = (level: string) => (fields: object, message: string) =>
    messages.push([level, message, fields]);
  sweep = new BlobSweep({
    blobs: {
      list: async (after = '', limit: number) =>
        [...blobs]
          .map(([blobId, writtenAt]) => ({ blobId, writtenAt }))
          .filter(({ blobId }) => blobId > after)
          .sort((a, b) => (a.blobId < b.blobId ? -1 : 1))
          .slice(0, limit),
      remove: async (ids: readonly string[]) => {
        if (failing) throw new Error('disk full');
        for (const id of ids) blobs.delete(id);
      },
    } as unknown as BlobStore,
    contents: {
      unneeded: async (listed: readonly ListedBlob[], graceMs: number) =>
        listed
          .filter(({ blobId, writtenAt }) => writtenAt <= -graceMs && !held.has(blobId))
          .map(({ blobId }) => blobId),
    } as unknown as Contents,
    log: { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') },
  });
});
afterEach(() => sweep.stop());

const add = (writtenAt: number): string => {
  const id = randomBytes(16).toString('hex');
  blobs.set(id, writtenAt);
  return id;
};

test('looks at every blob, page by page, and removes those that nobody needs', async () => {
  const kept: string[] = [];
  for (let i = 0; i < 2_100; i++) {
    const id = add(-BLOB_GRACE_MS);
    if (i % 3 === 0) kept.push(id);
  }
  held = new Set(kept);
  const young = add(-BLOB_GRACE_MS + 1);
  await sweep.sweep();
  expect([...blobs.keys()].sort()).toEqual([...kept, young].sort());
  expect(messages).toEqual([['info', expect.any(String), { removed: 1_400 }]]);
});

test('says nothing if there is nothing to remove, and tries again after a failure', async () => {
  await sweep.sweep();
  expect(messages).toEqual([]);
  add(-BLOB_GRACE_MS);
  failing = true;
  await sweep.sweep();
  expect(messages).toMatchObject([['error', 'removing unneeded contents failed; it will be retried', {}]]);
  failing = false;
  await sweep.sweep();
  expect(blobs.size).toBe(0);
});

test('ends between two pages when it is told to stop', async () => {
  for (let i = 0; i < 2_000; i++) add(-BLOB_GRACE_MS);
  const stopping = new AbortController();
  const sweeping = sweep.sweep(stopping.signal);
  stopping.abort();
  await sweeping;
  expect(blobs.size).toBe(1_500);
});
