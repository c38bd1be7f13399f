import { expect, test } from 'vitest';
import { plainText } from './plain-text.ts';

test.each([
  ['plain\r\ntext\n', 'plain\ntext\n'],
  ['\x1b[1;31mred\x1b[0m\x1b(B \x1b]0;title\x07end', 'red end'],
  ['10%\r50%\r100%\r\n', '100%\n'],
  ['abc\rX', 'Xbc'],
  ['a long line\r\x1b[Kshort\r\n', 'short\n'],
  [`before\r\n${' '.repeat(118)}\r`, 'before\n'],
  ['bell\x07 and\x08 more\t.', 'bell and more\t.'],
  ['\x1b\x1b\x1b[31mlone\x1b', 'lone'],
  ['', ''],
])('%j is %j', (printed, text) => {
  expect(plainText(printed)).toBe(text);
});
