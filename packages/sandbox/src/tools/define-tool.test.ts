import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { InvalidArguments } from './check-arguments.ts';
import { defineTool, parametersOf } from './define-tool.ts';
import { NOT_BLANK } from './schema.ts';

const paint = defineTool({
  name: 'paint',
  description: '',
  schema: {
    type: 'object',
    properties: {
      colour: { type: 'string', enum: ['red', 'blue'], description: '' },
      title: { type: 'string', pattern: NOT_BLANK, maxLength: 10, description: '' },
      raw: { type: 'string', minLength: 1, description: '' },
      width: { type: 'number', minimum: 0.1, maximum: 5, description: '' },
      count: { type: 'integer', minimum: 0, description: '' },
      fast: { type: 'boolean', description: ({ maxTimeoutS }) => `within ${maxTimeoutS} s` },
      names: { type: 'object', additionalProperties: { type: 'string' }, description: '' },
      dots: {
        type: 'array',
        maxItems: 2,
        description: '',
        items: {
          type: 'object',
          properties: { x: { type: 'integer', minimum: 0, description: '' } },
          required: ['x'],
        },
      },
    },
    required: ['title'],
  },
  example: { title: 'Sea' },
  refuse: ({ count, fast }) =>
    fast && count === 7 ? { problem: 'seven takes time', example: { title: 'Sea', count: 7 } } : undefined,
});

test('valid arguments are kept, and null counts as absent', () => {
  const args = {
    title: 'Sea',
    colour: 'red',
    raw: ' ',
    width: 0.1,
    count: 0,
    fast: false,
    names: { a: '1', constructor: '' },
    dots: [{ x: 1 }, { x: 2 }],
  };
  expect(paint.check(args)).toEqual(args);
  expect(paint.check({ title: 'Sea', count: null })).toEqual({ title: 'Sea' });
});

describe('an invalid argument is named, with an example', () => {
  test.each<[Record<string, unknown>, string]>([
    [{}, "'title' must be a non-empty string of at most 10 characters, and is missing"],
    [{ title: null }, "'title' must be"],
    [{ title: ' \n' }, `'title' must be a non-empty string of at most 10 characters, not " \\n"`],
    [{ title: 'x'.repeat(11) }, "'title' must be"],
    [{ title: 'x'.repeat(200) }, 'not a string of 200 characters'],
    [{ title: 7 }, 'not 7'],
    [{ title: 'a', colour: 'green' }, `'colour' must be one of red, blue, not "green"`],
    [{ title: 'a', raw: '' }, "'raw' must be a non-empty string"],
    [{ title: 'a', width: 0 }, "'width' must be a number of at least 0.1 and at most 5, not 0"],
    [{ title: 'a', width: Number.NaN }, "'width' must be"],
    [{ title: 'a', count: 1.5 }, "'count' must be a whole number of at least 0, not 1.5"],
    [{ title: 'a', count: '3' }, `not "3"`],
    [{ title: 'a', fast: 'yes' }, "'fast' must be true or false"],
    [{ title: 'a', dots: {} }, "'dots' must be an array of at most 2 objects, not an object"],
    [{ title: 'a', dots: [{ x: 1 }, 5] }, "'dots[1]' must be an object, not 5"],
    [{ title: 'a', dots: [{ y: 1 }] }, "'dots[0].x' must be a whole number of at least 0, and is missing"],
    [{ title: 'a', dots: [{}, {}, {}] }, 'not an array of 3'],
    [{ title: 'a', names: [] }, "'names' must be an object of strings, not an array of 0"],
    [{ title: 'a', names: { b: 1 } }, "'names.b' must be a string, not 1"],
    [{ title: 'a', style: 'a' }, "'style' is not an argument; there are colour, title"],
    [{ toString: 1, title: 'a' }, "'toString' is not an argument"],
    [null as never, 'the arguments must be an object with colour, title, raw'],
    [['a'] as never, 'not an array of 1'],
  ])('%j', (args, words) => {
    expect(() => paint.check(args)).toThrow(InvalidArguments);
    expect(() => paint.check(args)).toThrow(words);
    expect(() => paint.check(args)).toThrow('Example of a call: {"title":"Sea"}');
  });
});

test('all problems are reported together', () => {
  expect(() => paint.check({ count: -1, other: 1 })).toThrow(/'other'.*; 'title' must be.*; 'count' must be/);
});

test('a call that a rule beyond the schema refuses gets its own example', () => {
  expect(paint.check({ title: 'Sea', fast: true, count: 6 })).toMatchObject({ count: 6 });
  expect(() => paint.check({ title: 'Sea', fast: true, count: 7 })).toThrow(
    'Wrong arguments for paint: seven takes time.\nExample of a call: {"title":"Sea","count":7}',
  );
});

test('the schema for a model includes the settings', () => {
  expect(parametersOf(paint, { maxTimeoutS: 5 })).toMatchObject({
    type: 'object',
    properties: {
      title: { type: 'string', pattern: NOT_BLANK, maxLength: 10, description: '' },
      fast: { type: 'boolean', description: 'within 5 s' },
    },
    required: ['title'],
  });
});

test('whatever the arguments are, it throws no other error than its own', () => {
  const anything = fc.dictionary(
    fc.oneof(fc.constantFrom('title', 'colour', 'width', 'dots', '__proto__', 'constructor'), fc.string()),
    fc.jsonValue(),
  );
  fc.assert(
    fc.property(anything, (args) => {
      try {
        expect(paint.check(args)).toHaveProperty('title');
      } catch (error) {
        expect(error).toBeInstanceOf(InvalidArguments);
      }
    }),
  );
});
