import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MessageLines } from './message-lines.ts';

test('the lines are the same however the bytes are cut', () => {
  const cuts = fc.array(fc.nat({ max: 200 }), { maxLength: 20 });
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 20 })), cuts, (texts, places) => {
      const lines = texts.map((text) => text.replaceAll('\n', ''));
      const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
      const ends = [...places.filter((place) => place < bytes.length), bytes.length].sort((a, b) => a - b);
      const reader = new MessageLines(1_000);
      const read = ends.flatMap((end, index) => reader.push(bytes.subarray(ends[index - 1] ?? 0, end)));
      expect(read).toEqual(lines);
    }),
  );
});

test('a line over the limit is refused, whole or in pieces, and one at the limit is not', () => {
  expect(new MessageLines(4).push(Buffer.from('abcd\nefgh\n'))).toEqual(['abcd', 'efgh']);
  expect(() => new MessageLines(4).push(Buffer.from('abcde\n'))).toThrow(RangeError);
  const reader = new MessageLines(4);
  reader.push(Buffer.from('abc'));
  expect(() => reader.push(Buffer.from('de'))).toThrow(RangeError);
});
