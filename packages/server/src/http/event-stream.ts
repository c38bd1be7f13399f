/**
 * One subscriber's stream of a run's events.
 *
 *   catching up ──at the end of the log──▶ live ──more than the bound unread──▶ behind ──all taken──▶ catching up
 *
 * What is unread stays bounded. While catching up, the next page is read only when the last one has left. A live
 * reader with more than the bound to read is left out of the live events and catches up again from its cursor, so a
 * burst costs a healthy reader nothing. One that takes nothing for a while is disconnected: it can come back with
 * its cursor and loses nothing.
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

/** A reader that takes nothing for this long although something waits for it is gone. */
const STALL_MS = 8_000;

const OPEN = Buffer.from(SSE_OPEN);
const KEEPALIVE = Buffer.from(SSE_KEEPALIVE);
const CLOSED = Buffer.from(SSE_CLOSED);

export interface EventStreamOptions {
  runId: string;
  /** The cursor: the last event the reader has had, -1 for none. */
  after: number;
  bufferBytes: number;
  stallMs?: number;
  /** Delivers the events after the cursor, then live ones, until what it returns is called. */
  subscribe(after: number, subscriber: Subscriber): () => void;
}

export class EventStream implements Subscriber {
  readonly #options: EventStreamOptions;
  readonly #response: ServerResponse;
  #after: number;
  #behind = false;
  #unsubscribe = (): void => {};
  #lastWriteAt = performance.now();

  constructor(response: ServerResponse, options: EventStreamOptions) {
    this.#response = response;
    this.#options = options;
    this.#after = options.after;
    response.on('error', () => {});
    response.on('close', () => this.#unsubscribe());
    // Fires when for so long nothing was written and nothing of what was written has left.
    response.setTimeout(options.stallMs ?? STALL_MS, () => {
      if (response.writableLength > 0) response.destroy();
    });
    response.write(OPEN);
  }

  start(): void {
    this.#unsubscribe = this.#options.subscribe(this.#after, this);
  }

  deliver(batch: EventBatch): void {
    if (this.#behind || this.#response.destroyed) return;
    const bound = Math.max(this.#options.bufferBytes, this.#response.writableHighWaterMark);
    if (this.#response.writableLength > bound) {
      this.#behind = true;
      void this.#catchUp();
      return;
    }
    const last = batch.at(-1)!;
    this.#after = last.seq;
    this.#write(encodeBatch(this.#options.runId, batch));
    if (isTerminalEvent(last.event)) this.end();
  }

  /** Resolves when what was written has been taken, or the reader has gone. */
  ready(): Promise<void> {
    const response = this.#response;
    if (!response.writableNeedDrain || response.destroyed) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        response.off('drain', done);
        response.off('close', done);
        resolve();
      };
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

  /** Breaks a silence; a reader that has not taken what waits for it needs no more. */
  keepAlive(silentMs: number): void {
    const { writableEnded, writableLength } = this.#response;
    if (writableEnded || writableLength > 0) return;
    if (performance.now() - this.#lastWriteAt >= silentMs) this.#write(KEEPALIVE);
  }

  async #catchUp(): Promise<void> {
    await this.ready();
    // A turn of the event loop in any case: without one no byte leaves.
    await new Promise((resolve) => setImmediate(resolve));
    this.#behind = false;
    this.#unsubscribe();
    if (!this.#response.destroyed) this.start();
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
