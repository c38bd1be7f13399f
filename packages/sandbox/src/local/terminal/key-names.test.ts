import { expect, test } from 'vitest';
import { bytesOf, endsLine } from './key-names.ts';

test.each<[string | string[], string]>([
  ['ls -la', 'ls -la'],
  [['ls', 'Space', '-la', 'Enter'], 'ls -la\r'],
  ['Enter', '\r'],
  ['enter', '\r'],
  ['C-c', '\x03'],
  ['^C', '\x03'],
  ['C-[', '\x1b'],
  ['C-Space', '\0'],
  ['M-x', '\x1bx'],
  ['C-M-a', '\x1b\x01'],
  [['Up', 'PageDown', 'NPage', 'F5'], '\x1b[A\x1b[6~\x1b[6~\x1b[15~'],
  ['C-', 'C-'],
  ['C-Dur', 'C-Dur'],
  ['M-', 'M-'],
  ['Enters', 'Enters'],
  [[], ''],
])('%j types %j', (keys, bytes) => {
  expect(bytesOf(keys)).toBe(bytes);
});

test('only a line end ends a line', () => {
  expect([endsLine(bytesOf(['ls', 'Enter'])), endsLine(bytesOf('ls\n')), endsLine('ls')]).toEqual([
    true,
    true,
    false,
  ]);
});
