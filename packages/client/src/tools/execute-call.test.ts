/** Every call ends with an output, whatever the tool does. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import type { ClientTool } from './client-tool.ts';
import { executeCall } from './execute-call.ts';

const errors: unknown[] = [];

function run(execute: ClientTool['execute'], parameters: object = {}, args: Record<string, unknown> = {}) {
  errors.length = 0;
  const call = { tool_call_id: 'call_1', tool: 'x', arguments: args, expires_at: 0 };
  const context = { runId: 'run_1', toolCallId: 'call_1', signal: new AbortController().signal };
  return executeCall({ parameters, execute }, call, context, (error) => errors.push(error));
}

it.each([
  ['text', 'text'],
  [{ a: [1] }, { a: [1] }],
  [0, 0],
  [null, null],
  [undefined, ''],
])('%j is sent as %j', async (returned, output) => {
  expect(await run(() => returned)).toEqual({ tool_call_id: 'call_1', output });
  expect(await run(async () => returned)).toEqual({ tool_call_id: 'call_1', output });
});

it('the tool gets the arguments as its schema parses them', async () => {
  const parameters = z.object({ days: z.number().default(3) });
  expect(await run((args) => args, parameters)).toMatchObject({ output: { days: 3 } });
});

it('the model hears of arguments that do not fit, and the tool does not run', async () => {
  const parameters = z.object({ city: z.string(), at: z.object({ hour: z.number() }) });
  const output = await run(() => expect.fail('it was run'), parameters, { at: { hour: 'noon' } });
  expect(output).toEqual({
    tool_call_id: 'call_1',
    error: true,
    output: expect.stringMatching(/^The arguments are invalid: city: .*; at\.hour: .*$/),
  });
  expect(errors).toEqual([]);
});

const circle: unknown[] = [];
circle.push(circle);

it.each([
  ['an error', () => Promise.reject(new Error('no such city')), /^no such city$/],
  ['an error without a message', () => Promise.reject(new RangeError()), /^RangeError$/],
  ['anything else', () => Promise.reject('down'), /^down$/],
  ['a value that JSON cannot hold', () => 1n, /BigInt/],
  ['a value that holds itself', () => circle, /circular/],
])('%s is sent as a failure', async (_, execute, output) => {
  const expected = { tool_call_id: 'call_1', error: true, output: expect.stringMatching(output) };
  expect(await run(execute)).toEqual(expected);
  expect(errors).toHaveLength(1);
});
