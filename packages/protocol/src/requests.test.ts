import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ApiErrorCode, TalariaError } from './errors.ts';
import { parseObject } from './fields.ts';
import {
  parseApprovalAnswer,
  parseCreateRun,
  parseIdempotencyKey,
  parseSteer,
  parseUpdateRun,
} from './requests.ts';

function refusal(parse: () => unknown): Pick<TalariaError, 'code' | 'message' | 'param'> {
  try {
    parse();
  } catch (error) {
    if (!(error instanceof TalariaError)) throw error;
    return { code: error.code, message: error.message, param: error.param };
  }
  throw new Error('was accepted');
}

function returnsOrRefuses(parse: () => unknown): void {
  try {
    parse();
  } catch (error) {
    expect(error).toBeInstanceOf(TalariaError);
  }
}

const notObjects = [null, undefined, 1, 'text', true, [], [{ input: 'hi' }]];

describe('parseIdempotencyKey', () => {
  it.each([undefined, 'k', '!~', 'x'.repeat(255)])('takes %j', (key) => {
    expect(parseIdempotencyKey(key)).toBe(key);
  });

  it.each(['', 'x'.repeat(256), 'a b', 'a\n', '\nkey', 'schlüssel', '\x7f'])('refuses %j', (key) => {
    expect(refusal(() => parseIdempotencyKey(key)).code).toBe('invalid_idempotency_key');
  });
});

describe('parseUpdateRun', () => {
  it('takes true and false, and ignores unknown fields', () => {
    expect(parseUpdateRun({ keep: true })).toEqual({ keep: true });
    expect(parseUpdateRun({ keep: false, colour: 'red' })).toEqual({ keep: false });
  });

  it.each([{}, { keep: null }, { keep: 'true' }, { keep: 1 }, { kept: true }])('refuses %j', (body) => {
    expect(refusal(() => parseUpdateRun(body))).toEqual({
      code: 'invalid_request',
      message: "'keep' must be true or false",
      param: 'keep',
    });
  });
});

describe('parseObject', () => {
  it.each(notObjects)('refuses %j', (body) => {
    expect(refusal(() => parseObject(body)).code).toBe('body_not_object');
  });
});

describe('parseApprovalAnswer', () => {
  it.each([
    ['once', 'once'],
    ['session', 'session'],
    ['always', 'always'],
    ['deny', 'deny'],
    ['approve', 'once'],
    ['approved', 'once'],
    ['allow', 'once'],
  ])('reads the choice %s as %s', (choice, expected) => {
    expect(parseApprovalAnswer({ choice })).toEqual({ choice: expected, requestId: undefined, all: false });
  });

  it.each([undefined, null, '', 'yes', 'ONCE', 1, ['once'], {}])('refuses the choice %j', (choice) => {
    expect(refusal(() => parseApprovalAnswer({ choice }))).toEqual({
      code: 'invalid_approval_choice',
      message: "'choice' must be one of once, session, always, deny",
      param: 'choice',
    });
  });

  it.each(['', 5, {}, [], false])('refuses the request_id %j', (request_id) => {
    expect(refusal(() => parseApprovalAnswer({ choice: 'once', request_id })).code).toBe(
      'invalid_approval_request',
    );
  });

  it('looks at the choice before the request_id', () => {
    expect(refusal(() => parseApprovalAnswer({ choice: 'x', request_id: 5 })).code).toBe(
      'invalid_approval_choice',
    );
  });

  it('reads null as absent', () => {
    const answer = parseApprovalAnswer({ choice: 'deny', request_id: null, all: null, resolve_all: null });
    expect(answer).toEqual({ choice: 'deny', requestId: undefined, all: false });
  });

  it('takes a reason with a denial, and no other; an empty one is none', () => {
    expect(parseApprovalAnswer({ choice: 'deny', message: ' not that one ' }).message).toBe(' not that one ');
    for (const message of ['', '  ', null]) {
      expect(parseApprovalAnswer({ choice: 'deny', message }).message).toBeUndefined();
    }
    const refused = [
      { choice: 'once', message: 'why not' },
      { choice: 'deny', message: 5 },
      { choice: 'deny', message: 'x'.repeat(10_001) },
    ];
    for (const body of refused) {
      expect(refusal(() => parseApprovalAnswer(body))).toMatchObject({
        code: 'invalid_approval_request',
        param: 'message',
      });
    }
  });

  it('treats all and resolve_all the same', () => {
    expect(parseApprovalAnswer({ choice: 'once', all: true, request_id: 'apr_1' })).toEqual({
      choice: 'once',
      requestId: 'apr_1',
      all: true,
    });
    expect(parseApprovalAnswer({ choice: 'once', all: false, resolve_all: true }).all).toBe(true);
    expect(refusal(() => parseApprovalAnswer({ choice: 'once', all: 'yes' })).param).toBe('all');
    expect(refusal(() => parseApprovalAnswer({ choice: 'once', resolve_all: 1 })).param).toBe('resolve_all');
  });

  it.each(notObjects)('refuses the body %j', (body) => {
    expect(refusal(() => parseApprovalAnswer(body)).code).toBe('body_not_object');
  });
});

describe('parseSteer', () => {
  it('takes text as it is', () => {
    expect(parseSteer({ input: ' look at b.txt ' })).toBe(' look at b.txt ');
    expect(parseSteer({ input: 'x'.repeat(100_000) })).toHaveLength(100_000);
  });

  it.each<[unknown, ApiErrorCode]>([
    [{}, 'invalid_steer_input'],
    [{ input: null }, 'invalid_steer_input'],
    [{ input: '' }, 'invalid_steer_input'],
    [{ input: ' \n\t' }, 'invalid_steer_input'],
    [{ input: 3 }, 'invalid_steer_input'],
    [{ input: ['a'] }, 'invalid_steer_input'],
    [{ input: 'x'.repeat(100_001) }, 'invalid_steer_input'],
    [['a'], 'body_not_object'],
  ])('refuses %j', (body, code) => {
    expect(refusal(() => parseSteer(body)).code).toBe(code);
  });
});

describe('any JSON value', () => {
  // Values that resemble a request, so that the search gets past the first check.
  const close = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom(null, true, 0, '', ' ', 'user', 'hi', 'text', 'image_url', 'once', 'https://a/b.png'),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(
        fc.constantFrom(
          ...['input', 'conversation_history', 'session_id', 'instructions', 'previous_response_id'],
          ...[
            'role',
            'content',
            'type',
            'text',
            'image_url',
            'url',
            'choice',
            'request_id',
            'all',
            '__proto__',
          ],
        ),
        tie('value'),
      ),
    ),
  })).value;

  it.each([
    ['parseCreateRun', parseCreateRun],
    ['parseApprovalAnswer', parseApprovalAnswer],
    ['parseSteer', parseSteer],
  ])('is read or refused by %s, and never causes another error', (_, parse) => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), close), (body) => returnsOrRefuses(() => parse(body))),
      { numRuns: 1000 },
    );
  });
});
