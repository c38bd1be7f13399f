import { describe, expect, it } from 'vitest';
import { TalariaError } from './errors.ts';
import { parseCreateRun } from './requests.ts';

function refusal(body: unknown): { code: string; message: string } {
  try {
    parseCreateRun(body);
  } catch (error) {
    if (!(error instanceof TalariaError)) throw error;
    return { code: error.code, message: error.message };
  }
  throw new Error('was accepted');
}

const user = (content: unknown) => ({ role: 'user', content });
const image = (url: unknown) => ({ type: 'image_url', image_url: { url } });

describe('a request for a run', () => {
  it('is a string', () => {
    expect(parseCreateRun({ input: 'hi' })).toEqual({
      prompt: 'hi',
      history: undefined,
      instructions: undefined,
      sessionId: undefined,
      previousResponseId: undefined,
    });
  });

  it('keeps the other fields it knows and ignores the rest', () => {
    const request = {
      input: 'hi',
      instructions: 'be brief',
      session_id: 's1',
      previous_response_id: 'resp_1',
      model: 7,
      metadata: {},
    };
    expect(parseCreateRun(request)).toEqual({
      prompt: 'hi',
      history: undefined,
      instructions: 'be brief',
      sessionId: 's1',
      previousResponseId: 'resp_1',
    });
  });

  it('takes the last of several messages as the prompt, and the earlier ones as history', () => {
    const { prompt, history } = parseCreateRun({
      input: [
        { role: 'system', content: 'S' },
        user('a'),
        { role: 'assistant', content: 'b' },
        'c',
        user('d'),
      ],
    });
    expect(prompt).toBe('d');
    expect(history).toEqual([
      { role: 'system', content: 'S' },
      user('a'),
      { role: 'assistant', content: 'b' },
      user('c'),
    ]);
  });

  it('continues a response with all its messages, unless a history is given', () => {
    const request = { input: [user('a'), user('b')], previous_response_id: 'resp_1' };
    expect(parseCreateRun(request)).toMatchObject({
      prompt: 'b',
      history: undefined,
      leadIn: [user('a')],
    });
    expect(parseCreateRun({ ...request, conversation_history: [user('h')] })).toMatchObject({
      history: [user('h')],
      leadIn: undefined,
    });
  });

  it('has no history when there is only one message', () => {
    expect(parseCreateRun({ input: [user('a')] }).history).toBeUndefined();
  });

  it('prefers conversation_history over earlier messages', () => {
    const { prompt, history } = parseCreateRun({
      input: [user('earlier'), user('now')],
      conversation_history: [user('given')],
    });
    expect([prompt, history]).toEqual(['now', [user('given')]]);
  });

  it.each([[[]], [null], [undefined]])('takes conversation_history %j as absent', (conversation_history) => {
    const { history } = parseCreateRun({ input: [user('earlier'), user('now')], conversation_history });
    expect(history).toEqual([user('earlier')]);
  });

  it('reads null as absent everywhere', () => {
    expect(
      parseCreateRun({
        input: 'hi',
        instructions: null,
        conversation_history: null,
        session_id: null,
        previous_response_id: null,
      }),
    ).toEqual(parseCreateRun({ input: 'hi' }));
  });

  it('leaves out messages without content, such as those that only called tools', () => {
    const blank = [
      { role: 'assistant', content: null },
      user('  '),
      user([]),
      user([{ type: 'text', text: ' ' }]),
    ];
    expect(parseCreateRun({ input: [...blank, user('x')] }).history).toBeUndefined();
    expect(parseCreateRun({ input: 'x', conversation_history: [...blank, user('y')] }).history).toEqual([
      user('y'),
    ]);
  });

  it.each([
    ['developer', 'system'],
    ['system', 'system'],
    ['assistant', 'assistant'],
    ['user', 'user'],
    ['tool', 'user'],
    ['anything', 'user'],
  ])('reads the role %s as %s', (role, expected) => {
    const { history } = parseCreateRun({ input: 'x', conversation_history: [{ role, content: 'y' }] });
    expect(history).toEqual([{ role: expected, content: 'y' }]);
  });

  it('takes content parts of every dialect', () => {
    const parts = [
      'a',
      { type: 'text', text: 'b' },
      { type: 'input_text', text: 'c' },
      { type: 'output_text', text: 'd' },
      { type: 'summary_text', text: 'e' },
      { type: 'reasoning_text', text: 'f' },
      image('https://host/e.png'),
      { type: 'image_url', image_url: 'HTTP://host/f.png' },
      { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
      { type: 'computer_screenshot', image_url: 'data:image/png;base64,BBBB' },
    ];
    expect(parseCreateRun({ input: [user(parts)] }).prompt).toEqual([
      ...['a', 'b', 'c', 'd', 'e', 'f'].map((text) => ({ type: 'text', text })),
      ...[
        'https://host/e.png',
        'HTTP://host/f.png',
        'data:image/png;base64,AAAA',
        'data:image/png;base64,BBBB',
      ].map((url) => ({
        type: 'image',
        url,
      })),
    ]);
  });

  it('takes a message that has only an image', () => {
    expect(parseCreateRun({ input: [user([image('https://host/a.png')])] }).prompt).toHaveLength(1);
  });

  it('takes an empty session_id as absent, and one of 256 characters as valid', () => {
    expect(parseCreateRun({ input: 'x', session_id: '' }).sessionId).toBeUndefined();
    expect(parseCreateRun({ input: 'x', session_id: 's'.repeat(256) }).sessionId).toHaveLength(256);
  });
});

describe('a request for a run is refused', () => {
  const missing = { code: 'missing_input', message: "Missing 'input' field" };
  const noUser = { code: 'no_user_message', message: 'No user message found in input' };
  const noArray = {
    code: 'invalid_history',
    message: "'conversation_history' must be an array of message objects",
  };
  const badEntry = (i: number) => ({
    code: 'invalid_history',
    message: `conversation_history[${i}] must have 'role' and 'content' fields`,
  });

  it.each([null, 1, 'x', []])('because the body is %j', (body) => {
    expect(refusal(body).code).toBe('body_not_object');
  });

  it.each([{}, { input: null }, { input: '' }, { input: [] }])(
    'because input is missing or empty: %j',
    (body) => {
      expect(refusal(body)).toEqual(missing);
    },
  );

  it.each([
    '  \n',
    [user('')],
    [user(null)],
    [user([])],
    [user('earlier'), user(' ')],
    [user([{ type: 'text', text: '' }])],
  ])('because input has no user message: %j', (input) => {
    expect(refusal({ input })).toEqual(noUser);
  });

  it.each([true, 5, {}])('because input is neither text nor messages: %j', (input) => {
    expect(refusal({ input })).toEqual({
      code: 'invalid_request',
      message: "'input' must be a string or an array of messages",
    });
  });

  it.each(['x', 5, {}, true])('because conversation_history is %j', (conversation_history) => {
    expect(refusal({ input: 'x', conversation_history })).toEqual(noArray);
  });

  it.each([null, 'text', {}, { role: 'user' }, { content: 'x' }, { role: 5, content: 'x' }, []])(
    'because the second entry of the history is %j',
    (entry) => {
      expect(refusal({ input: 'x', conversation_history: [user('a'), entry] })).toEqual(badEntry(1));
    },
  );

  it.each([[5], [null], [{ role: 'user' }]])('because input has the message %j', (entry) => {
    expect(refusal({ input: [user('a'), entry] }).message).toBe(
      "input[1] must have 'role' and 'content' fields",
    );
  });

  it.each([
    5,
    { type: 'text' },
    { type: 'text', text: 5 },
    { type: 'video', text: 'x' },
    image('file:///etc/passwd'),
    image('javascript:alert(1)'),
    image('data:text/html,x'),
    image(5),
    { type: 'image_url' },
    { type: 'image_url', image_url: null },
  ])('because of the content part %j', (part) => {
    expect(refusal({ input: [user(['ok', part])] })).toEqual({
      code: 'invalid_request',
      message: 'input[0].content[1] must be a text part or an image part with an http(s) or data:image URL',
    });
  });

  it('because content is an object', () => {
    expect(refusal({ input: 'x', conversation_history: [user({})] }).message).toBe(
      'conversation_history[0].content must be a string or an array of content parts',
    );
  });

  it.each(['instructions', 'session_id', 'previous_response_id'])('because %s is not a string', (name) => {
    expect(refusal({ input: 'x', [name]: 5 })).toEqual({
      code: 'invalid_request',
      message: `'${name}' must be a string`,
    });
  });

  it.each(['s'.repeat(257), 'a\nb', '\0', '\x9f'])('because of the session_id %j', (session_id) => {
    expect(refusal({ input: 'x', session_id }).message).toBe(
      "'session_id' must have at most 256 characters and no control characters",
    );
  });

  it('for the first reason in the order of PROTOCOL.md', () => {
    const wrong = { conversation_history: 'x', session_id: 5 };
    expect(refusal({ ...wrong })).toEqual(missing);
    expect(refusal({ ...wrong, input: ' ' })).toEqual(noUser);
    expect(refusal({ ...wrong, input: 'x' })).toEqual(noArray);
    expect(refusal({ ...wrong, input: 'x', conversation_history: [{}] })).toEqual(badEntry(0));
  });
});
