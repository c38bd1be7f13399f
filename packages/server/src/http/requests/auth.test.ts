import type { FastifyRequest } from 'fastify';
import { describe, expect, test } from 'vitest';
import { createAuthenticate } from './auth.ts';

function request(headers: Record<string, string>): FastifyRequest {
  return { headers } as unknown as FastifyRequest;
}

describe('with keys', () => {
  const authenticate = createAuthenticate([
    { name: 'alice', key: 'key-of-alice' },
    { name: 'bob', key: 'key-of-bob' },
  ]);

  test('a key identifies the caller; the scheme is case-insensitive', () => {
    expect(authenticate(request({ authorization: 'Bearer key-of-alice' }))).toBe('alice');
    expect(authenticate(request({ authorization: 'bearer key-of-bob' }))).toBe('bob');
  });

  test('anything else is refused with the same message', () => {
    for (const authorization of [
      undefined,
      '',
      'Bearer',
      'Bearer ',
      'Bearer key-of-alic',
      'Bearer key-of-alicee',
      'Bearer KEY-OF-ALICE',
      'Basic key-of-alice',
      'key-of-alice',
      'Bearer key-of-alice, Bearer key-of-bob',
    ]) {
      const headers = authorization === undefined ? {} : { authorization };
      expect(() => authenticate(request(headers))).toThrow('Invalid API key');
    }
  });

  test("the header of Azure's clients does too", () => {
    expect(authenticate(request({ 'api-key': 'key-of-alice' }))).toBe('alice');
    for (const key of ['', 'key-of-alic', 'Bearer key-of-alice', 'key-of-alice, key-of-bob']) {
      expect(() => authenticate(request({ 'api-key': key }))).toThrow('Invalid API key');
    }
  });

  test('with both headers only Authorization counts', () => {
    const both = (authorization: string) => request({ authorization, 'api-key': 'key-of-bob' });
    expect(authenticate(both('Bearer key-of-alice'))).toBe('alice');
    for (const authorization of ['', 'Bearer ', 'Bearer wrong', 'Basic x']) {
      expect(() => authenticate(both(authorization))).toThrow('Invalid API key');
    }
  });

  test('the host does not matter', () => {
    const headers = { authorization: 'Bearer key-of-bob', host: 'agents.example.com' };
    expect(authenticate(request(headers))).toBe('bob');
  });
});

describe('without keys', () => {
  const authenticate = createAuthenticate([]);

  test('a loopback host is admitted', () => {
    for (const host of [
      'localhost',
      'localhost:8642',
      '127.0.0.1:8642',
      '127.9.9.9',
      '[::1]:8642',
      '[::1]',
    ]) {
      expect(authenticate(request({ host }))).toBe('local');
    }
  });

  test('a host name that only resolves to this machine is refused', () => {
    for (const host of [
      '',
      'evil.example.com',
      'evil.example.com:8642',
      '127.0.0.1.evil.example.com',
      'localhost.evil.example.com',
      '10.0.0.1:8642',
      '[fe80::1]:8642',
    ]) {
      expect(() => authenticate(request({ host }))).toThrow('loopback');
    }
    expect(() => authenticate(request({}))).toThrow('loopback');
  });
});
