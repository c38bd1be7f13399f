import { renameSync } from 'node:fs';
import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Digests } from './digests.ts';
import { LocalWorkspaceReader } from './local-workspace-reader.ts';

let root: string;
let place: string;
let reader: LocalWorkspaceReader;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'talaria-place-'));
  place = join(root, 'here');
  await mkdir(join(place, 'deep'), { recursive: true });
  await writeFile(join(place, 'deep/file'), 'content');
  reader = new LocalWorkspaceReader({
    place: () => place,
    tmp: { base: () => place, within: [] },
    seenAs: { dir: '/workspace', tmpDir: '/tmp' },
    digests: new Digests(),
  });
});

afterEach(() => rm(root, { recursive: true }));

function move(): void {
  const next = join(root, place.endsWith('here') ? 'there' : 'here');
  renameSync(place, next);
  place = next;
}

test('a workspace that is moved again and again can still be read', async () => {
  let moving = true;
  const mover = (async () => {
    for (; moving; await new Promise(setImmediate)) move();
  })();
  for (let round = 0; round < 100; round++) {
    expect((await reader.list('.', { recursive: true })).entries).toHaveLength(2);
    await using file = await reader.open('deep/file');
    expect(file.size).toBe(7);
    const archive = await reader.archive('.', { format: 'tar' });
    expect(Buffer.concat(await archive.toArray()).toString()).toContain('content');
  }
  moving = false;
  await mover;
});

test('an archive in progress continues when the workspace is moved, and fails when it is deleted', async () => {
  await truncate(join(place, 'deep/file'), 20_000_000);
  const moved = (await reader.archive('.', { format: 'tar' }))[Symbol.asyncIterator]();
  await moved.next();
  move();
  let last = await moved.next();
  while (!last.done) last = await moved.next();

  const deleted = await reader.archive('.', { format: 'tar' });
  const chunks = deleted[Symbol.asyncIterator]();
  await chunks.next();
  await rm(place, { recursive: true });
  await expect(deleted.toArray()).rejects.toMatchObject({ code: 'artifact_changed' });
});
