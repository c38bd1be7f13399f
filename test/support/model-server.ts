/**
 * A scripted OpenAI-compatible model over HTTP: the model of every test that needs one.
 *
 * - `POST /v1/chat/completions` (streaming only) plays the script found in the prompt, see model-server-script.ts.
 *   Past the end of a script it says `done`; without a script it says `You said: <prompt>`.
 * - Every request is recorded, with whether the client closed it before its end.
 * - A gate is a latch: what waits at it continues when it is opened, and so does whatever comes later.
 * - Standalone, for tests that kill processes: `node test/support/model-server.ts --port N` prints the base URL;
 *   `POST /_gate/<name>` opens a gate, `GET /_gate/<name>` tells how many wait, `GET /_requests` shows the records.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import {
  argumentsOf,
  chunksOf,
  cut,
  findPosition,
  type ScriptedError,
  type Step,
  stepForTry,
  textOf,
  type WireMessage,
} from './model-server-script.ts';

export {
  type ScriptedError,
  type ScriptedTool,
  type Step,
  script,
} from './model-server-script.ts';

/** The usage of a step that sets none; tests may rely on the numbers. */
const DEFAULT_USAGE = { input: 10, output: 5 };

/** Benchmarks send many requests with long bodies; only the latest are kept. */
const MAX_RECORDS = 10_000;

export interface ChatRequest {
  model: string;
  messages: WireMessage[];
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  tools?: { type: string; function: { name: string; description?: string; parameters?: unknown } }[];
  [key: string]: unknown;
}

export interface RecordedRequest {
  at: number;
  body: ChatRequest;
  headers: IncomingHttpHeaders;
  /** Tells connections apart. */
  clientPort: number | undefined;
  scriptId: string | undefined;
  /** The position in the script, from 0. */
  step: number;
  /** How many times this step had been asked for before. */
  tries: number;
  /** The client closed the connection before the answer was complete. */
  aborted: boolean;
  /** The response was sent to its end (a scripted error or disconnect counts as an end). */
  ended: boolean;
}

export interface ModelServer extends AsyncDisposable {
  /** The base URL, ending in `/v1`. */
  readonly url: string;
  readonly port: number;
  readonly requests: readonly RecordedRequest[];
  /** How many requests the client closed before their end. */
  readonly abortedCount: number;
  /** Resolves with the first record for which `predicate` holds, now or after a later change. */
  waitForRequest(
    predicate: (request: RecordedRequest) => boolean,
    timeoutMs?: number,
  ): Promise<RecordedRequest>;
  open(gate: string): void;
  /** Resolves when a request waits at the gate. */
  waitingAt(gate: string, timeoutMs?: number): Promise<void>;
  close(): Promise<void>;
}

