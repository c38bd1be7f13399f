import { expect, test } from 'vitest';
import type { Message } from '../journal/messages.ts';
import { contextReach } from './context-reach.ts';

const user: Message = { role: 'user', content: 'x'.repeat(384) };
const call: Message = {
  role: 'assistant',
  content: [{ type: 'tool_call', id: 'c', tool: 'bash', arguments: '{}' }],
};
const result: Message = {
  role: 'tool',
  tool_call_id: 'c',
  tool: 'bash',
  output: 'y'.repeat(384),
  is_error: false,
};
/** As `messageTokens` counts them. */
const TOKENS = 100;

async function reach(messages: Message[], maxTokens: number, from = 0): Promise<[number, number]> {
  let read = 0;
  const found = await contextReach({ from, to: messages.length }, maxTokens, async (range) => {
    const part = messages.slice(range.from, range.to);
    read += part.length;
    return part.map((message, i) => ({ pos: range.from + i, runId: 'run_1', at: 0, message }));
  });
  return [found, read];
}

test('a session that fits is read from where its context begins', async () => {
  const messages = Array.from({ length: 120 }, () => user);
  expect(await reach(messages, 120 * TOKENS)).toEqual([0, 120]);
  expect(await reach(messages, 120 * TOKENS, 70)).toEqual([70, 50]);
  expect(await reach([], 10)).toEqual([0, 0]);
});

test('of one that does not, a little more is read than fits, however long it is', async () => {
  const messages = Array.from({ length: 10_000 }, () => user);
  expect(await reach(messages, 75 * TOKENS)).toEqual([10_000 - 76, 100]);
});

test('it never begins with the result of a tool', async () => {
  const messages = [user, call, result, result, result, user];
  for (const maxTokens of [1.5, 2.5, 3.5]) expect((await reach(messages, maxTokens * TOKENS))[0]).toBe(1);
  expect((await reach(messages, 0.5 * TOKENS))[0]).toBe(5);
});

test('without a limit nothing is read to find out', async () => {
  expect(await reach([user, user], 0)).toEqual([0, 0]);
});
