import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { fileThread } from '../thread/file-thread.ts';
import { Digests } from './digests.ts';
import { LocalWorkspaceReader } from './local-workspace-reader.ts';
import { readTree } from './read-tree.ts';

const LARGE_BYTES = 20_000_000;

let root: string;
let dir: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'talaria-tree-'));
  dir = join(root, 'workspace');
  mkdirSync(dir);
});

afterEach(() => rmSync(root, { recursive: true }));

/** The chunks of a tree, and undefined whenever it gives way to others. */
function* steps(): Generator<Uint8Array | undefined> {
  yield* readTree({ dir, components: [], isFile: false });
}

function textOf(chunks: Iterable<Uint8Array | undefined>): string {
  return Buffer.concat([...chunks].filter((chunk) => chunk !== undefined)).toString('latin1');
}

function openBelow(directory: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${descriptor}`);
      return path.startsWith(directory) ? [path] : [];
    } catch {
      return [];
    }
  });
}

async function archiveOfLargeFile() {
  writeFileSync(join(dir, 'large'), '');
  truncateSync(join(dir, 'large'), LARGE_BYTES);
  const reader = new LocalWorkspaceReader({
    place: () => dir,
    tmp: { base: () => dir, within: [] },
    seenAs: { dir: '/workspace', tmpDir: '/tmp' },
    digests: new Digests(),
  });
  const archive = await reader.archive('', { format: 'tar' });
  const chunks = archive[Symbol.asyncIterator]();
  const first: Buffer = (await chunks.next()).value;
  return { archive, chunks, received: first.length };
}

test('a capture finishes while the reader of an archive stalls', async () => {
  const { chunks, received } = await archiveOfLargeFile();
  const other = join(root, 'other');
  mkdirSync(other);
  writeFileSync(join(other, 'file'), 'content');
  const job = { dir: other, owner: other, since: undefined, limits: {}, contentBytes: 0 };
  await expect(fileThread.capture(job)).resolves.toMatchObject({ captureId: expect.any(String) });

  let total = received;
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) total += next.value.length;
  expect(total).toBeGreaterThan(LARGE_BYTES);
});

test('an archive that is abandoned leaves nothing open', async () => {
  const { archive } = await archiveOfLargeFile();
  expect(openBelow(dir)).toContain(join(dir, 'large'));
  archive.destroy();
  await expect.poll(() => openBelow(dir)).toEqual([]);
});

test('the reader gives way to others between entries without content', () => {
  for (let i = 0; i < 1000; i++) writeFileSync(join(dir, `${i}`), '');
  expect([...steps()].filter((step) => step === undefined).length).toBeGreaterThan(10);
});

test('a directory that is replaced by a link meanwhile leads nowhere', () => {
  writeFileSync(join(dir, 'large'), Buffer.alloc(1_000_000));
  mkdirSync(join(dir, 'below'));
  writeFileSync(join(dir, 'below/inside'), 'inside');
  const outside = join(root, 'outside');
  mkdirSync(outside);
  writeFileSync(join(outside, 'secret'), 'the secret');
  const tree = steps();
  const first = tree.next().value as Uint8Array;
  renameSync(join(dir, 'below'), join(root, 'moved'));
  symlinkSync(outside, join(dir, 'below'));
  const text = textOf([first, ...tree]);
  expect(text).toContain('"entries":2');
  expect(text).not.toContain('the secret');
});

test('a file that becomes shorter while it is read fails the tree, and nothing stays open', () => {
  writeFileSync(join(dir, 'large'), Buffer.alloc(1_000_000));
  const tree = steps();
  tree.next();
  truncateSync(join(dir, 'large'), 10);
  expect(() => [...tree]).toThrow('large changed while it was read');
  expect(openBelow(dir)).toEqual([]);
});

test('an entry that is neither file, directory nor link is counted as left out', () => {
  writeFileSync(join(dir, 'file'), 'content');
  execFileSync('mkfifo', [join(dir, 'fifo')]);
  expect(textOf(steps())).toContain('{"type":"end","entries":1,"omitted":1}');
});

test('a requested file that is gone fails, and so does a requested directory', () => {
  const file = readTree({ dir, components: ['gone'], isFile: true });
  expect(() => [...file]).toThrow(expect.objectContaining({ code: 'artifact_changed' }));
  const directory = readTree({ dir, components: ['gone'], isFile: false });
  expect(() => [...directory]).toThrow(expect.objectContaining({ code: 'artifact_not_found' }));
});
