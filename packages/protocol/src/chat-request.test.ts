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

  it('are split into the prompt, the history before it, and the instructions in system messages', () => {
    const parsed = parse([
      { role: 'system', content: 'Be brief.' },
      user('one'),
      { role: 'assistant', content: 'two' },
      { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
      user([{ type: 'text', text: 'three' }]),
    ]);
    expect(parsed).toMatchObject({
      prompt: [{ type: 'text', text: 'three' }],
      history: [user('one'), { role: 'assistant', content: 'two' }],
      instructions: 'Be brief.\n\nBe kind.',
      model: undefined,
      stream: false,
    });
  });

  it('may hold images by URL and inline', () => {
    const urls = ['https://example.com/a.png', 'data:image/png;base64,AA=='];
    const parts = urls.map((url) => ({ type: 'image_url', image_url: { url, detail: 'low' } }));
    expect(parse([user(parts)]).prompt).toEqual(urls.map((url) => ({ type: 'image', url })));
    const file = { type: 'image_url', image_url: { url: 'file:///etc/passwd' } };
    expect(() => parse([user([file])])).toThrow(
      expect.objectContaining({ code: 'invalid_request', param: 'messages[0].content[0]' }),
    );
  });

  const asked = (...ids: string[]) => ({
    role: 'assistant',
    content: null,
    tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'weather', arguments: '{}' } })),
  });
  const result = (id: string, content: unknown = `rain in ${id}`) => ({
    role: 'tool',
    tool_call_id: id,
    content,
  });
  const called = (...ids: string[]) => ({
    role: 'assistant',
    content: '',
    tool_calls: ids.map((id) => ({ id, tool: 'weather', arguments: '{}' })),
  });

  it('that end with tool results give outputs, and the calls after the prompt', () => {
    const { prompt, history, followUp, outputs } = parse([
      user('Weather?'),
      asked('a', 'b'),
      result('b'),
      result('a'),
    ]);
    expect({ prompt, history }).toEqual({ prompt: 'Weather?', history: [] });
    expect(outputs).toEqual([
      { toolCallId: 'b', output: 'rain in b', error: false },
      { toolCallId: 'a', output: 'rain in a', error: false },
    ]);
    expect(followUp).toEqual([called('a', 'b'), result('a'), result('b')]);
  });

  it('keep earlier calls with their results, and drop a call or result without its other half', () => {
    const { history, followUp, outputs } = parse([
      user('one'),
      asked('a', 'lost'),
      result('a'),
      { role: 'assistant', content: 'It rains' },
      asked('never answered'),
      result('of no call'),
      user('two'),
    ]);
    expect(history).toEqual([
      user('one'),
      called('a'),
      result('a'),
      { role: 'assistant', content: 'It rains' },
      user('rain in of no call'),
    ]);
    expect({ followUp, outputs }).toEqual({ followUp: undefined, outputs: [] });
  });

  it('give the prompt when there are only system messages', () => {
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

  it('after the last user message are left out', () => {
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
  it('set the model settings, under each of their names', () => {
    const { settings } = parse([user('x')], {
      temperature: 0.5,
      max_tokens: 7,
      stop: 'END',
      reasoning_effort: 'low',
    });
    expect(settings).toEqual({
      temperature: 0.5,
      max_output_tokens: 7,
      stop: ['END'],
      reasoning_effort: 'low',
    });
    expect(parse([user('x')], { temperature: null }).settings).toBeUndefined();
  });

  it("set the client's tools, and which of them the model has to call", () => {
    const tools = [{ type: 'function', function: { name: 'f' } }];
    const f = { name: 'f', description: '', parameters: { type: 'object', properties: {} } };
    expect(parse([user('x')], { tools }).clientTools).toEqual({ tools: [f], choice: 'auto', parallel: true });
    expect(parse([user('x')], { tools, tool_choice: 'none' }).clientTools).toBeUndefined();
    expect(
      parse([user('x')], { functions: [{ name: 'f' }], function_call: { name: 'f' } }).clientTools,
    ).toMatchObject({
      tools: [f],
      choice: { name: 'f' },
    });
  });

  it('set the output format', () => {
    const schema = { type: 'object' };
    const json_schema = { name: 'thing', schema, strict: true };
    expect(parse([user('x')], { response_format: { type: 'json_schema', json_schema } }).outputForm).toEqual({
      name: 'thing',
      schema,
      strict: true,
    });
    expect(parse([user('x')], { response_format: { type: 'json_object' } }).outputForm).toEqual({});
  });

  it('are ignored where the agent decides itself', () => {
    const fields = {
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
    ['temperature', 3],
    ['max_tokens', -1],
    ['stream', 'yes'],
    ['model', 5],
  ])('%s: %j is refused, because the client would wait for something it never gets', (param, value) => {
    expect(() => parse([user('x')], { [param]: value })).toThrow(
      expect.objectContaining({ code: 'invalid_request', param }),
    );
  });

  it('that are null count as absent', () => {
    const fields = { n: null, tool_choice: null, response_format: null, stream: null, model: null };
    expect(parse([user('x')], fields)).toMatchObject({ model: undefined, stream: false });
  });
});
