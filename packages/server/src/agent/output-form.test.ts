/** The time limit of a check. What answers come to is shown in test/e2e/structured-output.test.ts. */
import { expect, test } from 'vitest';
import { readOutput } from './output-form.ts';

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
