import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ArgumentRules, checkArguments, NOT_BLANK } from './arguments.ts';
import { InvalidArguments } from './tool.ts';

const rules: ArgumentRules = {
  tool: 'paint',
  schema: {
    type: 'object',
    properties: {
      colour: { type: 'string', enum: ['red', 'blue'], description: '' },
      title: { type: 'string', pattern: NOT_BLANK, maxLength: 10, description: '' },
      raw: { type: 'string', minLength: 1, description: '' },
      width: { type: 'number', minimum: 0.1, maximum: 5, description: '' },
      count: { type: 'integer', minimum: 0, description: '' },
      fast: { type: 'boolean', description: '' },
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
};

test('what fits is taken as it is, and null is nothing', () => {
  const args = {
    title: 'Sea',
    colour: 'red',
    raw: ' ',
    width: 0.1,
    count: 0,
    fast: false,
    dots: [{ x: 1 }, { x: 2 }],
  };
  expect(checkArguments(rules, args)).toEqual(args);
  expect(checkArguments(rules, { title: 'Sea', count: null })).toEqual({ title: 'Sea' });
});

describe('what does not fit is named, with an example', () => {
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
    [{ title: 'a', titel: 'a' }, "'titel' is not an argument; did you mean title?"],
    [{ title: 'a', style: 'a' }, "'style' is not an argument; there are colour, title"],
    [{ toString: 1, title: 'a' }, "'toString' is not an argument"],
  ])('%j', (args, words) => {
    expect(() => checkArguments(rules, args)).toThrow(InvalidArguments);
    expect(() => checkArguments(rules, args)).toThrow(words);
    expect(() => checkArguments(rules, args)).toThrow('Example of a call: {"title":"Sea"}');
  });
});

test('all that is wrong is said at once', () => {
  expect(() => checkArguments(rules, { count: -1, other: 1 })).toThrow(
    /'other'.*; 'title' must be.*; 'count' must be/,
  );
});

test('no arguments make it throw anything but its own error', () => {
  const anything = fc.dictionary(
    fc.oneof(fc.constantFrom('title', 'colour', 'width', 'dots', '__proto__', 'constructor'), fc.string()),
    fc.jsonValue(),
  );
  fc.assert(
    fc.property(anything, (args) => {
      try {
        expect(checkArguments(rules, args)).toHaveProperty('title');
      } catch (error) {
        expect(error).toBeInstanceOf(InvalidArguments);
      }
    }),
  );
});
