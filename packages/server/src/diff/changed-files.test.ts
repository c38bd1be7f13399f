import { afterAll, describe, expect, test } from 'vitest';
import {
  type StoredTreeOptions,
  StoredTrees,
  type WrittenEntry,
} from '../checkpoints/testing/stored-trees.ts';
import { changedFiles } from './changed-files.ts';
import { findRenames } from './renames.ts';

const trees = new StoredTrees();
afterAll(() => trees[Symbol.dispose]());

async function changesOf(
  before: readonly WrittenEntry[],
  after: readonly WrittenEntry[],
  { from = {}, to = {} }: { from?: StoredTreeOptions; to?: StoredTreeOptions } = {},
) {
  return changedFiles({ from: await trees.write(before, from), to: await trees.write(after, to) }, []);
}

const files = (...paths: string[]) => paths.map((path) => ({ path, content: path }));
const same = (...paths: string[]) => paths.map((path) => ({ path, content: 'the same' }));

describe('what one side may not have kept', () => {
  const knownOf = async (...args: Parameters<typeof changesOf>) =>
    Object.fromEntries((await changesOf(...args)).map(({ path, isKnown }) => [path, isKnown]));

  test('a path that was left out, or is below a directory that was', async () => {
    const omitted = [
      { path: 'large', reason: 'too_large' as const },
      { path: 'd/ignored', reason: 'ignored' as const },
    ];
    const paths = files('large', 'larger', 'd/ignored/deep/x', 'd/ignoredx');
    const known = { large: false, larger: true, 'd/ignored/deep/x': false, 'd/ignoredx': true };
    expect(await knownOf(paths, [], { to: { omitted } })).toEqual(known);
    expect(await knownOf([], paths, { from: { omitted } })).toEqual(known);
  });

  test('a file is not called deleted if not all that was left out is known', async () => {
    const more = { omitted: [{ path: 'x', reason: 'ignored' as const }], omittedCount: 2 };
    const many = { omitted: [{ path: 'x', reason: 'too_many' as const }] };
    const all = { omitted: [{ path: 'x', reason: 'ignored' as const }] };
    for (const [to, known] of [
      [more, false],
      [many, false],
      [all, true],
    ] as const) {
      expect(await knownOf(files('a'), [], { to })).toEqual({ a: known });
      expect(await knownOf([], files('a'), { from: to })).toEqual({ a: true });
    }
  });
});

test('changes come by the bytes of their paths', async () => {
  const changes = await changesOf([], files('b', 'a/z', 'a.x', '\u{10ffff}', '\uffff'));
  expect(changes.map(({ path }) => Buffer.from(path, 'latin1').toString())).toEqual([
    'a.x',
    'a/z',
    'b',
    '\uffff',
    '\u{10ffff}',
  ]);
});

describe('renames', () => {
  const renamesOf = async (...args: Parameters<typeof changesOf>) =>
    [...findRenames(await changesOf(...args)).from].map(([path, { path: from }]) => `${from} → ${path}`);

  test('keep the name if they can, and take the others in order', async () => {
    expect(await renamesOf(same('a/x', 'a/y'), same('b/y', 'c/x'))).toEqual(['a/y → b/y', 'a/x → c/x']);
    expect(await renamesOf(same('1', '2'), same('3', '4', '5'))).toEqual(['1 → 3', '2 → 4']);
  });

  test('are none of empty files, links, or files that stay', async () => {
    expect(await renamesOf([{ path: 'a', content: '' }], [{ path: 'b', content: '' }])).toEqual([]);
    expect(await renamesOf([{ path: 'a', target: 'x' }], [{ path: 'b', target: 'x' }])).toEqual([]);
    expect(await renamesOf(same('a'), same('a', 'b'))).toEqual([]);
    const swapped = [
      { path: 'a', content: '1' },
      { path: 'b', content: '2' },
    ];
    expect(
      await renamesOf(swapped, [
        { path: 'a', content: '2' },
        { path: 'b', content: '1' },
      ]),
    ).toEqual([]);
  });

  test('are none from a file that may still be there', async () => {
    const omitted = [{ path: 'a', reason: 'unreadable' as const }];
    expect(await renamesOf(same('a'), same('b'), { to: { omitted } })).toEqual([]);
  });
});
