import { expect, test } from 'vitest';
import { MAX_DEPTH, Walk } from './walk.ts';

test('a directory may hold any number of directories', () => {
  const walk = new Walk('/', []);
  expect(walk.descend(Array.from({ length: 300_000 }, (_, i) => [`${i}`]))).toBe(0);
});

test('directories that lie too deep are counted, not taken', () => {
  const deep = Array.from({ length: MAX_DEPTH + 1 }, () => 'd');
  expect(new Walk('/', []).descend([deep, deep.slice(1)])).toBe(1);
});
