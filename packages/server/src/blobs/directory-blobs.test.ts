import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeBlobStoreContract } from './blob-store.contract.ts';
import { DirectoryBlobs } from './directory-blobs.ts';

function tempDirectory() {
  const path = mkdtempSync(join(tmpdir(), 'talaria-blobs-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

describeBlobStoreContract('directory', async ({ now }) => {
  const directory = tempDirectory();
  const open = () => new DirectoryBlobs({ path: join(directory.path, 'blobs'), now });
  return { blobs: open(), reopen: async () => open(), dispose: async () => directory[Symbol.dispose]() };
});

async function* bytes(text: string) {
  yield Buffer.from(text);
}

it('creates nothing before the first blob, and then files that only this user can read', async () => {
  using directory = tempDirectory();
  const path = join(directory.path, 'blobs');
  const blobs = new DirectoryBlobs({ path });
  expect(await blobs.list(undefined, 10)).toEqual([]);
  await blobs.remove(['0'.repeat(32)]);
  expect(existsSync(path)).toBe(false);
  const { blobId } = await blobs.write(bytes('secret'));
  const shard = join(path, blobId.slice(0, 2));
  expect(readdirSync(shard)).toEqual([blobId]);
  for (const each of [path, shard, join(shard, blobId)]) expect(statSync(each).mode & 0o077).toBe(0);
});

it('a disk that takes no writes is the failure of a store', async () => {
  const blobs = new DirectoryBlobs({ path: '/proc/talaria/blobs' });
  await expect(blobs.write(bytes('x'))).rejects.toMatchObject({ code: 'store_unavailable' });
  using directory = tempDirectory();
  const full = new DirectoryBlobs({ path: join(directory.path, 'blobs') });
  await full.write(bytes('x'));
  rmSync(join(directory.path, 'blobs'), { recursive: true });
  await expect(full.write(bytes('x'))).rejects.toMatchObject({ code: 'store_unavailable' });
});

it('zeros take no room on the disk', async () => {
  using directory = tempDirectory();
  const blobs = new DirectoryBlobs({ path: directory.path });
  const piece = Buffer.alloc(256 * 1024);
  const { blobId, size } = await blobs.write(
    (async function* () {
      yield Buffer.from('begin');
      for (let i = 0; i < 100; i++) yield piece;
    })(),
  );
  const { size: length, blocks } = statSync(join(directory.path, blobId.slice(0, 2), blobId));
  expect(length).toBe(size);
  expect(blocks * 512).toBeLessThan(size / 10);
});
