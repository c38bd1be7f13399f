import { describe, expect, it } from 'vitest';
import { parseForkRun } from './fork-request.ts';

const NOTHING = { at: undefined, input: undefined, instructions: undefined };

describe('parseForkRun', () => {
  it.each([{}, { at: null, input: null, instructions: null }, { input: '' }, { input: [] }, { agent: 'x' }])(
    'takes %j for the last event and nothing else',
    (body) => {
      expect(parseForkRun(body)).toEqual(NOTHING);
    },
  );

  it('reads the event, the message and the instructions', () => {
    const body = { at: 0, input: 'Use pnpm.', instructions: '' };
    expect(parseForkRun(body)).toEqual({ at: 0, input: 'Use pnpm.', instructions: '' });
    const content = [{ type: 'input_text', text: 'a' }];
    const message = { role: 'user', content };
    expect(parseForkRun({ input: [message] }).input).toEqual([{ type: 'text', text: 'a' }]);
  });

  it.each([-1, 0.5, '1', true, {}, [], 2 ** 53])('refuses %j as an event', (at) => {
    expect(() => parseForkRun({ at })).toThrow(
      expect.objectContaining({ code: 'invalid_cursor', param: 'at' }),
    );
  });

  it.each([1, { role: 'user', content: 'hi' }, ['a', 'b']])(
    'says what the input may be, and not %j',
    (input) => {
      const message = "'input' of a fork must be a string, or an array of one message";
      expect(() => parseForkRun({ input })).toThrow(expect.objectContaining({ message, param: 'input' }));
    },
  );

  it.each([
    [null, 'body_not_object'],
    [{ input: '  ' }, 'no_user_message'],
    [{ instructions: 1 }, 'invalid_request'],
  ])('refuses %j with %s', (body, code) => {
    expect(() => parseForkRun(body)).toThrow(expect.objectContaining({ code }));
  });
});
