import { watch } from 'node:fs';
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { changeFiles, type SeenFile, seeFile } from './file-changes.ts';
import { replaceFile } from './staged-file.ts';

let root: string;
let place: { dir: string; stagingDir: string };
beforeEach(async () => {
  const base = await mkdtemp(join(tmpdir(), 'talaria-changes-'));
  place = { dir: join(base, 'workspace'), stagingDir: join(base, 'staging') };
  for (const dir of Object.values(place)) await mkdir(dir);
  root = place.dir;
  await writeFile(join(root, 'a'), 'a1');
  await writeFile(join(root, 'b'), 'b1');
  await chmod(join(root, 'a'), 0o750);
});
afterEach(async () => {
  expect(await readdir(place.stagingDir)).toEqual([]);
  await rm(dirname(root), { recursive: true });
});

const see = async (name: string): Promise<SeenFile> => (await seeFile(root, [name], 1000)) as SeenFile;
const text = (name: string) => readFile(join(root, name), 'utf8');
const write = (name: string, content: string, before?: SeenFile) =>
  ({ kind: 'write', components: [name], content, before }) as const;

test('all changes are made', async () => {
  const [a, b] = [await see('a'), await see('b')];
  await changeFiles(place, [
    write('a', 'a2', a),
    { kind: 'delete', components: ['b'], before: b },
    write('c', 'c1'),
  ]);
  expect([await text('a'), await text('c')]).toEqual(['a2', 'c1']);
  expect((await stat(join(root, 'a'))).mode & 0o777).toBe(0o750);
  expect((await readdir(root)).sort()).toEqual(['a', 'c']);
});

test('a failed change takes back those before it', async () => {
  const [a, b] = [await see('a'), await see('b')];
  const remove = { kind: 'delete', components: ['b'], before: b } as const;
  // The second time there is nothing left to delete.
  await expect(changeFiles(place, [write('a', 'a2', a), write('c', 'c1'), remove, remove])).rejects.toThrow(
    'b does not exist',
  );
  expect([await text('a'), await text('b')]).toEqual(['a1', 'b1']);
  expect((await stat(join(root, 'a'))).mode & 0o777).toBe(0o750);
  expect((await readdir(root)).sort()).toEqual(['a', 'b']);
});

test.each<[string, () => Promise<unknown>]>([
  ['was written to', () => writeFile(join(root, 'b'), 'bX')],
  ['grew', () => writeFile(join(root, 'b'), 'b1 and more')],
  ['was deleted', () => unlink(join(root, 'b'))],
  ['became a link', () => unlink(join(root, 'b')).then(() => symlink('a', join(root, 'b')))],
  ['became a directory', () => unlink(join(root, 'b')).then(() => mkdir(join(root, 'b')))],
])('nothing is written when a file %s since it was read', async (_, meanwhile) => {
  const [a, b] = [await see('a'), await see('b')];
  await meanwhile();
  await expect(changeFiles(place, [write('a', 'a2', a), write('b', 'b2', b)])).rejects.toThrow(
    /b was changed/,
  );
  expect(await text('a')).toBe('a1');
  expect((await readdir(root)).filter((name) => name.startsWith('.'))).toEqual([]);
});

test('nothing is written over a file that appeared since', async () => {
  await expect(changeFiles(place, [write('c', 'mine'), write('b', 'mine')])).rejects.toThrow(/b was changed/);
  expect((await readdir(root)).sort()).toEqual(['a', 'b']);
  expect(await text('b')).toBe('b1');
});

test('a file on its way is never seen in the workspace', async () => {
  const seen = new Set<string | null>();
  const watcher = watch(root, (_, name) => seen.add(name));
  onTestFinished(() => watcher.close());
  const [a, b] = [await see('a'), await see('b')];
  await changeFiles(place, [
    write('a', 'a2', a),
    { kind: 'delete', components: ['b'], before: b },
    write('c', 'c1'),
  ]);
  await replaceFile(root, ['d'], 'd1', place);
  // The kernel tells of changes in their order.
  await expect.poll(() => seen.has('d')).toBe(true);
  expect([...seen].sort()).toEqual(['a', 'b', 'c', 'd']);
});
