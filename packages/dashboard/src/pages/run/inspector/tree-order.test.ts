import { expect, test } from 'vitest';
import { inTreeOrder } from './tree-order.ts';

test('what is in a directory follows it, also beside names that sort between', () => {
  const paths = ['a', 'a-b', 'z', 'a/x', 'a/b', 'a/b/c'];
  expect(inTreeOrder(paths.map((path) => ({ path }))).map(({ path }) => path)).toEqual([
    'a',
    'a/b',
    'a/b/c',
    'a/x',
    'a-b',
    'z',
  ]);
});
