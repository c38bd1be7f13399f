import { expect, test } from 'vitest';
import { highlight } from './highlight.tsx';

test.each([
  ['typescript', '`\u0024{'],
  ['bash', '"$('],
  ['python', "f'{"],
])('%s that nests too deep is only text', (language, piece) => {
  const text = piece.repeat(1000);
  expect(highlight(text, language)).toBe(text);
});

test('other code is not', () => {
  expect(highlight('const a = f`1`;', 'typescript')).toEqual(expect.any(Array));
});
