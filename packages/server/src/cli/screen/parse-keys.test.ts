import fc from 'fast-check';
import { expect, test } from 'vitest';
import { KeyParser } from './parse-keys.ts';

const CTRL_C = '\x03';
const parser = () => new KeyParser((key) => key === CTRL_C);
const keys = (text: string) => parser().parse(Buffer.from(text));

test('keys that were read together are separate keys', () => {
  expect(keys('xo')).toEqual(['x', 'o']);
  expect(keys(`o${CTRL_C}`)).toEqual(['o', CTRL_C]);
  expect(keys('é👍o')).toEqual(['é', '👍', 'o']);
});

test.each([
  ['an arrow', '\x1b[A'],
  ['an arrow of a terminal in application mode', '\x1bOA'],
  ['an arrow with Shift', '\x1b[1;2D'],
  ['a function key', '\x1b[15~'],
  ['o with Alt', '\x1bo'],
  ['Escape', '\x1b'],
])('%s is one key', (_, key) => {
  expect(keys(key)).toEqual([key]);
  if (key !== '\x1b') expect(keys(`x${key}d`)).toEqual(['x', key, 'd']);
});

test('pasted text is no key, but Ctrl-C counts also inside', () => {
  expect(keys('a\x1b[200~once\nd\x1b[201~s')).toEqual(['a', 's']);
  expect(keys(`\x1b[200~once${CTRL_C}d`)).toEqual([CTRL_C]);
  expect(keys('\x1b[200~once\x1b\x1b[201~s')).toEqual(['s']);
});

test('the keys do not depend on how the bytes are cut, except after Escape', () => {
  const text = 'xé\x1b[200~once\x1b[201~👍\x1b[1;2Do';
  const whole = keys(text);
  expect(whole).toEqual(['x', 'é', '👍', '\x1b[1;2D', 'o']);
  const bytes = Buffer.from(text);
  const cuts = [...bytes.keys()].filter((at) => at > 0 && bytes[at - 1] !== 0x1b);
  fc.assert(
    fc.property(fc.subarray(cuts), (chosen) => {
      const cut = parser();
      const parts = [0, ...chosen].map((from, index) => bytes.subarray(from, chosen[index]));
      expect(parts.flatMap((part) => cut.parse(part))).toEqual(whole);
    }),
  );
});
