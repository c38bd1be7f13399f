import fc from 'fast-check';
import { expect, it } from 'vitest';
import { matchesWord, parseRule } from './command-rules.ts';

const wordOf = (pattern: string) => parseRule(`x ${pattern}`).words[1]!;

it.each([
  ['a*b', 'ab', true],
  ['a*b', 'a', false],
  ['a*a', 'a', false],
  ['*', '', true],
  ['?', '', false],
  ['a*b*b', 'ab', false],
  ['http://*.internal/*', 'http://x.internal/', true],
  ['(a|b)', 'a', false],
])('%s against %j: %s', (pattern, word, expected) => {
  expect(matchesWord(wordOf(pattern), word)).toBe(expected);
});

it('means the same as a regular expression', () => {
  const patterns = fc
    .string({ unit: fc.constantFrom('a', 'b', '*', '?'), minLength: 1, maxLength: 6 })
    .filter((pattern) => !pattern.includes('**'));
  const words = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 8 });
  fc.assert(
    fc.property(patterns, words, (pattern, word) => {
      const expected = new RegExp(`^${pattern.replaceAll('*', '.*').replaceAll('?', '.')}$`).test(word);
      expect(matchesWord(wordOf(pattern), word)).toBe(expected);
    }),
    { numRuns: 2_000 },
  );
});
