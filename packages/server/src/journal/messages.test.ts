import { expect, test } from 'vitest';
import { type Message, recentFrom } from './messages.ts';

const said: Message = { role: 'user', content: 'a' };
const called: Message = {
  role: 'assistant',
  content: [{ type: 'tool_call', id: 'c', tool: 't', arguments: '{}' }],
};
const gave: Message = { role: 'tool', tool_call_id: 'c', tool: 't', output: '', is_error: false };

test.each<[string, Message[], number, number]>([
  ['all, when there are no more', [said, said], 2, 0],
  ['the last of more', [said, said, said], 2, 1],
  ['no results without their calls', [said, called, gave, gave, said], 3, 4],
  ['calls with all their results', [said, called, gave, gave, said], 4, 1],
  ['none, when none could stand alone', [said, called, gave], 1, 3],
  ['none of none', [], 5, 0],
])('the recent messages are %s', (_, messages, max, from) => {
  expect(recentFrom(messages, max)).toBe(from);
});
