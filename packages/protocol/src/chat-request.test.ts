import { describe, expect, it } from 'vitest';
import { parseCreateChat } from './chat-request.ts';

const user = (content: unknown) => ({ role: 'user', content });
const parse = (messages: unknown, fields: object = {}) => parseCreateChat({ messages, ...fields });

describe('messages', () => {
  it.each([undefined, null, [], 'hello', {}])('%o are missing or invalid', (messages) => {
    expect(() => parse(messages)).toThrow(
      expect.objectContaining({ code: 'missing_messages', message: "Missing or invalid 'messages' field" }),
    );
  });

  it('are the prompt, what was said before it, and instructions from wherever the system speaks', () => {
    const parsed = parse([
      { role: 'system', content: 'Be brief.' },
      user('one'),
      { role: 'assistant', content: 'two' },
      { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
      user([{ type: 'text', text: 'three' }]),
    ]);
    expect(parsed).toEqual({
      prompt: [{ type: 'text', text: 'three' }],
      history: [user('one'), { role: 'assistant', content: 'two' }],
      instructions: 'Be brief.\n\nBe kind.',
      model: undefined,
      stream: false,
    });
  });

  it('hold images by address and in themselves', () => {
    const urls = ['https://example.com/a.png', 'data:image/png;base64,AA=='];
    const parts = urls.map((url) => ({ type: 'image_url', image_url: { url, detail: 'low' } }));
    expect(parse([user(parts)]).prompt).toEqual(urls.map((url) => ({ type: 'image', url })));
    const file = { type: 'image_url', image_url: { url: 'file:///etc/passwd' } };
    expect(() => parse([user([file])])).toThrow(
      expect.objectContaining({ code: 'invalid_request', param: 'messages[0].content[0]' }),
    );
  });

  it('of tools that a client ran are read as its words, and calls without words left out', () => {
    const { prompt, history } = parse([
      user('What is the weather?'),
      { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'weather' } }] },
      { role: 'tool', tool_call_id: 'a', content: 'rain' },
    ]);
    expect({ prompt, history }).toEqual({ prompt: 'rain', history: [user('What is the weather?')] });
  });

  it('of the system alone are the prompt', () => {
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'developer', content: 'Say hello.' },
    ];
    expect(parse(messages)).toMatchObject({
      prompt: 'Be brief.\n\nSay hello.',
      history: [],
      instructions: undefined,
    });
  });

  it('after the last one of the user are left out', () => {
    expect(parse([user('one'), { role: 'assistant', content: 'tw' }])).toMatchObject({
      prompt: 'one',
      history: [],
    });
  });

  it.each([
    [[{ role: 'assistant', content: 'x' }], 'no_user_message'],
    [[{ role: 'system', content: ' ' }], 'no_user_message'],
    [[user('  ')], 'no_user_message'],
    [['hello'], 'invalid_history'],
    [[{ role: 'user' }], 'invalid_history'],
    [[{ content: 'x' }], 'invalid_history'],
    [[user(7)], 'invalid_request'],
    [[user([{ type: 'input_audio', input_audio: {} }])], 'invalid_request'],
  ])('%j are refused', (messages, code) => {
    expect(() => parse(messages)).toThrow(expect.objectContaining({ code }));
  });
});

describe('other fields', () => {
  it('are ignored where the agent has its own way', () => {
    const fields = {
      temperature: 3,
      max_tokens: -1,
      tools: [{ type: 'function', function: { name: 'f' } }],
      tool_choice: 'auto',
      stream_options: { include_usage: true },
      response_format: { type: 'text' },
      n: 1,
      user: {},
    };
    expect(parse([user('x')], { ...fields, model: 'gpt-7', stream: true })).toMatchObject({
      prompt: 'x',
      model: 'gpt-7',
      stream: true,
    });
  });

  it.each([
    ['n', 2],
    ['tool_choice', 'required'],
    ['tool_choice', { type: 'function', function: { name: 'f' } }],
    ['response_format', { type: 'json_object' }],
    ['stream', 'yes'],
    ['model', 5],
  ])('%s: %j is refused, since its client would wait in vain', (param, value) => {
    expect(() => parse([user('x')], { [param]: value })).toThrow(
      expect.objectContaining({ code: 'invalid_request', param }),
    );
  });

  it('that are null are absent', () => {
    const fields = { n: null, tool_choice: null, response_format: null, stream: null, model: null };
    expect(parse([user('x')], fields)).toMatchObject({ model: undefined, stream: false });
  });
});
