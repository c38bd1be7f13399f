import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { FILE_BYTES } from '../../host/disk-usage.ts';
import { hasPython, holdDeletedFile } from './testing/hold-deleted-file.ts';
import { WorkspaceSpace } from './workspace-space.ts';

const MB = 1024 * 1024;

/** A file system with 10 000 bytes free and a workspace in it with a limit of 1000, both under the test's control. */
function setUp({ isNew = true, walk = async () => {} } = {}) {
  const disk = { free: 10_000, files: 10_000, written: 0, used: 0, measured: 0 };
  const read = () => ({
    freeBytes: disk.free,
    freeFiles: disk.files,
    writtenBytes: disk.written,
  });
  const space = new WorkspaceSpace([tmpdir()], isNew, {
    limitBytes: 1000,
    meter: { now: read, recent: read },
    usage: async () => {
      disk.measured++;
      await walk();
      return disk.used;
    },
  });
  const write = (bytes: number) => {
    disk.free -= bytes;
    disk.written += Math.max(0, bytes);
    disk.used += bytes;
  };
  return { disk, space, write };
}

test('a new workspace is not measured until it could be over its limit', async () => {
  const { disk, space, write } = setUp();
  await space.usedIfOver();
  write(999);
  expect(await space.usedIfOver()).toBeUndefined();
  expect(disk.measured).toBe(0);
  write(2);
  expect(await space.usedIfOver()).toBe(1001);
  expect(disk.measured).toBe(1);
});

test('files without content count as if they had a block each', async () => {
  const { disk, space } = setUp();
  await space.usedIfOver();
  disk.files -= 1;
  disk.used = FILE_BYTES;
  expect(await space.usedIfOver()).toBe(FILE_BYTES);
});

test('an existing workspace is measured first', async () => {
  const { disk, space } = setUp({ isNew: false });
  disk.used = 500;
  expect(await space.usedIfOver()).toBeUndefined();
  expect(await space.usedIfOver()).toBeUndefined();
  expect(disk.measured).toBe(1);
});

test('a measurement tells what others wrote, once for each time it could have been this one', async () => {
  const { disk, space } = setUp();
  await space.usedIfOver();
  disk.free -= 5000;
  expect(await space.usedIfOver()).toBeUndefined();
  disk.free -= 900;
  expect(await space.usedIfOver()).toBeUndefined();
  expect(disk.measured).toBe(1);
});

test('a full workspace is measured each time, until there is room again', async () => {
  const { disk, space, write } = setUp();
  await space.usedIfOver();
  write(1500);
  expect(await space.usedIfOver()).toBe(1500);
  write(-200);
  expect(await space.usedIfOver()).toBe(1300);
  write(-600);
  expect(await space.usedIfOver()).toBeUndefined();
  expect(await space.usedIfOver()).toBeUndefined();
  expect(disk.measured).toBe(3);
});

test('written bytes count, whatever others have freed meanwhile', async () => {
  const { disk, space, write } = setUp();
  await space.usedIfOver();
  write(800);
  disk.free += 5000;
  expect(await space.usedIfOver(300)).toBe(800);
  write(300);
  disk.free += 5000;
  expect(await space.usedIfOver()).toBe(1100);
  expect(disk.measured).toBe(2);
});

test('space that is taken without writing counts', async () => {
  const { disk, space } = setUp();
  await space.usedIfOver();
  disk.free -= 1200;
  disk.used += 1200;
  expect(await space.usedIfOver()).toBe(1200);
});

test('bytes that are about to be added count', async () => {
  const { disk, space, write } = setUp();
  await space.usedIfOver();
  write(800);
  expect(await space.usedIfOver(200)).toBeUndefined();
  expect(disk.measured).toBe(0);
  expect(await space.usedIfOver(201)).toBe(800);
  expect(await space.usedIfOver()).toBeUndefined();
});

test('a watcher is called when it is over the limit, and not before', async () => {
  const { disk, space, write } = setUp();
  await space.usedIfOver();
  const { promise: over, resolve } = Promise.withResolvers<number>();
  const watcher = { pid: undefined, usedBefore: undefined, onOver: resolve };
  write(900);
  space.watch(watcher);
  disk.free -= 900;
  await expect.poll(() => disk.measured).toBe(1);
  write(200);
  disk.free -= 900;
  expect(await over).toBe(1100);
  space.unwatch(watcher);
});

test('a writer is ended even if another call finds the workspace full', async () => {
  const { space, write } = setUp();
  await space.usedIfOver();
  const ended: number[] = [];
  const watcher = { pid: undefined, usedBefore: undefined, onOver: (bytes: number) => ended.push(bytes) };
  space.watch(watcher);
  write(1500);
  expect(await space.usedIfOver()).toBe(1500);
  expect(ended).toEqual([1500]);
  space.unwatch(watcher);
});

for (const [how, held, times, tags] of [
  ['a descriptor, all at once', 'descriptor', 1, ['soak']],
  ['a descriptor, little by little', 'descriptor', 50, []],
  ['a socket, all at once', 'socket', 1, []],
  ['a socket, little by little', 'socket', 50, ['soak']],
] as const)
  test.skipIf(!hasPython)(
    `a deleted file counts that is held by ${how}${hasPython ? '' : ' (missing: python3)'}`,
    { tags: [...tags] },
    async () => {
      const { pid } = await holdDeletedFile(64 * 1024, held);
      const { disk, space } = setUp({ isNew: false });
      const ended: number[] = [];
      const watcher = { pid, usedBefore: undefined, onOver: (bytes: number) => ended.push(bytes) };
      space.watch(watcher);
      // The first measurement is only what later ones are compared with.
      await expect.poll(() => disk.measured).toBe(1);
      for (let time = 0; time < times && ended.length === 0; time++) {
        disk.free -= 1500 / times;
        // Measured each time.
        await space.usedIfOver(1000);
      }
      expect(ended[0]).toBeGreaterThan(1000);
      space.unwatch(watcher);
    },
  );

test('a command that began in a full workspace is ended when the workspace grows', async () => {
  const { space, write } = setUp();
  await space.usedIfOver();
  write(100 * MB);
  const usedBefore = await space.usedIfOver();
  const ended: number[] = [];
  const watcher = { pid: undefined, usedBefore, onOver: (bytes: number) => ended.push(bytes) };
  space.watch(watcher);
  write(MB);
  await space.usedIfOver();
  expect(ended).toEqual([]);
  write(1);
  await space.usedIfOver();
  expect(ended).toEqual([101 * MB + 1]);
  space.unwatch(watcher);
});

test('a slow walk does not hide what is written after it', async () => {
  const { promise: walked, resolve: endWalk } = Promise.withResolvers<void>();
  const { space, write } = setUp({ isNew: false, walk: () => walked });
  const ended: number[] = [];
  const watcher = { pid: undefined, usedBefore: undefined, onOver: (bytes: number) => ended.push(bytes) };
  const measured = space.usedIfOver();
  // The pause after it is ten times as long: longer than is waited below.
  setTimeout(endWalk, 1_000);
  await measured;
  space.watch(watcher);
  write(1001);
  await expect.poll(() => ended[0]).toBe(1001);
  space.unwatch(watcher);
});
