import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hashJson } from './hash-json.ts';

/** The same value with the keys of every object in the opposite order. */
function reversed(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(reversed);
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, field]) => [name, reversed(field)]),
  );
}

const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown);

test('the order of keys does not matter, at any depth', () => {
  fc.assert(fc.property(json, (value) => hashJson(reversed(value)) === hashJson(value)));
});

test('every other difference does', () => {
  fc.assert(
    fc.property(json, json, (a, b) => {
      const same = JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
      return (hashJson(a) === hashJson(b)) === same;
    }),
  );
  const alike: unknown[] = [
    [],
    {},
    '',
    0,
    null,
    false,
    '[]',
    '{}',
    [[]],
    [{}],
    { a: 1 },
    { a: '1' },
    { b: 1 },
  ];
  alike.push({ a: { b: 1 } }, { a: { b: 1 }, c: 1 }, { a: { b: 1, c: 1 } }, [1, 2], [2, 1], ['1,2']);
  expect(new Set(alike.map(hashJson)).size).toBe(alike.length);
});

test('equals the hash that earlier versions stored', () => {
  const body = { session_id: 's', input: [{ role: 'user', content: 'hü\u2028' }], 10: 1, 9: null };
  expect(hashJson(body)).toBe('J0iWih_XImUWxoMALvUb0VKgZev-fgJFAtXooaBeobM');
});

/** Equal as text exactly when the values are equal: every object becomes the list of its fields in order. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return { fields: fields.map(([name, field]) => [name, sorted(field)]) };
}
