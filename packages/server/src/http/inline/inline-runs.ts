/**
 * Answers that are runs: what `/v1/chat/completions` and `/v1/responses` share. The run is like any other, except that
 * a request waits for its end, and that it is stopped when nobody waits any more (`InlineWatch`).
 *
 * The order: submit the run, set the headers that name the run and its session, attach the request, and then either
 * collect the answer (`readToEnd`) or stream it.
 */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import {
  isTerminalEvent,
  type Run,
  type RunCreated,
  TalariaError,
  type TerminalEventName,
} from '@talaria/protocol';
import type { FastifyReply } from 'fastify';
import type { Engine } from '../../engine/engine.ts';
import type { Idempotency } from '../../engine/run-creation.ts';
import type { EventBatch } from '../../journal/feeds.ts';
import type { StoredEvent } from '../../journal/journal.ts';
import { onClose } from '../requests/on-close.ts';
import { lastSeq } from '../streams/event-stream.ts';
import type { EventStreams, OpenStream } from '../streams/event-streams.ts';
import type { StreamFormat } from '../streams/stream-format.ts';
import { type InlineReader, type InlineWatch, NO_READER } from './inline-watch.ts';
import { sendInterruption } from './run-failure.ts';
import { type SessionHeaders, sessionHeaders } from './session-headers.ts';

/** How long after its end a run still answers to its idempotency key. */
const IDEMPOTENCY_MS = 300_000;
/** The operating system notices in the end that a client has vanished. */
const KEEPALIVE_MS = 30_000;

export interface InlineRequest {
  owner: string;
  session: SessionHeaders;
  submit(): Promise<RunCreated>;
  /** The run continues even if every reader leaves. */
  background?: boolean;
}

export interface InlineRun {
  run: Run;
  reader: InlineReader;
}

export interface InlineRunsOptions {
  engine: Engine;
  watch: InlineWatch;
  streams: EventStreams;
}

export class InlineRuns {
  readonly #options: InlineRunsOptions;
  /** The requests that wait for the end of their run. */
  readonly #waiting = new Set<(error: TalariaError) => Promise<void>>();
  /** Those, and the requests that get a stream. */
  readonly #open = new Set<ServerResponse>();

  constructor(options: InlineRunsOptions) {
    this.#options = options;
  }

  async start(reply: FastifyReply, request: InlineRequest): Promise<InlineRun & { replayed: boolean }> {
    const { engine, watch } = this.#options;
    const { owner, session, submit, background = false } = request;
    const { run_id, replayed } = await submit();
    const reader = background ? NO_READER : watch.attach(owner, run_id);
    this.#follow(reply, reader);
    const run = await engine.get(owner, run_id);
    reply.headers({ 'x-talaria-run-id': run_id, ...sessionHeaders(run.session_id, session.sessionKey) });
    if (replayed) reply.header('idempotency-replayed', 'true');
    return { run, reader, replayed };
  }

  /** Another reader of an existing run; the watch decides whether this reader keeps the run going. */
  join(reply: FastifyReply, owner: string, run: Run): InlineRun {
    const reader = this.#options.watch.join(owner, run.run_id);
    this.#follow(reply, reader);
    return { run, reader };
  }

  /**
   * Passes the events of the run after the cursor to `take`, up to the last one or to its next wait for the client.
   * False when the answer cannot be given any more: the client has gone, or was told that the server shuts down. The
   * run continues either way.
   */
  async readToEnd(
    reply: FastifyReply,
    { run, reader }: InlineRun,
    take: (event: StoredEvent) => void,
    after = -1,
  ): Promise<boolean> {
    const gone = (): false => {
      reply.hijack();
      return false;
    };
    if (reply.raw.destroyed) return gone();
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    let ended = false;
    const detach = this.#options.engine.subscribe(run.run_id, after, {
      deliver(batch) {
        for (const event of batch) {
          if (ended) break;
          take(event);
          ended = endsAnswer(event.event);
        }
        if (ended) resolve(true);
      },
      fail: reject,
    });
    const sent = new Promise<void>((done) => onClose(reply, done));
    const interrupt = (error: TalariaError): Promise<void> => {
      reject(error);
      return sent;
    };
    this.#waiting.add(interrupt);
    void sent.then(() => resolve(false));
    try {
      return (await promise) || gone();
    } catch (error) {
      const reason =
        error instanceof TalariaError ? error : new TalariaError('internal_error', { cause: error });
      sendInterruption(reply, reason, run.run_id);
      return false;
    } finally {
      detach();
      this.#waiting.delete(interrupt);
      reader.done();
    }
  }

  stream(
    reply: FastifyReply,
    { run, reader }: InlineRun,
    format: StreamFormat,
    position: Partial<Pick<OpenStream<EventBatch, number>, 'after' | 'ended' | 'subscribe'>> = {},
  ): void {
    const { engine, streams } = this.#options;
    streams.open(reply, {
      format,
      after: -1,
      cursorAfter: lastSeq,
      subscribe: (cursor, subscriber) => engine.subscribe(run.run_id, cursor, subscriber),
      onEnd: () => reader.done(),
      ...position,
    });
  }

  #follow({ raw: response }: FastifyReply, reader: InlineReader): void {
    response.once('close', () => {
      this.#open.delete(response);
      reader.leave();
    });
    // It may have closed while the run was submitted, and the event does not come again.
    if (response.destroyed) reader.leave();
    else this.#open.add(response);
    response.socket?.setKeepAlive(true, KEEPALIVE_MS);
  }

  /** Resolves when every answer in progress has been given. */
  async answered(): Promise<void> {
    await Promise.all([...this.#open].map((response) => once(response, 'close')));
  }

  /** Tells everyone who waits that the server shuts down. Their runs continue after the next start. */
  async close(): Promise<void> {
    this.#options.watch.close();
    const error = new TalariaError('gateway_draining');
    await Promise.all([...this.#waiting].map((interrupt) => interrupt(error)));
  }
}

/** The run waits for the client, or has ended. */
export function endsAnswer(event: string): event is TerminalEventName | 'run.waiting' {
  return isTerminalEvent(event) || event === 'run.waiting';
}

/** The keys of each route are separate: a key cannot contain a space. */
export function inlineIdempotency(
  route: 'chat' | 'completions' | 'responses' | 'session',
  key: string | undefined,
  request: unknown,
): Idempotency | undefined {
  return key === undefined ? undefined : { key: `${route} ${key}`, body: request, keptMs: IDEMPOTENCY_MS };
}
