import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TalariaError } from './errors.ts';
import { parseCreateResponse } from './response-request.ts';

function refusal(body: unknown): Pick<TalariaError, 'code' | 'message' | 'param'> {
  try {
    parseCreateResponse(body);
  } catch (error) {
    if (!(error instanceof TalariaError)) throw error;
    return { code: error.code, message: error.message, param: error.param };
  }
  throw new Error('was accepted');
}

describe('a request for a response', () => {
  it('is a string, stored and not streamed by default', () => {
    expect(parseCreateResponse({ input: 'hi' })).toEqual({
      prompt: 'hi',
      history: undefined,
      leadIn: undefined,
      instructions: undefined,
      model: undefined,
      previousResponseId: undefined,
      conversation: undefined,
      store: true,
      background: false,
      stream: false,
      truncation: 'disabled',
      metadata: {},
      followUp: undefined,
      outputs: [],
      promptIsLast: true,
      clientTools: undefined,
      outputForm: undefined,
      settings: undefined,
    });
  });

  it('takes null as absent', () => {
    const nothing = {
      instructions: null,
      previous_response_id: null,
      conversation: null,
      conversation_history: null,
      store: null,
      background: null,
      stream: null,
      truncation: null,
      metadata: null,
    };
    expect(parseCreateResponse({ input: 'hi', ...nothing })).toEqual(parseCreateResponse({ input: 'hi' }));
  });

  it('keeps the fields it knows and ignores tools that only OpenAI could run', () => {
    const request = {
      input: 'hi',
      model: 'gpt-9',
      temperature: 2,
      tools: [{ type: 'web_search' }],
      instructions: 'be brief',
      store: true,
      background: true,
      stream: true,
      truncation: 'auto',
      metadata: { order: '7' },
      previous_response_id: 'resp_1',
    };
    expect(parseCreateResponse(request)).toEqual({
      prompt: 'hi',
      history: undefined,
      leadIn: undefined,
      instructions: 'be brief',
      model: 'gpt-9',
      previousResponseId: 'resp_1',
      conversation: undefined,
      store: true,
      background: true,
      stream: true,
      truncation: 'auto',
      metadata: { order: '7' },
      followUp: undefined,
      outputs: [],
      promptIsLast: true,
      clientTools: undefined,
      outputForm: undefined,
      settings: { temperature: 2 },
    });
  });

  it('names its conversation as a string or as an object with an id', () => {
    expect(parseCreateResponse({ input: 'hi', conversation: 'c1' }).conversation).toBe('c1');
    expect(parseCreateResponse({ input: 'hi', conversation: { id: 'c1' } }).conversation).toBe('c1');
    expect(parseCreateResponse({ input: 'hi', conversation: '' }).conversation).toBeUndefined();
  });

  it('may have the items of an earlier response among its messages', () => {
    const { prompt, history, leadIn } = parseCreateResponse({
      input: [
        { role: 'user', content: 'list them' },
        { type: 'reasoning', id: 'rs_1', summary: [] },
        { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'bash', arguments: '{}' },
        { type: 'function_call_output', id: 'fco_1', call_id: 'c1', output: 'a b' },
        { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'two' }] },
        { role: 'user', content: [{ type: 'input_text', text: 'sure?' }] },
      ],
    });
    expect(prompt).toEqual([{ type: 'text', text: 'sure?' }]);
    expect(history).toBeUndefined();
    expect(leadIn).toEqual([
      { role: 'user', content: 'list them' },
      { role: 'assistant', content: '', tool_calls: [{ id: 'c1', tool: 'bash', arguments: '{}' }] },
      { role: 'tool', content: 'a b', tool_call_id: 'c1' },
      { role: 'assistant', content: [{ type: 'text', text: 'two' }] },
    ]);
  });

  it('prefers conversation_history over earlier messages', () => {
    const [given, earlier, now] = ['given', 'earlier', 'now'].map((content) => ({ role: 'user', content }));
    const request = { input: [earlier, now], conversation_history: [given] };
    expect(parseCreateResponse(request)).toMatchObject({
      prompt: 'now',
      history: [given],
      leadIn: undefined,
    });
  });

  it('may be the result of a call', () => {
    const input = [{ type: 'function_call_output', call_id: 'c1', output: 'a b' }];
    expect(parseCreateResponse({ input })).toMatchObject({
      prompt: 'a b',
      outputs: [{ toolCallId: 'c1', output: 'a b', error: false }],
      promptIsLast: false,
    });
    const empty = [{ type: 'function_call_output', call_id: 'c1', output: '' }];
    expect(parseCreateResponse({ input: empty }).outputs).toHaveLength(1);
  });

  it('may end with calls and their outputs, as text or as parts', () => {
    const { prompt, followUp, outputs } = parseCreateResponse({
      input: [
        { role: 'user', content: 'weather?' },
        { type: 'function_call', call_id: 'c1', name: 'get', arguments: '{"a":1}' },
        { type: 'function_call', call_id: 'c2', name: 'get', arguments: '{"a":2}' },
        { type: 'function_call_output', call_id: 'c1', output: 'snow' },
        { type: 'function_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'sun' }] },
      ],
    });
    expect(prompt).toBe('weather?');
    expect(followUp).toMatchObject([
      { role: 'assistant', tool_calls: [{ id: 'c1', tool: 'get', arguments: '{"a":1}' }, { id: 'c2' }] },
      { role: 'tool', tool_call_id: 'c1', content: 'snow' },
      { role: 'tool', tool_call_id: 'c2', content: 'sun' },
    ]);
    expect(outputs.map(({ toolCallId, output }) => [toolCallId, output])).toEqual([
      ['c1', 'snow'],
      ['c2', 'sun'],
    ]);
  });

  it('may have a message after the outputs; outputs of an earlier turn do not count', () => {
    const output = { type: 'function_call_output', call_id: 'c1', output: 'snow' };
    const more = { role: 'user', content: 'in Celsius' };
    expect(parseCreateResponse({ input: [output, more] })).toMatchObject({
      prompt: 'in Celsius',
      promptIsLast: true,
      outputs: [{ toolCallId: 'c1' }],
    });
    const answer = { role: 'assistant', content: 'it snows' };
    expect(parseCreateResponse({ input: [output, answer, more] }).outputs).toEqual([]);
  });

  it('takes every item type of OpenAI, and leaves out those that no model could use', () => {
    const items = [
      { type: 'mcp_list_tools', id: 'm', server_label: 'x', tools: [] },
      { type: 'mcp_approval_request', id: 'a', name: 'x', arguments: '{}', server_label: 'x' },
      { type: 'mcp_approval_response', approval_request_id: 'a', approve: true },
      { type: 'web_search_call', id: 'w', status: 'completed' },
      { type: 'file_search_call', id: 'f', queries: ['x'], status: 'completed' },
      { type: 'image_generation_call', id: 'i', result: null, status: 'completed' },
      { type: 'computer_call', id: 'c', call_id: 'k1', action: { type: 'click' } },
      { type: 'computer_call_output', call_id: 'k1', output: { type: 'computer_screenshot' } },
      { type: 'local_shell_call', id: 'l', call_id: 'k2', action: { command: ['ls'] } },
      { type: 'local_shell_call_output', id: 'l2', output: 'a' },
      { type: 'custom_tool_call', call_id: 'k3', name: 'sql', input: 'SELECT 1' },
      { type: 'custom_tool_call_output', call_id: 'k3', output: '1' },
      { type: 'mcp_call', id: 'mcp_1', name: 'terminal', arguments: '{"command":"ls"}', output: 'a' },
      { type: 'mcp_call', id: 'mcp_2', name: 'terminal', arguments: '{}', output: null, error: 'no' },
      { type: 'code_interpreter_call', id: 'ci', code: '1+1', outputs: [{ type: 'logs', logs: '2' }] },
      { type: 'compaction', encrypted_content: 'x' },
      { type: 'something_new', whatever: 1 },
      { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'I cannot' }] },
    ];
    const { leadIn } = parseCreateResponse({ input: [...items, { role: 'user', content: 'now' }] });
    expect(leadIn!.map(({ role }) => role)).toEqual([
      ...['assistant', 'tool', 'assistant', 'tool', 'assistant', 'tool'],
      ...['assistant', 'tool', 'assistant', 'tool', 'assistant'],
    ]);
    expect(leadIn!.at(-1)!.content).toEqual([{ type: 'text', text: 'I cannot' }]);
    expect(leadIn!.flatMap(({ tool_calls = [] }) => tool_calls).slice(1)).toEqual([
      { id: 'k3', tool: 'sql', arguments: '{"input":"SELECT 1"}' },
      { id: 'mcp_1', tool: 'terminal', arguments: '{"command":"ls"}' },
      { id: 'mcp_2', tool: 'terminal', arguments: '{}' },
      { id: 'ci', tool: 'code_interpreter', arguments: '{"code":"1+1"}' },
    ]);
    expect(leadIn!.find(({ tool_call_id: id }) => id === 'mcp_2')).toMatchObject({ content: 'no' });
  });

  it.each([
    [{ type: 'input_file', file_url: 'https://example.com/x' }, /'file_url'; upload it/],
    [{ type: 'input_file', filename: 'x' }, /either 'file_id' or 'file_data'/],
    [{ type: 'input_file', file_data: 'no base64!' }, /neither base64 nor a data URL/],
    [{ type: 'input_audio', input_audio: { data: '', format: 'wav' } }, /audio, which is not supported/],
    [{ type: 'input_image', file_id: 'file-1' }, /'file_id'/],
  ])('names what it does not support: %o', (part, message) => {
    const answer = refusal({ input: [{ role: 'user', content: [part] }] });
    expect(answer).toMatchObject({ code: 'invalid_request', param: 'input[0].content[0]' });
    expect(answer.message).toMatch(message);
  });

  it('ignores custom tools, which Codex offers beside functions', () => {
    const custom = {
      type: 'custom',
      name: 'apply_patch',
      format: { type: 'grammar', syntax: 'lark', definition: 'x' },
    };
    const tools = [custom, { type: 'function', name: 'get', parameters: { type: 'object' } }];
    const offered = { tools: [{ name: 'get' }], choice: 'auto' };
    for (const tool_choice of [undefined, 'auto', { type: 'custom', name: 'apply_patch' }]) {
      expect(parseCreateResponse({ input: 'hi', tools, tool_choice })).toMatchObject({
        clientTools: offered,
      });
    }
    expect(parseCreateResponse({ input: 'hi', tools: [custom] }).clientTools).toBeUndefined();
  });

  it('may ask for an output format, tools and model settings', () => {
    const tool = { type: 'function', name: 'get', parameters: { type: 'object' } };
    expect(
      parseCreateResponse({
        input: 'hi',
        tools: [tool, { type: 'web_search' }],
        tool_choice: { type: 'function', name: 'get' },
        text: { format: { type: 'json_schema', name: 'a', schema: { type: 'object' } }, verbosity: 'low' },
        reasoning: { effort: 'high', summary: 'auto' },
        max_output_tokens: 100,
      }),
    ).toMatchObject({
      clientTools: { tools: [{ name: 'get' }], choice: { name: 'get' }, parallel: true },
      outputForm: { name: 'a', schema: { type: 'object' } },
      settings: { verbosity: 'low', reasoning_effort: 'high', max_output_tokens: 100 },
    });
  });

  it.each([
    ['no input', {}, 'missing_input'],
    ['no items', { input: [] }, 'missing_input'],
    ['nothing said', { input: '  ' }, 'no_user_message'],
    ['only calls', { input: [{ type: 'function_call', call_id: 'c', name: 'n' }] }, 'no_user_message'],
    ['an invalid item', { input: [{ whatever: 1 }] }, 'invalid_history'],
    ['only reasoning', { input: [{ type: 'reasoning', id: 'x' }] }, 'no_user_message'],
    ['a bad history', { input: 'hi', conversation_history: 'no' }, 'invalid_history'],
    [
      'both ways to continue',
      { input: 'hi', conversation: 'c', previous_response_id: 'r' },
      'invalid_request',
      'conversation',
    ],
    [
      'a conversation that is not a name',
      { input: 'hi', conversation: 7 },
      'invalid_request',
      'conversation',
    ],
    ['one without an id', { input: 'hi', conversation: {} }, 'invalid_request', 'conversation'],
    [
      'one that is too long',
      { input: 'hi', conversation: 'x'.repeat(257) },
      'invalid_request',
      'conversation',
    ],
    [
      'background, not stored',
      { input: 'hi', background: true, store: false },
      'invalid_request',
      'background',
    ],
    ['another truncation', { input: 'hi', truncation: 'some' }, 'invalid_request', 'truncation'],
    ['a flag that is not a boolean', { input: 'hi', stream: 'yes' }, 'invalid_request', 'stream'],
    ['metadata that is a list', { input: 'hi', metadata: ['x'] }, 'invalid_request', 'metadata'],
    ['metadata that is not text', { input: 'hi', metadata: { n: 7 } }, 'invalid_request', 'metadata'],
    ['a call it is to make', { input: 'hi', tool_choice: 'required' }, 'invalid_request', 'tool_choice'],
    ['an unknown output format', { input: 'hi', text: { format: { type: 'xml' } } }, 'invalid_output_schema'],
    ['a template', { input: 'hi', prompt: { id: 'pmpt_1' } }, 'invalid_request', 'prompt'],
    [
      'too much metadata',
      { input: 'hi', metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, ''])) },
      'invalid_request',
      'metadata',
    ],
  ])('is refused with %s', (_, body, code, param = expect.anything()) => {
    expect(refusal(body)).toMatchObject({ code, param });
  });

  it('is read or refused with a code, whatever comes', () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true }), fc.anything(), (input, other) => {
        try {
          parseCreateResponse({ input, conversation: other, metadata: other, truncation: other });
        } catch (error) {
          expect(error).toBeInstanceOf(TalariaError);
        }
      }),
    );
  });
});
