import { API_ERRORS, type ApiErrorCode, TalariaError, toErrorBody } from '@talaria/protocol';
import { describe, expect, it } from 'vitest';
import { toAPIError } from './error-answer.ts';
import * as errors from './errors.ts';

const headers = new Headers({ 'x-request-id': 'req_7' });
const read = (text: string, status = 400) => toAPIError(status, headers, text);

describe('the envelopes of errors', () => {
  it("nested: keeps every field of the server's error", () => {
    const error = { message: 'No run', type: 'invalid_request_error', param: 'input', code: 'missing_input' };
    expect(read(JSON.stringify({ error }))).toMatchObject({
      message: 'No run (400 missing_input)',
      status: 400,
      type: 'invalid_request_error',
      param: 'input',
      code: 'missing_input',
      requestId: 'req_7',
      headers,
      body: { error },
    });
  });

  it('flat: the text is the message', () => {
    expect(read('{"error":"Job not found"}', 404)).toMatchObject({
      message: 'Job not found (404)',
      code: null,
      type: null,
      param: null,
      body: { error: 'Job not found' },
    });
  });

  it('plain text: it is the message', () => {
    expect(read('404: Not Found\n', 404)).toMatchObject({
      message: '404: Not Found (404)',
      body: '404: Not Found\n',
    });
  });

  it.each([
    ['nothing', ''],
    ['a page', '<html><body>502 Bad Gateway</body></html>'],
    ['a long text', 'x'.repeat(10_000)],
    ['JSON of another kind', '[1]'],
    ['an error without a message', '{"error":{"code":null}}'],
    ['null', '{"error":null}'],
  ])('%s gets a default message and keeps its body', (_, text) => {
    const error = read(text, 502);
    expect(error.message).toBe('The server answered with an error (502)');
    expect(error.body).toEqual(text.startsWith('[') || text.startsWith('{') ? JSON.parse(text) : text);
  });
});

describe('the class of an error', () => {
  it.each([
    [400, errors.BadRequestError],
    [401, errors.AuthenticationError],
    [403, errors.PermissionError],
    [404, errors.NotFoundError],
    [409, errors.ConflictError],
    [429, errors.RateLimitError],
    [500, errors.ServerError],
    [503, errors.ServerError],
    [599, errors.ServerError],
    [405, errors.APIError],
    [413, errors.APIError],
  ])('is chosen by status %i', (status, ErrorClass) => {
    const error = read('', status);
    expect(error.constructor).toBe(ErrorClass);
    expect(error.name).toBe(ErrorClass.name);
    expect(error).toBeInstanceOf(errors.APIError);
    expect(error).toBeInstanceOf(errors.TalariaClientError);
    expect(error).not.toBeInstanceOf(errors.ConnectionError);
  });

  it('exists for every error code of the protocol', () => {
    for (const code of Object.keys(API_ERRORS) as ApiErrorCode[]) {
      const body = toErrorBody(new TalariaError(code));
      expect(read(JSON.stringify(body), API_ERRORS[code].status)).toMatchObject({ code, body });
    }
  });
});
