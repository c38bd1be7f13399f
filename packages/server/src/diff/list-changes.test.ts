import { afterAll, expect, test } from 'vitest';
import {
  type StoredTreeOptions,
  StoredTrees,
  type WrittenEntry,
} from '../checkpoints/testing/stored-trees.ts';
import { listChanges } from './list-changes.ts';

const trees = new StoredTrees();
afterAll(() => trees[Symbol.dispose]());

async function listed(
  before: readonly WrittenEntry[],
  after: readonly WrittenEntry[],
  to: StoredTreeOptions = {},
) {
  const checkpoints = { from: await trees.write(before), to: await trees.write(after, to) };
  return listChanges(checkpoints, { owner: 'key', within: [] });
}

const LARGE = 'x\n'.repeat(2 ** 20 + 1);

test('every kind of change', async () => {
  const { data, truncated } = await listed(
    [
      { path: 'binary', content: 'text\n' },
      { path: 'deleted', content: '1\n2\n' },
      { path: 'kept', content: 'same\n' },
      { path: 'large', content: LARGE },
      { path: 'link', content: 'was a file\n' },
      { path: 'modified', content: '1\n2\n3\n' },
      { path: 'old/name', content: 'moves\n' },
      { path: 'program', content: 'same\n' },
      { path: 'unkept', content: 'x\n' },
    ],
    [
      { path: 'added', content: '1\n2\n3' },
      { path: 'binary', content: Buffer.from([0]) },
      { path: 'empty', content: '' },
      { path: 'kept', content: 'same\n' },
      { path: 'large', content: `${LARGE}y\n` },
      { path: 'link', target: 'nowhere' },
      { path: 'modified', content: '1\ntwo\n3\n4\n' },
      { path: 'new/name', content: 'moves\n' },
      { path: 'program', content: 'same\n', mode: 0o755 },
    ],
    { omitted: [{ path: 'unkept', reason: 'too_large' }] },
  );
  const mode = '100644';
  const text = { binary: false, mode };
  const uncounted = { additions: null, deletions: null, binary: true };
  expect(data).toEqual([
    { path: 'added', status: 'added', additions: 3, deletions: 0, ...text },
    { path: 'binary', status: 'modified', ...uncounted, mode },
    { path: 'deleted', status: 'deleted', additions: 0, deletions: 2, ...text },
    { path: 'empty', status: 'added', additions: 0, deletions: 0, ...text },
    { path: 'large', status: 'modified', ...uncounted, reason: 'too_large', mode },
    {
      path: 'link',
      status: 'modified',
      additions: 1,
      deletions: 1,
      binary: false,
      mode: '120000',
      old_mode: mode,
    },
    { path: 'modified', status: 'modified', additions: 2, deletions: 1, ...text },
    { path: 'new/name', status: 'added', additions: 0, deletions: 0, ...text, renamed_from: 'old/name' },
    { path: 'old/name', status: 'deleted', additions: 0, deletions: 0, ...text, renamed_to: 'new/name' },
    {
      path: 'program',
      status: 'modified',
      additions: 0,
      deletions: 0,
      binary: false,
      mode: '100755',
      old_mode: mode,
    },
    { path: 'unkept', status: 'modified', ...uncounted, reason: 'not_kept' },
  ]);
  expect(truncated).toBe(false);
});

test('more files than are listed', async () => {
  const paths = Array.from({ length: 10_001 }, (_, i) => String(i).padStart(5, '0'));
  // Files that become programs: a comparison of ten thousand contents takes long.
  const programs = (until: number) =>
    trees.write(paths.map((path, i) => ({ path, content: '', mode: i < until ? 0o755 : 0o644 })));
  const [none, all] = [await programs(0), await programs(paths.length)];
  const { data, truncated } = await listChanges({ from: none, to: all }, { owner: 'key', within: [] });
  expect([data.length, data.at(-1)?.path, truncated]).toEqual([10_000, '09999', true]);
  const fits = await listChanges({ from: await programs(1), to: all }, { owner: 'key', within: [] });
  expect([fits.data.length, fits.truncated]).toEqual([10_000, false]);
});

test('more bytes than are compared', async () => {
  const [from, to] = [
    await trees.write([]),
    await trees.write([{ path: 'x', content: 'x'.repeat(2 ** 21) }]),
  ];
  // As many as fit, and one more; all of them have the same bytes.
  const names = Array.from({ length: 129 }, (_, i) => String(i).padStart(3, '0'));
  const tree = new Map(names.map((path) => [path, { ...to.tree.get('x')!, path }]));
  const { data } = await listChanges({ from, to: { ...to, tree } }, { owner: 'key', within: [] });
  expect(data.slice(0, 128).every(({ additions }) => additions === 1)).toBe(true);
  expect(data[128]).toMatchObject({ additions: null, reason: 'too_many' });
});

test('nothing is read for a client that is gone', async () => {
  const [from, to] = [await trees.write([]), await trees.write([{ path: 'a', content: 'x\n' }])];
  const unread = { ...to, read: () => expect.unreachable() };
  const signal = AbortSignal.abort(new Error('gone'));
  await expect(listChanges({ from, to: unread }, { owner: 'key', within: [], signal })).rejects.toThrow(
    'gone',
  );
});
