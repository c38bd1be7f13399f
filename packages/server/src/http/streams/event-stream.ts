/**
 * One subscriber's stream, of a run's events or of changes of runs, written by a `StreamFormat`.
 *
 *   catching up ──at the end of the log──▶ live ──more than the bound unread──▶ behind ──all taken──▶ catching up
 *
 * The unread data stays bounded. While catching up, the next page is read only when the last one has been sent. A live
 * reader with more than the bound unread gets no live events, and catches up again from its cursor, so a burst costs a
 * healthy reader nothing. A reader that reads nothing for a while is disconnected: it can come back with its cursor and
 * loses nothing.
 */
import type { ServerResponse } from 'node:http';
import { SSE_KEEPALIVE, TalariaError } from '@talaria/protocol';
import type { EventBatch, Subscriber } from '../../journal/feeds.ts';
import type { StreamFormat } from './stream-format.ts';

/** A reader that reads nothing for this long although data waits for it is gone. */
const STALL_MS = 8_000;

const KEEPALIVE = Buffer.from(SSE_KEEPALIVE);

export interface EventStreamOptions<Batch, Cursor> {
  format: StreamFormat<Batch>;
  /** The cursor of the last item that the reader has. For events of a run: the last seq, or -1 for none. */
  after: Cursor;
  /** The cursor of a reader that has this batch. */
  cursorAfter(batch: Batch): Cursor;
  bufferBytes: number;
  stallMs?: number;
  /** Delivers the events after the cursor, then live ones, until the returned function is called. */
  subscribe(after: Cursor, subscriber: Subscriber<Batch>): () => void;
  /** Called when this side sends nothing more, whether or not the reader has read it all yet. */
  onEnd?(): void;
}

/** The cursor of a run's events. */
export const lastSeq = (batch: EventBatch): number => batch.at(-1)!.seq;

export class EventStream<Batch, Cursor> implements Subscriber<Batch> {
  readonly #options: EventStreamOptions<Batch, Cursor>;
  readonly #response: ServerResponse;
  #after: Cursor;
  #behind = false;
  #unsubscribe = (): void => {};
  #lastWriteAt = performance.now();
  #hasWritten = false;

  constructor(response: ServerResponse, options: EventStreamOptions<Batch, Cursor>) {
    this.#response = response;
    this.#options = options;
    this.#after = options.after;
    response.on('error', () => {});
    response.on('close', () => this.#unsubscribe());
    // Fires when nothing was written, and nothing written has left, for this long.
    response.setTimeout(options.stallMs ?? STALL_MS, () => {
      if (response.writableLength > 0) response.destroy();
    });
    response.write(options.format.open);
  }

  start(): void {
    this.#unsubscribe = this.#options.subscribe(this.#after, this);
  }

  deliver(batch: Batch): void {
    if (this.#behind || this.#isOver) return;
    const bound = Math.max(this.#options.bufferBytes, this.#response.writableHighWaterMark);
    if (this.#response.writableLength > bound) {
      this.#behind = true;
      void this.#catchUp();
      return;
    }
    const { bytes, ended } = this.#options.format.encode(batch);
    this.#after = this.#options.cursorAfter(batch);
    if (bytes.length > 0) {
      this.#write(bytes);
      this.#hasWritten = true;
    }
    if (ended) this.end();
  }

  /** Resolves when the written data has been read, or the reader has gone. */
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

  /** Disconnects the reader; the run continues. */
  fail(error: unknown): void {
    const reason =
      error instanceof TalariaError ? error : new TalariaError('store_unavailable', { cause: error });
    const lastWords = this.#options.format.interrupted?.(reason);
    if (lastWords === undefined) this.#response.destroy();
    else this.#finish(lastWords);
  }

  end(): void {
    this.#finish(this.#options.format.closed);
  }

  /** Ends a silence; a reader with unread data does not need it. */
  keepAlive(silentMs: number): void {
    const { writableEnded, writableLength } = this.#response;
    if (writableEnded || writableLength > 0) return;
    const keepalive = (this.#hasWritten ? this.#options.format.keepalive : undefined) ?? KEEPALIVE;
    if (performance.now() - this.#lastWriteAt >= silentMs) this.#write(keepalive);
  }

  async #catchUp(): Promise<void> {
    await this.ready();
    // Always waits for a turn of the event loop: without one no byte leaves.
    await new Promise((resolve) => setImmediate(resolve));
    this.#behind = false;
    this.#unsubscribe();
    if (!this.#isOver) this.start();
  }

  get #isOver(): boolean {
    return this.#response.destroyed || this.#response.writableEnded;
  }

  #finish(lastBytes: Buffer): void {
    if (this.#isOver) return;
    this.#unsubscribe();
    this.#options.onEnd?.();
    this.#response.end(lastBytes);
  }

  #write(bytes: Buffer): void {
    this.#lastWriteAt = performance.now();
    this.#response.write(bytes);
  }
}
