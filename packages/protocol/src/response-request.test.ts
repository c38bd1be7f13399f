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

describe('what a response is asked for', () => {
  it('is a string, stored and answered in one piece unless said otherwise', () => {
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
    });
  });

  it('takes null for what was not given', () => {
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

  it('keeps what it knows and ignores what tunes a model', () => {
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
    });
  });

  it('names its conversation by itself or by its id', () => {
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
      { role: 'user', content: 'a b' },
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
    expect(parseCreateResponse({ input }).prompt).toBe('a b');
  });

  it.each([
    ['no input', {}, 'missing_input'],
    ['no items', { input: [] }, 'missing_input'],
    ['nothing said', { input: '  ' }, 'no_user_message'],
    ['only calls', { input: [{ type: 'function_call', call_id: 'c', name: 'n' }] }, 'no_user_message'],
    ['an unknown item', { input: [{ type: 'item_reference', id: 'x' }] }, 'invalid_history'],
    ['a bad history', { input: 'hi', conversation_history: 'no' }, 'invalid_history'],
    [
      'both ways to go on',
      { input: 'hi', conversation: 'c', previous_response_id: 'r' },
      'invalid_request',
      'conversation',
    ],
    ['a conversation that is no name', { input: 'hi', conversation: 7 }, 'invalid_request', 'conversation'],
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
    ['a flag that is none', { input: 'hi', stream: 'yes' }, 'invalid_request', 'stream'],
    ['metadata that is a list', { input: 'hi', metadata: ['x'] }, 'invalid_request', 'metadata'],
    ['metadata that is no text', { input: 'hi', metadata: { n: 7 } }, 'invalid_request', 'metadata'],
    ['a call it is to make', { input: 'hi', tool_choice: 'required' }, 'invalid_request', 'tool_choice'],
    ['a form', { input: 'hi', text: { format: { type: 'json_object' } } }, 'invalid_request', 'text'],
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
