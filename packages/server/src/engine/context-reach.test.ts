import { expect, test } from 'vitest';
import type { Message } from '../journal/messages.ts';
import type { ContextRange } from '../journal/records.ts';
import { contextReach, copyReach } from './context-reach.ts';

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

/** The reach in a session with these messages. */
function reader(messages: readonly Message[]) {
  const reads: number[] = [];
  const read = async (range: ContextRange) => {
    const part = messages.slice(range.from, range.to);
    reads.push(part.length);
    return part.map((message, i) => ({ pos: range.from + i, runId: 'run_1', at: 0, message }));
  };
  return { read, count: () => reads.reduce((sum, length) => sum + length, 0) };
}

async function reach(messages: Message[], maxTokens: number, from = 0): Promise<[number, number]> {
  const { read, count } = reader(messages);
  const { range, skipped } = await contextReach({ from, to: messages.length }, { maxTokens }, read);
  expect([range.to, skipped]).toEqual([messages.length, range.from - from]);
  return [range.from, count()];
}

test('a session that fits is read from where its context begins', async () => {
  const messages = Array.from({ length: 120 }, () => user);
  expect(await reach(messages, 120 * TOKENS)).toEqual([0, 120]);
  expect(await reach(messages, 120 * TOKENS, 70)).toEqual([70, 50]);
  expect(await reach([], 10)).toEqual([0, 0]);
});

test('of a longer session, only a little more is read than fits, however long it is', async () => {
  const messages = Array.from({ length: 10_000 }, () => user);
  expect(await reach(messages, 75 * TOKENS)).toEqual([10_000 - 76, 110]);
  expect(await reach(messages, 2 * TOKENS)).toEqual([10_000 - 3, 4]);
});

test('it never begins with the result of a tool', async () => {
  const messages = [user, call, result, result, result, user];
  for (const maxTokens of [1.5, 2.5, 3.5]) expect((await reach(messages, maxTokens * TOKENS))[0]).toBe(1);
  expect((await reach(messages, 0.5 * TOKENS))[0]).toBe(5);
});

test('without a limit no messages are read', async () => {
  expect(await reach([user, user], 0)).toEqual([0, 0]);
});

test('a request for only the last messages skips none of the others', async () => {
  const { read } = reader([user, call, result, user, user]);
  const said = { from: 0, to: 5 };
  const limits = (maxMessages: number) => ({ maxTokens: 100 * TOKENS, maxMessages });
  expect(await contextReach(said, limits(3), read)).toEqual({ range: { from: 3, to: 5 }, skipped: 0 });
  expect(await contextReach(said, limits(9), read)).toEqual({ range: said, skipped: 0 });
  expect(await contextReach(said, limits(0), read)).toEqual({ range: { from: 5, to: 5 }, skipped: 0 });
});

test('a copy holds only what is within reach, and nothing that was deleted meanwhile', async () => {
  const messages = Array.from({ length: 10_000 }, () => user);
  const { read, count } = reader(messages);
  const { messages: copied, skipped } = await copyReach(
    { from: 0, to: 10_000 },
    { maxTokens: 75 * TOKENS },
    read,
  );
  expect([copied.length, skipped]).toEqual([76, 10_000 - 76]);
  expect(count()).toBe(110 + 76);
  await expect(copyReach({ from: 0, to: 5 }, { maxTokens: 0 }, reader([]).read)).rejects.toMatchObject({
    code: 'session_not_found',
  });
});
