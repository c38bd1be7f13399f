/**
 * Strings of any characters, for property tests. The unit `binary` of fast-check does the same, but builds a map of all
 * million characters when a process first uses it, which takes two seconds. This one calculates.
 */
import fc from 'fast-check';

const SURROGATES = { first: 0xd800, count: 0x800 };

/** What `binary` of fast-check is: any code point but the surrogates. It shrinks towards U+0000. */
const character = fc.nat({ max: 0x10_ffff - SURROGATES.count }).map(
  (index) => String.fromCodePoint(index < SURROGATES.first ? index : index + SURROGATES.count),
  (text) => {
    if (typeof text !== 'string' || text.length === 0) throw new Error('expected one character');
    const code = text.codePointAt(0)!;
    if (text !== String.fromCodePoint(code) || !text.isWellFormed())
      throw new Error('expected one character');
    return code < SURROGATES.first ? code : code - SURROGATES.count;
  },
);

/** Strings of any code points. */
export function anyText(constraints: Omit<fc.StringConstraints, 'unit'> = {}): fc.Arbitrary<string> {
  return fc.string({ ...constraints, unit: character });
}
