/**
 * `POST /v1/embeddings`: passed on to the model's provider (PROTOCOL.md). The request is sent with the server's key,
 * and its response is streamed back, up to a size. The provider's refusals are reworded: its own messages may show the
 * key, or mention an account that does not concern the client.
 */
import { Readable } from 'node:stream';
import { type ErrorBody, parseObject, TalariaError } from '@talaria/protocol';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { EmbeddingsEndpoint } from '../../agent/model/embeddings-endpoint.ts';
import { parseJsonBody } from '../requests/json-body.ts';
import { leaving } from '../requests/leaving.ts';

/** Two thousand embeddings of three thousand numbers each, as JSON text. */
const ANSWER_MAX_BYTES = 200_000_000;
const REFUSAL_MAX_BYTES = 64 * 1024;
const TIMEOUT_MS = 120_000;

export interface EmbeddingsOptions {
  endpoint: EmbeddingsEndpoint;
  /** The model to use whatever the client names; if undefined, the client's. */
  model: string | undefined;
  fetch: typeof globalThis.fetch;
  mask(text: string): string;
}

export function installEmbeddingRoutes(app: FastifyInstance, options: EmbeddingsOptions): void {
  const { endpoint, model: configured, fetch, mask } = options;

  app.post('/v1/embeddings', async (request, reply) => {
    if ('unavailable' in endpoint) {
      throw new TalariaError('embeddings_unavailable', { message: endpoint.unavailable });
    }
    const body = parseObject(parseJsonBody(request.body));
    if (body.input === undefined || body.input === null) {
      throw new TalariaError('missing_input', { param: 'input' });
    }
    const model = configured ?? body.model;
    if (typeof model !== 'string' || model === '') {
      const message = "'model' must name an embedding model of the provider";
      throw new TalariaError('invalid_request', { message, param: 'model' });
    }
    const { url, apiKey } = endpoint;
    const signal = AbortSignal.any([leaving(reply), AbortSignal.timeout(TIMEOUT_MS)]);
    let answer: Response;
    try {
      answer = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
        },
        body: JSON.stringify({ ...body, model }),
        signal,
      });
    } catch (error) {
      request.log.warn({ err: error }, 'the provider could not be reached for embeddings');
      return refuse(reply, 502, 'provider_unavailable', 'The model provider could not be reached');
    }
    if (!answer.ok || answer.body === null) return passRefusal(reply, answer, mask);
    reply.header('content-type', answer.headers.get('content-type') ?? 'application/json');
    return reply.send(Readable.from(limited(answer.body, ANSWER_MAX_BYTES), { objectMode: false }));
  });
}

async function passRefusal(
  reply: FastifyReply,
  answer: Response,
  mask: (text: string) => string,
): Promise<FastifyReply> {
  const { status, headers } = answer;
  if (status === 429) {
    const retryAfter = headers.get('retry-after');
    if (retryAfter !== null && /^\d{1,5}$/.test(retryAfter)) reply.header('retry-after', retryAfter);
    return refuse(reply, 429, 'provider_rate_limit', 'The model provider refuses because of load or quota');
  }
  if (status === 401 || status === 403) {
    await answer.body?.cancel();
    return refuse(reply, 502, 'provider_auth', 'The model provider refused the credentials of this server');
  }
  if (status < 400 || status >= 500) {
    await answer.body?.cancel();
    return refuse(reply, 502, 'provider_error', `The model provider answered with the status ${status}`);
  }
  const message = mask(await refusalOf(answer));
  if (status === 404 || status === 405) {
    const why = `The model provider has no embeddings at this URL, or not for this model: ${message}`;
    throw new TalariaError('embeddings_unavailable', { message: why });
  }
  return refuse(reply, 400, 'provider_bad_request', `The model provider refused the request: ${message}`);
}

async function refusalOf(answer: Response): Promise<string> {
  const unknown = `status ${answer.status}`;
  if (answer.body === null) return unknown;
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of limited(answer.body, REFUSAL_MAX_BYTES)) chunks.push(Buffer.from(chunk));
    const { error } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { error?: unknown };
    const message = typeof error === 'object' && error !== null && 'message' in error ? error.message : error;
    return typeof message === 'string' ? message.slice(0, 500) : unknown;
  } catch {
    return unknown;
  }
}

function refuse(reply: FastifyReply, status: number, code: string, message: string): FastifyReply {
  const type = status === 429 ? 'rate_limit_error' : status < 500 ? 'invalid_request_error' : 'server_error';
  const body: ErrorBody = { error: { message, type, param: null, code } };
  return reply.code(status).send(body);
}

/**
 * Passes on at most this many bytes; a longer response is broken off, which its reader can tell from a complete one.
 */
async function* limited(body: NonNullable<Response['body']>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new Error(`The provider's response is larger than ${maxBytes} bytes`);
    yield chunk;
  }
}
