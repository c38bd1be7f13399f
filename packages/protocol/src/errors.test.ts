import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  API_ERRORS,
  type ApiErrorCode,
  RETRYABLE_CODES,
  RUN_FAILURES,
  TalariaError,
  toErrorBody,
} from './errors.ts';

const codes = Object.keys(API_ERRORS) as ApiErrorCode[];

describe('the table of errors', () => {
  it('has an entry for every code the sources throw', () => {
    const packages = new URL('../../', import.meta.url).pathname;
    const thrown = globSync('*/src/**/*.ts', { cwd: packages }).flatMap((file) =>
      [...readFileSync(packages + file, 'utf8').matchAll(/new TalariaError\(\s*'([^']*)'/g)].map(
        (match) => match[1],
      ),
    );
    expect(thrown.length).toBeGreaterThan(10);
    expect(codes).toEqual(expect.arrayContaining([...new Set(thrown)]));
  });

  it('agrees with the list of retryable codes', () => {
    expect(codes.filter((code) => API_ERRORS[code].retryable)).toEqual([...RETRYABLE_CODES]);
  });

  it.each(codes)('%s has a status, a type and a message that fit together', (code) => {
    const { status, type, retryable, message } = API_ERRORS[code];
    expect(message).not.toBe('');
    expect(type).toBe(
      status >= 500 ? 'server_error' : status === 429 ? 'rate_limit_error' : 'invalid_request_error',
    );
    expect(retryable).toBe(status === 429 || status === 503);
  });

  it.each<[ApiErrorCode, number]>([
    ['invalid_api_key', 401],
    ['body_too_large', 413],
    ['invalid_json', 400],
    ['body_not_object', 400],
    ['gateway_draining', 503],
    ['rate_limit_exceeded', 429],
    ['invalid_idempotency_key', 400],
    ['idempotency_key_conflict', 409],
    ['run_not_found', 404],
    ['invalid_cursor', 400],
    ['run_not_active', 404],
    ['invalid_approval_choice', 400],
    ['invalid_approval_request', 400],
    ['approval_not_pending', 409],
    ['approval_not_active', 409],
    ['run_not_accepting_steer', 409],
    ['invalid_steer_input', 400],
    ['too_many_steers', 429],
    ['invalid_path', 400],
    ['artifact_not_found', 404],
  ])('%s is answered with %i, as PROTOCOL.md says', (code, status) => {
    expect(API_ERRORS[code].status).toBe(status);
  });

  it('explains every reason a run can fail for', () => {
    for (const meaning of Object.values(RUN_FAILURES)) expect(meaning).not.toBe('');
  });
});

describe('an error on the wire', () => {
  it('has message, type, param and code', () => {
    const error = new TalariaError('missing_input', { param: 'input' });
    expect(toErrorBody(error)).toEqual({
      error: {
        message: "Missing 'input' field",
        type: 'invalid_request_error',
        param: 'input',
        code: 'missing_input',
      },
    });
  });

  it('has the exact body of a wrong API key', () => {
    expect(JSON.stringify(toErrorBody(new TalariaError('invalid_api_key')))).toBe(
      '{"error":{"message":"Invalid API key","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}',
    );
  });

  it('carries its own message, cause and delay where they were given', () => {
    const cause = new Error('disk');
    const error = new TalariaError('rate_limit_exceeded', { message: 'Wait', retryAfterS: 3, cause });
    expect(error).toMatchObject({ name: 'TalariaError', message: 'Wait', retryAfterS: 3, cause });
    expect(toErrorBody(error).error).toEqual({
      message: 'Wait',
      type: 'rate_limit_error',
      param: null,
      code: 'rate_limit_exceeded',
    });
  });
});
