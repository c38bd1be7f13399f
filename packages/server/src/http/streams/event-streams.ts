/** The open streams of this server, and the heartbeat that keeps proxies from closing them. */
import { setTimeout as delay } from 'node:timers/promises';
import { TalariaError } from '@talaria/protocol';
import type { FastifyReply } from 'fastify';
import { NumberedItems } from '../../basics/numbered-items.ts';
import { EventStream, type EventStreamOptions } from './event-stream.ts';

/** Together less than the ten seconds of silence that the contract allows. */
const SILENT_MS = 5_000;
const CHECK_MS = 2_500;

/** Well over the time for which events are collected before they are sent. */
const LAST_EVENTS_MS = 100;

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
};

export interface OpenStream<Batch, Cursor> extends Omit<EventStreamOptions<Batch, Cursor>, 'bufferBytes'> {
  /** The reader already has everything. */
  ended?: boolean;
}

export class EventStreams {
  readonly #bufferBytes: number;
  readonly #streams = new NumberedItems<Pick<EventStream<unknown, unknown>, 'keepAlive' | 'fail'>>();
  readonly #timer = setInterval(() => {
    for (const stream of this.#streams) stream.keepAlive(SILENT_MS);
  }, CHECK_MS);

  constructor(bufferBytes: number) {
    this.#bufferBytes = bufferBytes;
  }

  /** Responds with a stream, and the headers that the reply has so far. */
  open<Batch, Cursor>(reply: FastifyReply, { ended = false, ...options }: OpenStream<Batch, Cursor>): void {
    reply.hijack();
    const response = reply.raw;
    // The reader may have gone meanwhile; its close event does not come again.
    if (response.destroyed) return;
    response.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...HEADERS });
    // Events are small, and each write is a whole number of them: waiting for more (Nagle) only delays them.
    response.socket?.setNoDelay(true);
    const stream = new EventStream(response, { ...options, bufferBytes: this.#bufferBytes });
    if (ended) {
      stream.end();
      return;
    }
    const number = this.#streams.add(stream);
    response.on('close', () => this.#streams.remove(number));
    // A pipelined request waits until the responses before it are sent: nothing is read for it that could not be sent.
    if (response.socket === null) response.once('socket', () => stream.start());
    else stream.start();
  }

  /**
   * Ends every stream; the clients come back with their cursors, to whichever server there is then. Events that became
   * durable just now are sent first: often the last one ends the run, and nobody has to come back.
   */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    if (this.#streams.size > 0) await delay(LAST_EVENTS_MS);
    for (const stream of this.#streams) stream.fail(new TalariaError('gateway_draining'));
  }
}
