import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toAPIError } from './error-answer.ts';
import { ConnectionError, StreamInterruptedError, TimeoutError } from './errors.ts';
import { backoffMs, isTransient, retryAfterMs, retryDelayMs, wasRefused } from './retry.ts';

const answer = (status: number, code: string | null = null, headers: Record<string, string> = {}) =>
  toAPIError(status, new Headers(headers), JSON.stringify({ error: { message: 'x', code } }));
const asking = (value: string) => answer(503, null, { 'retry-after': value });

it('the delay doubles up to its limit, and at least half of it is fixed', () => {
  fc.assert(
    fc.property(fc.nat(2000), fc.double({ min: 0, max: 1, noNaN: true }), (retries, chance) => {
      const ms = backoffMs(retries, 100, 10_000, chance);
      const full = Math.min(10_000, 100 * 2 ** retries);
      expect(ms).toBeGreaterThanOrEqual(full / 2);
      expect(ms).toBeLessThanOrEqual(full);
    }),
  );
});

describe('Retry-After', () => {
  it.each([
    ['2', 2000],
    ['0', 0],
    ['1.5', 1500],
    ['-3', 0],
    ['soon', undefined],
    ['', undefined],
  ])('%j is %s ms', (value, ms) => {
    expect(retryAfterMs(asking(value))).toBe(ms);
  });

  it('may be a date; a date in the past means no delay', () => {
    const now = Date.parse('2030-01-01T00:00:00Z');
    expect(retryAfterMs(asking('Tue, 01 Jan 2030 00:00:07 GMT'), now)).toBe(7000);
    expect(retryAfterMs(asking('Mon, 31 Dec 2029 23:59:00 GMT'), now)).toBe(0);
  });

  it('overrides the computed delay, also when it is shorter, but never waits longer than a minute', () => {
    expect(retryDelayMs(asking('0'), 5)).toBe(0);
    expect(retryDelayMs(asking('60'), 0)).toBe(60_000);
    expect(retryDelayMs(asking('61'), 0)).toBeUndefined();
  });

  it('is not read from an error without a response', () => {
    expect(retryAfterMs(new ConnectionError('x'))).toBeUndefined();
    expect(retryDelayMs(new ConnectionError('x'), 0)).toBeGreaterThan(0);
  });
});

describe('a failure', () => {
  it.each([408, 429, 500, 502, 503, 504])('with status %i may pass', (status) => {
    expect(isTransient(answer(status))).toBe(true);
  });

  it.each([400, 401, 403, 404, 405, 409, 413, 416])('with status %i does not pass', (status) => {
    expect(isTransient(answer(status))).toBe(false);
  });

  it('does not pass when the server says that it will not', () => {
    for (const status of [429, 502, 503]) {
      expect(isTransient(answer(status, null, { 'x-should-retry': 'false' }))).toBe(false);
      expect(isTransient(answer(status, null, { 'x-should-retry': 'true' }))).toBe(true);
    }
  });

  it('of the connection may pass; lost stream events do not come back; an abort is not a failure', () => {
    expect(isTransient(new ConnectionError('x'))).toBe(true);
    expect(isTransient(new TimeoutError('x'))).toBe(true);
    expect(isTransient(new StreamInterruptedError('x', 'run_1', 1, undefined))).toBe(false);
    expect(isTransient(new DOMException('x', 'AbortError'))).toBe(false);
  });

  it('was a refusal only when the server says that it began nothing', () => {
    expect(wasRefused(answer(429))).toBe(true);
    expect(wasRefused(answer(503, 'gateway_draining'))).toBe(true);
    expect(wasRefused(answer(503, 'store_unavailable'))).toBe(true);
    for (const other of [answer(503), answer(500, 'internal_error'), answer(502), new ConnectionError('x')]) {
      expect(wasRefused(other)).toBe(false);
    }
  });
});
