/**
 * One subscriber's stream of a run's events.
 *
 * What is unread stays bounded: while catching up, the next page is read only when the last one has left; while
 * live, a reader that still has more than the bound to read when new events arrive is disconnected. Either way
 * it can come back with its cursor and loses nothing.
 */
import type { ServerResponse } from 'node:http';
import {
  encodeEventJson,
  encodeSseFrame,
  isTerminalEvent,
  SSE_CLOSED,
  SSE_KEEPALIVE,
  SSE_OPEN,
} from '@talaria/protocol';
import type { EventBatch, Subscriber } from '../journal/feeds.ts';

/** A reader that takes nothing for this long while catching up is gone. */
const STALL_MS = 30_000;

const OPEN = Buffer.from(SSE_OPEN);
const KEEPALIVE = Buffer.from(SSE_KEEPALIVE);
const CLOSED = Buffer.from(SSE_CLOSED);

export class EventStream implements Subscriber {
  readonly #runId: string;
  readonly #response: ServerResponse;
  readonly #bufferBytes: number;
  #lastWriteAt = performance.now();

  constructor(runId: string, response: ServerResponse, bufferBytes: number) {
    this.#runId = runId;
    this.#response = response;
    this.#bufferBytes = bufferBytes;
    response.write(OPEN);
  }

  deliver(batch: EventBatch): void {
    if (this.#response.writableLength > this.#bufferBytes) {
      this.#response.destroy();
      return;
    }
    const ended = isTerminalEvent(batch.at(-1)!.event);
    this.#write(encodeBatch(this.#runId, batch));
    if (ended) this.end();
  }

  /** Resolves when what was written has been taken, or the reader has gone. */
  ready(): Promise<void> {
    const response = this.#response;
    if (!response.writableNeedDrain) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        response.off('drain', done);
        response.off('close', done);
        resolve();
      };
      const timer = setTimeout(() => response.destroy(), STALL_MS);
      response.on('drain', done);
      response.on('close', done);
    });
  }

  fail(): void {
    this.#response.destroy();
  }

  end(): void {
    this.#response.end(CLOSED);
  }

  keepAlive(silentMs: number): void {
    if (performance.now() - this.#lastWriteAt >= silentMs) this.#write(KEEPALIVE);
  }

  #write(bytes: Buffer): void {
    this.#lastWriteAt = performance.now();
    this.#response.write(bytes);
  }
}

/** Every subscriber of a run is given the same batch; it is encoded once. */
const encoded = new WeakMap<EventBatch, Buffer>();

function encodeBatch(runId: string, batch: EventBatch): Buffer {
  let bytes = encoded.get(batch);
  if (bytes === undefined) {
    let text = '';
    for (const event of batch) text += encodeSseFrame(event.seq, encodeEventJson(runId, event));
    bytes = Buffer.from(text);
    encoded.set(batch, bytes);
  }
  return bytes;
}
