import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SecretFilter } from './secret-filter.ts';
import { Secrets } from './secrets.ts';

const SECRETS = ['abcabcd', 'abcabcdefg', 'bcabcaa', 'short', 'zzzzzz'];
const { maskKnown } = new Secrets(SECRETS);

/** Made of the letters of the secrets, so that partial matches and overlaps are common. */
const texts = fc
  .array(fc.oneof(fc.constantFrom(...SECRETS), fc.string({ unit: fc.constantFrom(...'abcdefgzo ') })))
  .map((parts) => parts.join(''));

test('the result does not depend on where the text is cut', () => {
  fc.assert(
    fc.property(texts, fc.array(fc.nat({ max: 12 })), (text, sizes) => {
      const filter = new SecretFilter(SECRETS);
      let shown = '';
      let at = 0;
      for (const size of sizes) {
        shown += filter.push(text.slice(at, at + size));
        at += size;
      }
      shown += filter.push(text.slice(at)) + filter.end();
      expect(shown).toBe(maskKnown(text));
    }),
  );
});

test('no secret is left, and text without one is unchanged', () => {
  const long = SECRETS.filter((secret) => secret.length >= 6);
  fc.assert(
    fc.property(texts, (text) => {
      const masked = maskKnown(text);
      for (const secret of long) expect(masked).not.toContain(secret);
      if (!long.some((secret) => text.includes(secret))) expect(masked).toBe(text);
    }),
  );
});

test('text that was shown never has to be taken back', () => {
  const filter = new SecretFilter(['abcabcd']);
  expect(filter.push('say abcab')).toBe('say ');
  expect(filter.push('cabcab')).toBe('abcabc');
  expect(filter.push('cd!')).toBe('[redacted]!');
  expect(filter.push('abcabc')).toBe('');
  expect(filter.end()).toBe('abcabc');
});

test('the longest of several secrets with the same beginning is masked as one', () => {
  expect(maskKnown('abcabcdefg abcabcdef')).toBe('[redacted] [redacted]ef');
});
