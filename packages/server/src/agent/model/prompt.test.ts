import type { LanguageModelV4Message } from '@ai-sdk/provider';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AssistantPart, Message } from '../../journal/messages.ts';
import { toPrompt } from './prompt.ts';

const user = (content: (Message & { role: 'user' })['content']): Message => ({ role: 'user', content });
const result = (id: string, output: string, is_error = false): Message => ({
  role: 'tool',
  tool_call_id: id,
  tool: 'terminal',
  output,
  is_error,
});

type PromptPart = Exclude<LanguageModelV4Message, { role: 'system' }>['content'][number];

test('all system messages become one, at the start', () => {
  const prompt = toPrompt([
    { role: 'system', content: 'A' },
    user('hi'),
    { role: 'system', content: 'B' },
    { role: 'system', content: '' },
  ]);
  expect(prompt).toEqual([
    { role: 'system', content: 'A\n\nB' },
    { role: 'user', content: [{ type: 'text', text: 'hi' }] },
  ]);
});

test('the results of parallel calls are in one message, with errors marked', () => {
  const prompt = toPrompt([result('a', 'out'), result('b', 'denied', true), user('x'), result('c', '')]);
  expect(prompt.map((message) => message.role)).toEqual(['tool', 'user', 'tool']);
  expect(prompt[0]?.content).toMatchObject([
    { toolCallId: 'a', output: { type: 'text', value: 'out' } },
    { toolCallId: 'b', output: { type: 'error-text', value: 'denied' } },
  ]);
  expect(prompt[2]?.content).toMatchObject([{ output: { type: 'text', value: '(no output)' } }]);
});

test.each([
  ['{"a":1}', { a: 1 }],
  ['', {}],
  ['  ', {}],
  ['{"a":', { malformed_arguments: '{"a":' }],
  ['[1]', { malformed_arguments: '[1]' }],
  ['null', { malformed_arguments: 'null' }],
  ['"text"', { malformed_arguments: '"text"' }],
])('arguments %j become an object', (text, input) => {
  const call: AssistantPart = { type: 'tool_call', id: 'a', tool: 'terminal', arguments: text };
  expect(toPrompt([{ role: 'assistant', content: [call] }])[0]?.content).toMatchObject([{ input }]);
});

test('metadata goes back to its provider, also on a part without text', () => {
  const metadata = { anthropic: { signature: 's' } };
  const content: AssistantPart[] = [
    { type: 'reasoning', text: '', metadata },
    { type: 'tool_call', id: 'a', tool: 't', arguments: '{}', metadata },
  ];
  expect(toPrompt([{ role: 'assistant', content }])[0]?.content).toMatchObject([
    { type: 'reasoning', text: '', providerOptions: metadata },
    { type: 'tool-call', providerOptions: metadata },
  ]);
});

describe('images', () => {
  const image = (url: string) => toPrompt([user([{ type: 'image', url }])])[0]?.content;

  test('by address', () => {
    expect(image('https://example.com/a.PNG?x=1')).toEqual([
      {
        type: 'file',
        mediaType: 'image/png',
        data: { type: 'url', url: new URL('https://example.com/a.PNG?x=1') },
      },
    ]);
    expect(image('http://example.com/photo')).toMatchObject([{ mediaType: 'image/jpeg' }]);
  });

  test('by data', () => {
    expect(image('data:image/gif;base64,R0lGOD')).toEqual([
      { type: 'file', mediaType: 'image/gif', data: { type: 'data', data: 'R0lGOD' } },
    ]);
    expect(image('data:image/svg+xml;charset=utf-8,%3Csvg%2F%3E')).toMatchObject([
      { mediaType: 'image/svg+xml', data: { data: Buffer.from('<svg/>').toString('base64') } },
    ]);
    expect(image('data:image/bmp,BM%ff%00')).toMatchObject([
      { data: { data: Buffer.from([0x42, 0x4d, 0xff, 0]).toString('base64') } },
    ]);
  });

  test.each(['file:///etc/passwd', 'not a url', 'ftp://x/y.png', 'data:broken'])('%s is refused', (url) => {
    expect(() => image(url)).toThrow(
      expect.objectContaining({ code: 'provider_bad_request', retryable: false }),
    );
  });
});

const assistantPart: fc.Arbitrary<AssistantPart> = fc.oneof(
  fc.record({ type: fc.constant('text' as const), text: fc.string() }),
  fc.record({ type: fc.constant('reasoning' as const), text: fc.string() }),
  fc.record({
    type: fc.constant('tool_call' as const),
    id: fc.string(),
    tool: fc.string(),
    arguments: fc.oneof(fc.string(), fc.json()),
  }),
);
const message: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ role: fc.constant('system' as const), content: fc.string() }),
  fc.record({ role: fc.constant('user' as const), content: fc.string() }),
  fc.record({ role: fc.constant('assistant' as const), content: fc.array(assistantPart, { maxLength: 4 }) }),
  fc.record({
    role: fc.constant('tool' as const),
    tool_call_id: fc.string(),
    tool: fc.string(),
    output: fc.string(),
    is_error: fc.boolean(),
  }),
);

test('any conversation gives a prompt the providers accept, with every call and every result in order', () => {
  fc.assert(
    fc.property(fc.array(message), (messages) => {
      const prompt = toPrompt(messages);
      expect(prompt.slice(1).every((item) => item.role !== 'system')).toBe(true);
      expect(prompt.every((item) => item.content.length > 0)).toBe(true);
      expect(prompt.some((item, i) => item.role === 'tool' && prompt[i + 1]?.role === 'tool')).toBe(false);

      const parts = prompt.flatMap((item): PromptPart[] => (item.role === 'system' ? [] : item.content));
      const calls = parts.filter((part) => part.type === 'tool-call');
      expect(calls.every((call) => typeof call.input === 'object' && !Array.isArray(call.input))).toBe(true);
      expect(calls.map((call) => call.toolCallId)).toEqual(
        messages.flatMap((item) =>
          item.role === 'assistant'
            ? item.content.flatMap((part) => (part.type === 'tool_call' ? [part.id] : []))
            : [],
        ),
      );
      expect(parts.filter((part) => part.type === 'tool-result').map((part) => part.toolCallId)).toEqual(
        messages.flatMap((item) => (item.role === 'tool' ? [item.tool_call_id] : [])),
      );
    }),
  );
});
