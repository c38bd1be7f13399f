import { expect, test } from 'vitest';
import { compareContents } from './compare-contents.ts';

const compare = (before: string, after: string) =>
  compareContents(
    { before: Buffer.from(before, 'latin1'), after: Buffer.from(after, 'latin1') },
    { maxSteps: 1_000_000, hunks: true },
  );

const lines = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => `${from + i}\n`).join('');

test('a change in the middle, with three lines of context', () => {
  expect(compare(lines(1, 20), `${lines(1, 9)}ten\n${lines(11, 20)}`)).toEqual({
    additions: 1,
    deletions: 1,
    steps: 0,
    hunks: '@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n',
  });
});

test('changes share a hunk if not more than six lines are between them', () => {
  const changed = (at: number) => `${lines(1, 3)}x\n${lines(5, at - 1)}y\n${lines(at + 1, 30)}`;
  expect(compare(lines(1, 30), changed(11))!.hunks.match(/^@@.*@@$/gm)).toEqual(['@@ -1,14 +1,14 @@']);
  expect(compare(lines(1, 30), changed(12))!.hunks.match(/^@@.*@@$/gm)).toEqual([
    '@@ -1,7 +1,7 @@',
    '@@ -9,7 +9,7 @@',
  ]);
});

test.each([
  ['a new file', '', 'a\nb\n', '@@ -0,0 +1,2 @@\n+a\n+b\n'],
  ['a file that is emptied', 'a\n', '', '@@ -1 +0,0 @@\n-a\n'],
  ['a newline that comes', 'a', 'a\n', '@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n'],
  [
    'a last line without one that stays',
    'a\nb',
    'c\nb',
    '@@ -1,2 +1,2 @@\n-a\n+c\n b\n\\ No newline at end of file\n',
  ],
  ['carriage returns', 'a\r\n', 'a\n', '@@ -1 +1 @@\n-a\r\n+a\n'],
  ['bytes that are not UTF-8', '\xff\n', '\xfe\n', '@@ -1 +1 @@\n-\xff\n+\xfe\n'],
  ['nothing', 'a\n', 'a\n', ''],
])('%s', (_, before, after, hunks) => {
  expect(compare(before, after)?.hunks).toBe(hunks);
});

test('a zero byte anywhere means that it is not text', () => {
  expect(compare('a\n', 'a\n\0')).toBeUndefined();
  expect(compare(`${'a'.repeat(10_000)}\0`, '')).toBeUndefined();
});
