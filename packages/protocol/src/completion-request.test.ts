import { describe, expect, it } from 'vitest';
import { parseCreateCompletion } from './completion-request.ts';

describe('a prompt', () => {
  it.each(['hello', ['hello']])('may be %j', (prompt) => {
    expect(parseCreateCompletion({ prompt })).toEqual({
      prompt: 'hello',
      model: undefined,
      stream: false,
      echo: false,
    });
  });

  it.each([undefined, null, '', [], ['']])('%j is missing', (prompt) => {
    expect(() => parseCreateCompletion({ prompt })).toThrow(
      expect.objectContaining({ code: 'missing_input' }),
    );
  });

  it.each([5, {}, [1, 2], [['a']], ['a', 'b'], [{}], '  '])('%j is refused', (prompt) => {
    expect(() => parseCreateCompletion({ prompt })).toThrow(
      expect.objectContaining({ code: 'invalid_request', param: 'prompt' }),
    );
  });
});

it.each([
  ['n', 2],
  ['best_of', 3],
  ['suffix', 'end'],
  ['stream', 'yes'],
  ['echo', 1],
  ['model', 5],
])('%s cannot be %j', (name, value) => {
  expect(() => parseCreateCompletion({ prompt: 'x', [name]: value })).toThrow(
    expect.objectContaining({ code: 'invalid_request', param: name }),
  );
});

it('null fields count as absent', () => {
  const nothing = { n: null, best_of: null, suffix: null, stream: null, echo: null, model: null };
  expect(parseCreateCompletion({ prompt: 'x', ...nothing }).prompt).toBe('x');
});
