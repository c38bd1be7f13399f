import type { FastifyRequest } from 'fastify';
import { expect, test } from 'vitest';
import { readSessionHeaders, sessionHeaders } from './session-headers.ts';

/** A request with these headers, as Node gives them: one character per byte. */
function request(headers: Record<string, string>): FastifyRequest {
  const sent = Object.entries(headers).map(([name, value]) => [name, Buffer.from(value).toString('latin1')]);
  return { headers: Object.fromEntries(sent) } as FastifyRequest;
}

test('are read and given back, in any script', () => {
  const given = { 'x-hermes-session-id': 'Ž 日本', 'x-hermes-session-key': 'user:1' };
  const { sessionId, sessionKey } = readSessionHeaders(request(given), true);
  expect({ sessionId, sessionKey }).toEqual({ sessionId: 'Ž 日本', sessionKey: 'user:1' });
  expect(sessionHeaders(sessionId!, sessionKey)).toEqual(request(given).headers);
});

test('count as absent when missing or empty, also on an open server', () => {
  const none = { sessionId: undefined, sessionKey: undefined };
  expect(readSessionHeaders(request({}), false)).toEqual(none);
  expect(readSessionHeaders(request({ 'x-hermes-session-id': '' }), false)).toEqual(none);
  expect(sessionHeaders('run_1', undefined)).toEqual({ 'x-hermes-session-id': 'run_1' });
});

test.each(['X-Hermes-Session-Id', 'X-Hermes-Session-Key'])('%s needs a configured key', (name) => {
  const given = request({ [name.toLowerCase()]: 'a' });
  expect(() => readSessionHeaders(given, false)).toThrow(
    expect.objectContaining({ code: 'session_needs_key', param: name }),
  );
});

test.each([
  ['a control character', 'a\tb'],
  ['one behind a multi-byte character', 'ü\u0085'],
  ['too many characters', 'x'.repeat(257)],
])('are refused with %s', (_, value) => {
  for (const name of ['X-Hermes-Session-Id', 'X-Hermes-Session-Key']) {
    const given = request({ [name.toLowerCase()]: value });
    expect(() => readSessionHeaders(given, true)).toThrow(
      expect.objectContaining({ code: 'invalid_request', param: name }),
    );
  }
});

test('are refused when they are not UTF-8', () => {
  const given = { headers: { 'x-hermes-session-id': '\u00fc' } } as unknown as FastifyRequest;
  expect(() => readSessionHeaders(given, true)).toThrow(expect.objectContaining({ code: 'invalid_request' }));
});
