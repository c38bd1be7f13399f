/** Snapshots that do not come from a quiet workspace: taken of a changing tree, or made by another program. */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { TreeEntry } from '../artifacts/archive-entry.ts';
import { restoreTree } from './restore-tree.ts';
import { encodeSnapshot, LENGTH_BYTES } from './snapshot-format.ts';

let base: string;
let root: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'talaria-restore-'));
  root = join(base, 'root');
  mkdirSync(root);
  mkdirSync(join(base, 'outside'));
});
afterEach(() => rmSync(base, { recursive: true }));

type Made = Pick<TreeEntry, 'type'> & { name: string; text?: string; mode?: number };

async function snapshotOf(...made: Made[]): Promise<Buffer> {
  async function* entries(): AsyncGenerator<TreeEntry, void> {
    for (const { name, type, text = '', mode = 0o644 } of made) {
      const content = Buffer.from(text);
      yield {
        ...{ name: Buffer.from(name), type, mode, size: content.length, modifiedMs: 1_500_000_000_000 },
        async *content() {
          yield content;
        },
      };
    }
  }
  const bytes: Buffer[] = [];
  for await (const chunk of encodeSnapshot(entries(), () => 0)) bytes.push(chunk);
  return Buffer.concat(bytes);
}

const restore = (...made: Made[]) => restoreWithin(undefined, ...made);

async function restoreWithin(maxBytes: number | undefined, ...made: Made[]) {
  const packed = zstdCompressSync(await snapshotOf(...made));
  return await restoreTree(root, oneChunk(packed), undefined, maxBytes);
}

async function* oneChunk(bytes: Uint8Array) {
  yield bytes;
}

test('a snapshot that unpacks to more than it may is refused, however small it is', async () => {
  const zeros = { name: 'zeros', type: 'file', text: '\0'.repeat(1_000_000) } as const;
  await expect(restoreWithin(100_000, zeros)).rejects.toMatchObject({ code: 'artifact_too_large' });
  expect(await restoreWithin(1_100_000, { ...zeros, name: 'more' })).toEqual({ entries: 1, omitted: 0 });
});

test('entries below a link are left out, and nothing is written where the link leads', async () => {
  const outcome = await restore(
    { name: 'dir', type: 'symlink', text: '../outside' },
    { name: 'dir/file', type: 'file', text: 'escaped' },
    { name: 'dir/sub', type: 'directory' },
    { name: 'dir/link', type: 'symlink', text: 'x' },
    { name: 'after', type: 'file', text: 'kept' },
  );
  expect(outcome).toEqual({ entries: 2, omitted: 3 });
  expect(readdirSync(join(base, 'outside'))).toEqual([]);
  expect(readFileSync(join(root, 'after'), 'utf8')).toBe('kept');
});

test('if a name is repeated, the first entry stays', async () => {
  const outcome = await restore(
    { name: 'a', type: 'directory', mode: 0o755 },
    { name: 'a', type: 'symlink', text: '../outside' },
    { name: 'f', type: 'symlink', text: '../outside/f' },
    { name: 'f', type: 'file', text: 'escaped' },
    { name: 'a/inside', type: 'file', text: 'kept' },
  );
  expect(outcome).toEqual({ entries: 3, omitted: 2 });
  expect(lstatSync(join(root, 'a')).isDirectory()).toBe(true);
  expect(lstatSync(join(root, 'f')).isSymbolicLink()).toBe(true);
  expect(readFileSync(join(root, 'a/inside'), 'utf8')).toBe('kept');
  expect(existsSync(join(base, 'outside/f'))).toBe(false);
});

test.each(['../escaped', '/tmp/escaped', 'a/../../escaped', '', '.', 'a//b', 'nul\0'])(
  'the name %j is refused',
  async (name) => {
    await expect(restore({ name, type: 'file', text: 'x' })).rejects.toMatchObject({
      code: 'snapshot_damaged',
    });
    expect(readdirSync(base).sort()).toEqual(['outside', 'root']);
  },
);

test('no permission beyond reading, writing and executing is given', async () => {
  await restore({ name: 'program', type: 'file', mode: 0o106755 });
  expect(lstatSync(join(root, 'program')).mode & 0o7777).toBe(0o755);
});

test('a directory without permissions has its content', async () => {
  await restore(
    { name: 'closed', type: 'directory', mode: 0o000 },
    { name: 'closed/file', type: 'file', text: 'x', mode: 0o000 },
  );
  expect(lstatSync(join(root, 'closed')).mode & 0o777).toBe(0);
  expect(lstatSync(join(root, 'closed')).mtimeMs).toBe(1_500_000_000_000);
  chmodSync(join(root, 'closed'), 0o700);
});

test.each([1, 3, 1000])(
  'a snapshot that is not compressed is restored, in chunks of %i bytes',
  async (size) => {
    const bytes = await snapshotOf(
      { name: 'dir', type: 'directory', mode: 0o755 },
      { name: 'dir/file', type: 'file', text: 'plain' },
    );
    async function* chunks() {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    }
    expect(await restoreTree(root, chunks())).toEqual({ entries: 2, omitted: 0 });
    expect(readFileSync(join(root, 'dir/file'), 'utf8')).toBe('plain');
  },
);

test('a snapshot that is cut off or no snapshot at all is refused, compressed or not', async () => {
  const plain = await snapshotOf({ name: 'file', type: 'file', text: 'x'.repeat(1000) });
  const packed = zstdCompressSync(plain);
  for (const bytes of [plain, packed]) {
    for (const end of [0, 1, 20, bytes.length - 1]) {
      const inside = join(root, `${bytes.length} ${end}`);
      mkdirSync(inside);
      await expect(restoreTree(inside, oneChunk(bytes.subarray(0, end)))).rejects.toMatchObject({
        code: 'snapshot_damaged',
      });
    }
  }
  await expect(restoreTree(root, oneChunk(Buffer.from('no snapshot')))).rejects.toMatchObject({
    code: 'snapshot_damaged',
  });
});

test.each(['null', '7', '[]', '{', '{"type":"end","entries":-1,"omitted":0}'])(
  'the head %j is refused',
  async (head) => {
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32BE(head.length);
    const snapshot = Buffer.concat([length, Buffer.from(head)]);
    await expect(restoreTree(root, oneChunk(snapshot))).rejects.toMatchObject({ code: 'snapshot_damaged' });
  },
);
