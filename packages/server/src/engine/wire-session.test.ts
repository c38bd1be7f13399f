import { expect, test } from 'vitest';
import type { Message } from '../journal/messages.ts';
import type { StoredSession } from '../journal/sessions.ts';
import { Secrets } from '../secrets/secrets.ts';
import { toWireMessage, toWireSession } from './wire-session.ts';

const KEY = 'the-servers-own-key';
const secrets = new Secrets([KEY]);
const wire = (message: Message) => toWireMessage('s', { pos: 3, runId: 'run_1', at: 1500, message }, secrets);

test('a message shows its index and its time', () => {
  expect(wire({ role: 'user', content: 'hi' })).toEqual({
    index: 3,
    role: 'user',
    content: 'hi',
    run_id: 'run_1',
    created_at: 1.5,
    id: 3,
    session_id: 's',
    timestamp: 1.5,
  });
});

const SESSION: StoredSession = {
  sessionId: 's',
  createdAt: 1500,
  usedAt: 2500,
  nextPos: 4,
  contextFrom: 2,
  turns: 2,
  lastRunId: 'run_1',
  forkedFrom: 'other',
  title: null,
  systemPrompt: null,
  source: null,
  model: null,
  preview: null,
  endedAt: null,
  endReason: null,
  pinned: false,
  archived: true,
  hidden: false,
  unread: false,
  toolCalls: null,
  inputTokens: 7,
  outputTokens: 3,
};
const wireSession = (session: Partial<StoredSession>) =>
  toWireSession({ ...SESSION, ...session }, 'the-model', secrets);

test('a session has our fields and those of Hermes', () => {
  expect(wireSession({})).toEqual({
    object: 'hermes.session',
    session_id: 's',
    created_at: 1.5,
    updated_at: 2.5,
    message_count: 4,
    context_from: 2,
    turns: 2,
    last_run_id: 'run_1',
    forked_from: 'other',
    id: 's',
    title: null,
    source: 'api_server',
    model: 'the-model',
    user_id: null,
    started_at: 1.5,
    last_active: 2.5,
    ended_at: null,
    end_reason: null,
    parent_session_id: 'other',
    preview: null,
    tool_call_count: null,
    input_tokens: 7,
    output_tokens: 3,
    pinned: false,
    archived: true,
    hidden: false,
    unread: false,
    has_system_prompt: false,
    has_model_config: false,
  });
});

test('a session shows that it has a system prompt, and never the prompt', () => {
  const shown = wireSession({ systemPrompt: 'the rules' });
  expect(shown.has_system_prompt).toBe(true);
  expect(JSON.stringify(shown)).not.toContain('the rules');
});

test("a preview is one line, cut, and without the server's secrets, also at the cut", () => {
  expect(wireSession({ preview: ' two\n\tlines ' }).preview).toBe('two lines');
  expect(wireSession({ preview: 'x'.repeat(500) }).preview).toBe(`${'x'.repeat(80)}…`);
  expect(wireSession({ preview: ' \n' }).preview).toBeNull();
  for (const before of [0, 60, 75]) {
    expect(wireSession({ preview: 'x'.repeat(before) + KEY }).preview).not.toContain(KEY.slice(0, 5));
  }
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

test('text that looks like a credential stays in messages, and is masked in tool arguments and outputs', () => {
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

test('reasoning is left out', () => {
  const content = [
    { type: 'reasoning', text: 'hm' },
    { type: 'text', text: 'yes' },
  ] as const;
  expect(wire({ role: 'assistant', content: [...content] })).toMatchObject({ content: 'yes' });
  expect(JSON.stringify(wire({ role: 'assistant', content: [...content] }))).not.toContain('hm');
});