export async function startModelServer(options: { port?: number; host?: string } = {}): Promise<ModelServer> {
  const requests: RecordedRequest[] = [];
  const tries = new Map<string, number>();
  const gates = new Gates();
  const changes = new Watchers();

  const server = createServer((req, res) => {
    handle(req, res).catch((error: unknown) => {
      if (!res.headersSent) sendJson(res, 500, { error: { message: String(error), type: 'server_error' } });
      else res.destroy();
    });
  });

  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const path = new URL(req.url ?? '/', 'http://model').pathname;
    const gate = path.startsWith('/_gate/') ? decodeURIComponent(path.slice('/_gate/'.length)) : undefined;
    if (gate !== undefined) {
      if (req.method === 'POST') gates.open(gate);
      return sendJson(res, 200, { gate, open: gates.isOpen(gate), waiting: gates.waiting(gate) });
    }
    if (path === '/_requests') return sendJson(res, 200, requests);
    if (path === '/v1/models') {
      return sendJson(res, 200, {
        object: 'list',
        data: [{ id: 'scripted', object: 'model', created: 0, owned_by: 'talaria' }],
      });
    }
    if (path === '/v1/chat/completions' && req.method === 'POST') return complete(req, res);
    sendJson(res, 404, { error: { message: `No such route: ${path}`, type: 'invalid_request_error' } });
  }

  async function complete(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = JSON.parse(await readBody(req)) as ChatRequest;
    const position = findPosition(body.messages);
    const key = position && `${position.scriptId}:${position.index}`;
    const tried = key ? (tries.get(key) ?? 0) : 0;
    if (key) tries.set(key, tried + 1);

    const record: RecordedRequest = {
      at: Date.now(),
      body,
      headers: req.headers,
      clientPort: req.socket.remotePort,
      scriptId: position?.scriptId,
      step: position?.index ?? 0,
      tries: tried,
      aborted: false,
      ended: false,
    };
    requests.push(record);
    if (requests.length > MAX_RECORDS) requests.shift();
    changes.notify();

    const closed = new AbortController();
    const end = () => {
      record.ended = true;
      changes.notify();
    };
    res.on('close', () => {
      closed.abort();
      if (record.ended) return;
      record.aborted = !res.writableFinished;
      record.ended = res.writableFinished;
      changes.notify();
    });

    if (body.stream !== true) {
      return sendError(res, {
        status: 400,
        message: 'The scripted model only streams: send "stream": true.',
      });
    }
    const step = position
      ? stepForTry(position.step ?? { text: 'done' }, tried)
      : { text: `You said: ${lastUserText(body.messages)}` };
    try {
      await play({
        step,
        res,
        body,
        gates,
        closed: closed.signal,
        idPrefix: `call_${position?.scriptId.slice(0, 12) ?? 'echo'}_${record.step}`,
        end,
      });
    } catch (error) {
      if (!closed.signal.aborted) throw error;
    }
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, options.host ?? '127.0.0.1', resolve);
  });
  const port = (server.address() as AddressInfo).port;

  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    url: `http://127.0.0.1:${port}/v1`,
    port,
    requests,
    get abortedCount() {
      return requests.filter((request) => request.aborted).length;
    },
    waitForRequest: (predicate, timeoutMs = 100_000) =>
      changes.until(() => requests.find(predicate), 'a matching request to the model', timeoutMs),
    open: (gate) => gates.open(gate),
    async waitingAt(gate, timeoutMs = 100_000) {
      await gates.changes.until(() => gates.waiting(gate) > 0 || undefined, `gate ${gate}`, timeoutMs);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

interface Playing {
  step: Step;
  res: ServerResponse;
  body: ChatRequest;
  gates: Gates;
  closed: AbortSignal;
  idPrefix: string;
  /** Called before the server itself ends the response, so that a scripted end does not count as an abort. */
  end: () => void;
}

async function play({ step, res, body, gates, closed, idPrefix, end }: Playing): Promise<void> {
  const forever = () => new Promise<never>((_, reject) => closed.addEventListener('abort', reject));
  const cutOff = () => {
    end();
    res.destroy();
  };

  if (step.gate) await gates.pass(step.gate, closed);
  if (step.hang === 'before') return forever();
  if (step.disconnect === 'before') return cutOff();
  if (step.error) return sendError(res, step.error);

  res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  const stream = new CompletionStream(res, body.model);
  stream.delta({ role: 'assistant', content: '' });

  for (const piece of step.reasoning ? cut(step.reasoning, 2) : [])
    stream.delta({ reasoning_content: piece });

  // A fault in the middle comes after the first piece of text; without text, right after the first chunk.
  const faulty = step.hang ?? step.disconnect ?? step.streamError ?? step.malformed ?? step.truncated;
  let first = true;
  for (const chunk of chunksOf(step)) {
    if (typeof chunk !== 'string') {
      await gates.pass(chunk.gate, closed);
      continue;
    }
    if (!first && step.delayMs) await sleep(step.delayMs, undefined, { signal: closed });
    stream.delta({ content: chunk });
    first = false;
    if (faulty) break;
  }

  if (step.hang === 'mid') return forever();
  if (step.disconnect === 'mid') {
    // The pieces written so far must reach the client before the connection breaks.
    await new Promise((resolve) => res.write(': cut\n\n', resolve));
    return cutOff();
  }
  if (step.streamError) {
    stream.send({
      error: {
        message: step.streamError.message,
        type: step.streamError.type ?? 'server_error',
        code: step.streamError.code ?? null,
      },
    });
    return void res.end();
  }
  if (step.malformed) return void res.end('data: {"choices": [{"delta": \n\ndata: [DONE]\n\n');
  if (step.truncated) return void res.end();

  for (const [index, tool] of (step.tools ?? []).entries()) {
    const text = argumentsOf(tool, body.messages);
    const id = tool.id ?? `${idPrefix}_${index}`;
    stream.delta({
      tool_calls: [{ index, id, type: 'function', function: { name: tool.name, arguments: '' } }],
    });
    for (const piece of cut(text, 3))
      stream.delta({ tool_calls: [{ index, function: { arguments: piece } }] });
  }
  stream.finish(step.finish ?? (step.tools?.length ? 'tool_calls' : 'stop'));
  if (body.stream_options?.include_usage) stream.usage(step.usage ?? DEFAULT_USAGE);
  res.end('data: [DONE]\n\n');
}

/** Writes the chunks of one chat completion. */
class CompletionStream {
  readonly #res: ServerResponse;
  readonly #head: Record<string, unknown>;

  constructor(res: ServerResponse, model: string) {
    this.#res = res;
    this.#head = {
      id: `chatcmpl-${Math.random().toString(36).slice(2, 12)}`,
      object: 'chat.completion.chunk',
      created: Math.floor(Date.now() / 1000),
      model,
    };
  }

  send(value: unknown): void {
    this.#res.write(`data: ${JSON.stringify(value)}\n\n`);
  }

  delta(delta: Record<string, unknown>): void {
    this.send({ ...this.#head, choices: [{ index: 0, delta, finish_reason: null }] });
  }

  finish(reason: string): void {
    this.send({ ...this.#head, choices: [{ index: 0, delta: {}, finish_reason: reason }] });
  }

  usage({ input, output }: { input: number; output: number }): void {
    const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
    this.send({ ...this.#head, choices: [], usage });
  }
}

/** Resolves waiting promises when their condition becomes true after a change. */
class Watchers {
  readonly #watchers = new Set<() => void>();

  notify(): void {
    for (const watcher of [...this.#watchers]) watcher();
  }

  until<T>(check: () => T | undefined, what: string, timeoutMs: number): Promise<T> {
    return new Promise((resolve, reject) => {
      const settle = () => {
        const value = check();
        if (value === undefined) return;
        done();
        resolve(value);
      };
      const timer = setTimeout(() => {
        done();
        reject(new Error(`Waited ${timeoutMs} ms for ${what}`));
      }, timeoutMs);
      const done = () => {
        clearTimeout(timer);
        this.#watchers.delete(settle);
      };
      this.#watchers.add(settle);
      settle();
    });
  }
}

class Gates {
  readonly changes = new Watchers();
  readonly #open = new Set<string>();
  readonly #waiting = new Map<string, Set<() => void>>();

  isOpen(name: string): boolean {
    return this.#open.has(name);
  }

  waiting(name: string): number {
    return this.#waiting.get(name)?.size ?? 0;
  }

  open(name: string): void {
    this.#open.add(name);
    for (const go of this.#waiting.get(name) ?? []) go();
    this.#waiting.delete(name);
  }

  async pass(name: string, closed: AbortSignal): Promise<void> {
    if (this.#open.has(name)) return;
    await new Promise<void>((resolve, reject) => {
      const waiting = this.#waiting.get(name) ?? new Set();
      this.#waiting.set(name, waiting.add(resolve));
      closed.addEventListener('abort', () => {
        waiting.delete(resolve);
        reject(closed.reason);
      });
      this.changes.notify();
    });
  }
}

function lastUserText(messages: readonly WireMessage[]): string {
  const message = messages.findLast((candidate) => candidate.role === 'user');
  return message ? textOf(message) : '';
}

function sendError(res: ServerResponse, error: ScriptedError): void {
  if (error.retryAfter !== undefined) res.setHeader('retry-after', String(error.retryAfter));
  if (error.retryAfterMs !== undefined) res.setHeader('retry-after-ms', String(error.retryAfterMs));
  const { message, type = 'scripted_error', code = null } = error;
  sendJson(res, error.status, { error: { message, type, param: null, code } });
}

function sendJson(res: ServerResponse, status: number, value: unknown): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

async function readBody(req: IncomingMessage): Promise<string> {
  req.setEncoding('utf8');
  let text = '';
  for await (const chunk of req) text += chunk;
  return text;
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { port: { type: 'string' }, host: { type: 'string' } } });
  const server = await startModelServer({
    port: Number(values.port ?? 0),
    ...(values.host && { host: values.host }),
  });
  console.log(server.url);
}
