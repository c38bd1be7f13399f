/** Patterns in a schema, and the time limit of a check. test/e2e/structured-output.test.ts tests whole answers. */
import type { OutputForm } from '@talaria/protocol';
import { expect, test } from 'vitest';
import { readOutput as readChecked } from './output-form.ts';
import { problemsOf, schemaProblem, toolProblem } from './output-schema.ts';

const readOutput = (answer: string, form: OutputForm) =>
  readChecked(answer, form, async (schema, value) => problemsOf(schema, value));

test('a pattern with a meaningless escape works as in other validators', async () => {
  const schema = { type: 'object', properties: { phone: { type: 'string', pattern: '^\\d+\\-\\d+$' } } };
  expect(schemaProblem(schema)).toBeUndefined();
  expect(await readOutput('{"phone": "1-2"}', { schema })).toMatchObject({ value: { phone: '1-2' } });
  expect(await readOutput('{"phone": "12"}', { schema })).toMatchObject({
    problem: expect.stringContaining('/phone'),
  });
});

test.each([
  ['that is not a regular expression', { pattern: '(' }, true],
  ['in a part that a check may not reach', { properties: { a: { items: [{ pattern: '(' }] } } }, true],
  ['of names', { patternProperties: { '(': {} } }, true],
  ['in an example', { properties: { a: { examples: [{ pattern: '(' }] } } }, false],
  ['in a property named like a keyword', { properties: { examples: { pattern: '(' } } }, true],
])('a pattern %s: %j', (_, schema, isProblem) => {
  expect(schemaProblem(schema) !== undefined).toBe(isProblem);
});

test.each([
  [{ type: 'strng' }, '/type must be equal to one of the allowed values: array, boolean, integer, null'],
  [{ properties: { a: { type: ['string', 'nul'] } } }, '/properties/a/type'],
  [{ properties: 5 }, '/properties must be object'],
  [{ type: 'object', required: 'a' }, '/required must be array'],
  [{ minLength: -1 }, '/minLength must be >= 0'],
  [{ $ref: '#/$defs/a', $defs: { a: { type: 'strng' } } }, '/$defs/a/type'],
  [{ properties: { a: { $ref: '#/$defs/b' } }, $defs: { a: {} } }, 'the schema has no part #/$defs/b'],
])('a schema that would check nothing, or that nothing satisfies, is a problem: %j', (schema, problem) => {
  expect(schemaProblem(schema)).toContain(problem);
});

test.each([
  { $ref: '#/$defs/a~1b', $defs: { 'a/b': { type: 'object', properties: { next: { $ref: '#' } } } } },
  { $ref: '#/definitions/a', definitions: { a: { enum: ['x', 'x'] } } },
  { type: ['string', 'null'], nullable: true, format: 'phone', 'x-own': 1 },
  { type: 'array', items: [{ type: 'string' }, false], additionalItems: { type: 'number' } },
  { type: 'array', prefixItems: [{ type: 'string' }], items: false },
  {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    properties: { $ref: { const: { $ref: '#/no' } } },
  },
])('what generators of schemas write can be used: %j', (schema) => {
  expect(schemaProblem(schema)).toBeUndefined();
});

test.each([
  [{ type: 'object', properties: { a: { type: 'strng' } } }, '/properties/a/type'],
  [
    { type: 'object', properties: { a: { type: 'string', required: true } } },
    '/properties/a/required must be',
  ],
  [{ type: 'object', properties: { a: { $ref: '#/$defs/a' } } }, 'the schema has no part #/$defs/a'],
  [{ type: 'array', items: {} }, 'the type must be object, not "array"'],
])('a tool cannot be called with the parameters %j', (parameters, problem) => {
  const fine = { name: 'fine', parameters: { type: 'object', properties: {} } };
  const said = toolProblem([fine, { name: 'odd', parameters }]);
  expect(said).toContain(`The parameters of 'odd' cannot be used: `);
  expect(said).toContain(problem);
});

test('parameters may have patterns of another language', () => {
  const a = { type: 'string', pattern: '(?P<name>a)' };
  expect(toolProblem([{ name: 'f', parameters: { type: 'object', properties: { a } } }])).toBeUndefined();
});

test('a check that a busy machine delays does not count as endless', async () => {
  let stalls = 1;
  const schema = new Proxy<Record<string, unknown>>(
    { type: 'object' },
    {
      get(target, name) {
        // Longer than the limit, but without using the processor.
        if (stalls-- > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
        return Reflect.get(target, name);
      },
    },
  );
  expect(await readOutput('{}', { schema })).toEqual({ text: '{}', value: {} });
  expect(stalls).toBeLessThan(1);
});

test('an endless check is ended', async () => {
  const schema = { type: 'string', pattern: '^(a+)+$' };
  expect(await readOutput(JSON.stringify(`${'a'.repeat(60)}!`), { schema })).toEqual({
    problem: expect.stringContaining('could not be checked against the schema'),
  });
});
