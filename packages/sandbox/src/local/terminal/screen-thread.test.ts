import { expect, test } from 'vitest';
import { renderScreen } from './screen-thread.ts';

const SIZE = { columns: 80, rows: 24, alternate: false, entire: true };

test.each([
  ['within a line', 'a\x1b[5b', 'aaaaaa\n'],
  ['beyond a line, which no program does', 'a\x1b[100000000b', 'a\n'],
])('a character is repeated %s', async (_, printed, screen) => {
  expect(await renderScreen({ ...SIZE, printed })).toBe(screen);
});

test('a character of many marks is not repeated', async () => {
  const character = `a${'\u0301'.repeat(100)}`;
  expect(await renderScreen({ ...SIZE, printed: `${character}\x1b[80b` })).toBe(`${character}\n`);
});
