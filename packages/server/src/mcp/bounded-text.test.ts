import fc from 'fast-check';
import { expect, test } from 'vitest';
import { boundText } from './bounded-text.ts';

test('a short text stays unchanged, a long one shows its start, its end and its size', () => {
  expect(boundText('abcdef', 6)).toBe('abcdef');
  expect(boundText('abcdefg', 6)).toBe('abc\n[... 1 of 7 bytes left out ...]\nefg');
  // Two bytes each: the limit falls into the middle of both.
  expect(boundText('üüüüüü', 6)).toBe('ü\n[... 8 of 12 bytes left out ...]\nü');
});

test('no character is cut, and the parts come from the text', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', minLength: 1 }),
      fc.integer({ min: 1, max: 40 }),
      (text, limit) => {
        const shown = boundText(text, limit);
        if (Buffer.byteLength(text) <= limit) {
          expect(shown).toBe(text);
          return;
        }
        const [, head, leftOut, total, tail] =
          /^(.*)\n\[\.\.\. (\d+) of (\d+) bytes left out \.\.\.\]\n(.*)$/s.exec(shown)!;
        expect(text.startsWith(head!) && text.endsWith(tail!)).toBe(true);
        expect(Buffer.byteLength(head! + tail!)).toBeLessThanOrEqual(limit);
        expect(Number(total)).toBe(Buffer.byteLength(text));
        expect(Number(leftOut)).toBe(Number(total) - Buffer.byteLength(head! + tail!));
      },
    ),
  );
});
