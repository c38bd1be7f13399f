/** Patterns of a schema, and the time limit of a check. What answers come to is shown in test/e2e/structured-output.test.ts. */
import { expect, test } from 'vitest';
import { readOutput, schemaProblem } from './output-form.ts';

test('a pattern with an escape that means nothing is used as other checkers use it', () => {
  const schema = { type: 'object', properties: { phone: { type: 'string', pattern: '^\\d+\\-\\d+$' } } };
  expect(schemaProblem(schema)).toBeUndefined();
  expect(readOutput('{"phone": "1-2"}', { schema })).toMatchObject({ value: { phone: '1-2' } });
  expect(readOutput('{"phone": "12"}', { schema })).toMatchObject({
    problem: expect.stringContaining('/phone'),
  });
});

test.each([
  ['that is no regular expression', { pattern: '(' }, true],
  ['of a part that a check may not get to', { properties: { a: { items: [{ pattern: '(' }] } } }, true],
  ['of names', { patternProperties: { '(': {} } }, true],
  ['in an example', { properties: { a: { examples: [{ pattern: '(' }] } } }, false],
  ['of a property with the name of a keyword', { properties: { examples: { pattern: '(' } } }, true],
])('a pattern %s: %j', (_, schema, isProblem) => {
  expect(schemaProblem(schema) !== undefined).toBe(isProblem);
});

test('a check that the machine keeps waiting is not taken for one that runs for ever', () => {
  let stalls = 1;
  const schema = new Proxy<Record<string, unknown>>(
    { type: 'object' },
    {
      get(target, name) {
        // Longer than the limit, and without using the processor.
        if (stalls-- > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
        return Reflect.get(target, name);
      },
    },
  );
  expect(readOutput('{}', { schema })).toEqual({ text: '{}', value: {} });
  expect(stalls).toBeLessThan(1);
});

test('a check that runs for ever ends', () => {
  const schema = { type: 'string', pattern: '^(a+)+$' };
  expect(readOutput(JSON.stringify(`${'a'.repeat(60)}!`), { schema })).toEqual({
    problem: expect.stringContaining('could not be checked against the schema'),
  });
});
