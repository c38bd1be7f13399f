import { expect, test } from 'vitest';
import { parseCsv } from './csv.ts';

test('quotes hold separators, line ends and quotes', () => {
  expect(parseCsv('a,b\r\n"x, y","line\nend ""q"""\n,\n', ',', 10)).toEqual([
    ['a', 'b'],
    ['x, y', 'line\nend "q"'],
    ['', ''],
  ]);
});

test('a last line without an end counts, and rows are limited', () => {
  expect(parseCsv('a\tb\n1\t2', '\t', 10)).toEqual([
    ['a', 'b'],
    ['1', '2'],
  ]);
  expect(parseCsv('1\n2\n3\n', ',', 2)).toEqual([['1'], ['2']]);
  expect(parseCsv('', ',', 2)).toEqual([]);
});
