import { expect, test } from 'vitest';
import { RequestBody } from './body-budget.ts';
import { parseJsonBody } from './json-body.ts';

const bytes = (text: string) => new RequestBody(new TextEncoder().encode(text));
const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

test('reads any JSON value, also one that is not an object', () => {
  for (const value of [{ a: [1, 'ü', null] }, [], 'text', 7, null, false]) {
    expect(parseJsonBody(bytes(JSON.stringify(value)))).toEqual(value);
  }
});

test('accepts a byte order mark', () => {
  expect(parseJsonBody(bytes('\uFEFF{"a":1}'))).toEqual({ a: 1 });
});

test('refuses what is not JSON: missing, empty, cut off, two values, broken UTF-8', () => {
  for (const body of [undefined, null, bytes(''), bytes('{"a":'), bytes('{} {}'), bytes("{'a':1}")]) {
    expect(() => parseJsonBody(body)).toThrow('Invalid JSON in request body');
  }
  const broken = new RequestBody(new Uint8Array([0x22, 0xff, 0xfe, 0x22]));
  expect(() => parseJsonBody(broken)).toThrow('Invalid JSON in request body');
});

test('reads a value up to a depth, and refuses a deeper one whatever it holds', () => {
  expect(parseJsonBody(bytes(nested(100)))).toBeInstanceOf(Array);
  for (const text of [nested(101), nested(100_000), `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`]) {
    expect(() => parseJsonBody(bytes(text))).toThrow(/nested deeper than 100 levels|Invalid JSON/);
  }
});

test('reads a value with many members, and refuses one with more before parsing it', () => {
  const list = (length: number) => `[${Array(length).fill('0').join(',')}]`;
  const object = (length: number) => `{${Array.from({ length }, (_, i) => `"${i}":{}`).join(', ')}}`;
  // The list or object is a value itself, and an empty one inside it counts as two.
  expect(parseJsonBody(bytes(list(99_999)))).toHaveLength(99_999);
  expect(Object.keys(parseJsonBody(bytes(object(49_999))) as object)).toHaveLength(49_999);
  for (const text of [list(100_000), object(50_000), list(1_000_000)]) {
    expect(() => parseJsonBody(bytes(text))).toThrow('has more than 100000 values');
  }
  expect(() => parseJsonBody(bytes(list(200_000).slice(1)))).toThrow('Invalid JSON in request body');
});

test('commas in strings do not count as values', () => {
  const value = { [','.repeat(200_000)]: ','.repeat(200_000) };
  expect(parseJsonBody(bytes(JSON.stringify(value)))).toEqual(value);
});

test('brackets in strings do not count as depth, whatever is escaped around them', () => {
  const brackets = '[{'.repeat(200);
  for (const text of [
    brackets,
    `"${brackets}`,
    `${brackets}\\\\`,
    `\\"${brackets}"`,
    `\u2028ü${brackets}😀`,
  ]) {
    const value = { [text]: [text, { a: text }] };
    expect(parseJsonBody(bytes(JSON.stringify(value)))).toEqual(value);
  }
  expect(() => parseJsonBody(bytes(`{"a\\\\":${nested(101)}}`))).toThrow('nested deeper than 100 levels');
});

test('a name like __proto__ is data and changes no prototype', () => {
  const value = parseJsonBody(bytes('{"__proto__":{"polluted":true}}')) as Record<string, unknown>;
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect('polluted' in {}).toBe(false);
});
