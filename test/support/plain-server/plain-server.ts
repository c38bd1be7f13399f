/**
 * A small server of the Hermes API in its older dialect, for clients: everything in memory, unnumbered events that only
 * one reader gets, no idempotency keys for runs, errors flat or as plain text, no lists, no steering, no files. In
 * addition to runs it has the routes for chat, responses and jobs, which answer without a model.
 */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerChat } from './chat.ts';
import { PlainJobs } from './jobs.ts';
import { PlainResponses } from './responses.ts';
import { type PlainRun, PlainRuns } from './runs.ts';

export interface PlainRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
}

/** A status and a body as JSON, or a stream that is written to the response. */
export type PlainAnswer =
  | { status?: number; json: unknown; headers?: Record<string, string> }
  | { stream: (response: ServerResponse) => void; headers?: Record<string, string> };

/** Undefined for requests that are not its own. */
export type PlainRoute = (request: PlainRequest) => PlainAnswer | undefined;

export class PlainServer implements AsyncDisposable {
  readonly requests: PlainRequest[] = [];
  readonly #runs = new PlainRuns();
  readonly #routes: PlainRoute[] = [
    this.#runs.route,
    new PlainResponses().route,
    new PlainJobs().route,
    answerChat,
    answerDiscovery,
  ];
  readonly #key: string | undefined;
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  private constructor(key: string | undefined) {
    this.#key = key;
  }

  static async start(options: { key?: string } = {}): Promise<PlainServer> {
    const server = new PlainServer(options.key);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The last created run, for the test to play. */
  get lastRun(): PlainRun | undefined {
    return this.#runs.all.at(-1);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #answer(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await read(message);
    this.requests.push(request);
    const { authorization } = request.headers;
    if (this.#key !== undefined && request.path !== '/health' && authorization !== `Bearer ${this.#key}`) {
      return send(response, { status: 401, json: { error: 'Invalid API key' } });
    }
    for (const route of this.#routes) {
      const answer = route(request);
      if (answer !== undefined) return send(response, answer);
    }
    response.writeHead(404, { 'content-type': 'text/plain' }).end('404: Not Found');
  }
}

async function read(message: IncomingMessage): Promise<PlainRequest> {
  let text = '';
  for await (const chunk of message.setEncoding('utf8')) text += chunk;
  const url = new URL(message.url ?? '/', 'http://plain');
  return {
    method: message.method ?? '',
    path: url.pathname,
    query: url.searchParams,
    headers: message.headers,
    body: text === '' ? {} : JSON.parse(text),
  };
}

function send(response: ServerResponse, answer: PlainAnswer): void {
  if ('json' in answer) {
    const { status = 200, json, headers } = answer;
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(json));
  } else {
    response.writeHead(200, { 'content-type': 'text/event-stream', ...answer.headers }).flushHeaders();
    answer.stream(response);
  }
}

const MODEL = 'hermes-agent';
const FEATURES = ['chat_completions', 'responses_api', 'run_submission', 'run_status', 'run_events_sse'];

const DISCOVERY: Record<string, unknown> = {
  'GET /health': { status: 'ok', platform: 'hermes-agent', version: '0.9.0' },
  'GET /v1/models': {
    object: 'list',
    data: [
      {
        id: MODEL,
        object: 'model',
        created: 1,
        owned_by: 'hermes',
        permission: [],
        root: MODEL,
        parent: null,
      },
    ],
  },
  'GET /v1/capabilities': {
    object: 'hermes.api_server.capabilities',
    platform: 'hermes-agent',
    model: MODEL,
    features: Object.fromEntries(FEATURES.map((name) => [name, true])),
  },
};

function answerDiscovery({ method, path }: PlainRequest): PlainAnswer | undefined {
  const json = DISCOVERY[`${method} ${path}`];
  return json === undefined ? undefined : { json };
}
