/**
 * `requestPatiently` in the form of `fetch`, for the SDKs of model providers and for MCP servers.
 *
 * It is not a general fetch: a string body, redirects left to the caller (an API that redirects a POST is a wrong
 * base URL), no compression.
 */
import type { IncomingMessage } from 'node:http';
import { requestPatiently } from './patient-request.ts';

/** Statuses whose response must not have a body; `Response` throws when it gets one. */
const BODILESS = new Set([204, 205, 304]);

export const patientFetch: typeof globalThis.fetch = async (input, init = {}) => {
  const url = new URL(input instanceof Request ? input.url : input);
  const signal = init.signal ?? undefined;
  signal?.throwIfAborted();
  const body = init.body ?? '';
  if (typeof body !== 'string') throw new TypeError('patientFetch sends text bodies only');
  const headers = Object.fromEntries(new Headers(init.headers));
  const response = await requestPatiently(url, { method: init.method ?? 'GET', headers, body, signal });
  const status = response.statusCode ?? 500;
  if (BODILESS.has(status)) response.resume();
  return new Response(BODILESS.has(status) ? null : toBody(response, signal), {
    status,
    statusText: response.statusMessage ?? '',
    headers: toHeaders(response),
  });
};

/** Not `Readable.toWeb`: every step of every run may pass through here. */
function toBody(response: IncomingMessage, signal: AbortSignal | undefined): ReadableStream<Uint8Array> {
  // A destroyed response still gives what it has received, and its end. A body that is no longer open would throw at both.
  let open = true;
  return new ReadableStream({
    start(body) {
      response.on('data', (piece: Buffer) => {
        if (!open) return;
        body.enqueue(piece);
        if ((body.desiredSize ?? 0) <= 0) response.pause();
      });
      response.once('end', () => {
        if (!open) return;
        // An abort discards what was not read yet, and the response ends as if it were complete.
        if (signal?.aborted) body.error(signal.reason);
        else body.close();
      });
      // A response that breaks off is an error too.
      response.on('error', (error) => {
        open = false;
        body.error(signal?.aborted ? signal.reason : error);
      });
    },
    pull() {
      response.resume();
    },
    cancel() {
      open = false;
      response.destroy();
    },
  });
}

function toHeaders(response: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(response.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  return headers;
}
