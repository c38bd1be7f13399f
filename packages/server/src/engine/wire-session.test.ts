import { expect, test } from 'vitest';
import type { Message } from '../journal/messages.ts';
import { redactSecrets } from '../redact-secrets.ts';
import { maskSecrets } from '../secret-filter.ts';
import { toWireMessage } from './wire-session.ts';

const KEY = 'the-servers-own-key';
const masks = {
  mask: (text: string) => redactSecrets(text, [KEY]),
  maskKnown: (text: string) => maskSecrets(text, [KEY]),
};
const wire = (message: Message) => toWireMessage({ pos: 3, runId: 'run_1', at: 1500, message }, masks);

test('a message says where and when it was said', () => {
  expect(wire({ role: 'user', content: 'hi' })).toEqual({
    index: 3,
    role: 'user',
    content: 'hi',
    run_id: 'run_1',
    created_at: 1.5,
  });
});

test.each<Message>([
  { role: 'system', content: `is ${KEY}` },
  { role: 'user', content: `is ${KEY}` },
  { role: 'user', content: [{ type: 'text', text: `is ${KEY}` }] },
  { role: 'user', content: [{ type: 'image', url: `https://images.example/a.png?key=${KEY}` }] },
  { role: 'assistant', content: [{ type: 'text', text: `is ${KEY}` }] },
  {
    role: 'assistant',
    content: [{ type: 'tool_call', id: 'c', tool: 'bash', arguments: `{"command":"echo ${KEY}"}` }],
  },
  {
    role: 'assistant',
    content: [{ type: 'tool_call', id: 'c', tool: 'bash', arguments: `{"broken ${KEY}` }],
  },
  { role: 'tool', tool_call_id: 'c', tool: 'bash', output: `is ${KEY}`, is_error: false },
])('no message shows a secret of the server: %j', (message) => {
  const shown = JSON.stringify(wire(message));
  expect(shown).not.toContain(KEY);
  expect(shown).toContain('[redacted]');
});

test('what looks like a credential stays in what was said, and goes from what tools were given and gave', () => {
  const credential = 'sk-somebody-elses';
  expect(wire({ role: 'user', content: credential }).content).toBe(credential);
  expect(wire({ role: 'assistant', content: [{ type: 'text', text: credential }] }).content).toBe(credential);
  const call = {
    type: 'tool_call',
    id: 'c',
    tool: 'bash',
    arguments: `{"command":"${credential}"}`,
  } as const;
  const { tool_calls, content } = wire({ role: 'assistant', content: [call] });
  expect(content).toBeNull();
  expect(JSON.parse(tool_calls![0]!.function.arguments)).toEqual({ command: '[redacted]' });
  const result: Message = {
    role: 'tool',
    tool_call_id: 'c',
    tool: 'bash',
    output: credential,
    is_error: true,
  };
  expect(wire(result)).toMatchObject({ content: '[redacted]', tool_call_id: 'c', name: 'bash' });
});

test('what the model thought is left out', () => {
  const content = [
    { type: 'reasoning', text: 'hm' },
    { type: 'text', text: 'yes' },
  ] as const;
  expect(wire({ role: 'assistant', content: [...content] })).toMatchObject({ content: 'yes' });
  expect(JSON.stringify(wire({ role: 'assistant', content: [...content] }))).not.toContain('hm');
});
