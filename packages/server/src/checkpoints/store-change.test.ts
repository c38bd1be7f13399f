import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { BlobTooLargeError } from '../blobs/blob-store.ts';
import { DirectoryBlobs } from '../blobs/directory-blobs.ts';
import { storeChange } from './store-change.ts';

it('files that a store has no room for are closed', async () => {
  const path = await mkdtemp(join(tmpdir(), 'talaria-test-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  const file = { path: 'a', type: 'file', size: 400_000, mode: 0o644, modified_ms: 0 } as const;
  let isOpen = false;
  const workspaces = {
    async *readFiles() {
      isOpen = true;
      try {
        yield {
          ...file,
          async *content() {
            for (let i = 0; i < 4; i += 1) yield Buffer.alloc(100_000);
          },
        };
      } finally {
        isOpen = false;
      }
    },
  };
  const changed = [{ ...file, sha256: 'f'.repeat(64) }];
  const source = { trajectoryId: 'run', workspaces, contents: new Map(), known: () => undefined };
  const storing = storeChange({ removed: [], changed }, source, new DirectoryBlobs({ path }), {
    maxBytes: 1,
  });
  await expect(storing).rejects.toThrow(BlobTooLargeError);
  expect(isOpen).toBe(false);
});
