import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CURSOR_KEY_BYTES, Cursors } from './cursors.ts';

const cursors = new Cursors(randomBytes(CURSOR_KEY_BYTES));
const refused = expect.objectContaining({ code: 'invalid_cursor', param: 'after' });

test('a position comes back unchanged, for its owner', () => {
  fc.assert(
    fc.property(fc.string(), fc.maxSafeNat(), (owner, ordinal) => {
      expect(cursors.open(owner, cursors.seal(owner, ordinal))).toBe(ordinal);
    }),
  );
});

test('a cursor reveals nothing about its position: not its size, not that two are equal or neighbours', () => {
  const sealed = [1, 1, 2, 1_000_000_000].map((ordinal) => cursors.seal('ada', ordinal));
  expect(new Set(sealed.map((cursor) => cursor.slice(0, 16))).size).toBe(sealed.length);
  for (const cursor of sealed) expect(cursor).toMatch(/^[\w-]{48}$/);
});

test('a cursor of another owner or another store is refused', () => {
  const cursor = cursors.seal('ada', 7);
  expect(() => cursors.open('bob', cursor)).toThrow(refused);
  expect(() => new Cursors(randomBytes(CURSOR_KEY_BYTES)).open('ada', cursor)).toThrow(refused);
});

test('refuses anything else: the plain cursors of old, a cut one, one with any bit flipped', () => {
  const cursor = cursors.seal('ada', 7);
  for (const other of [
    '',
    'c7',
    'c1',
    cursor.slice(1),
    `${cursor}A`,
    `${cursor} `,
    cursor.replace(/.$/, '='),
  ]) {
    expect(() => cursors.open('ada', other)).toThrow(refused);
  }
  const bytes = Buffer.from(cursor, 'base64url');
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const turned = Buffer.from(bytes);
    turned[bit >> 3]! ^= 1 << (bit & 7);
    expect(() => cursors.open('ada', turned.toString('base64url'))).toThrow(refused);
  }
});
