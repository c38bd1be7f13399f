/** The journal's side of the writer thread: turns calls into messages and their answers into promises. */
import type { Worker } from 'node:worker_threads';
import { TalariaError } from '@talaria/protocol';
import { NumberedItems } from '../../basics/numbered-items.ts';
import type { Report } from '../../telemetry/facts.ts';
import type { QueueDepth, StoreHealth } from '../journal.ts';
import {
  type Ask,
  type FromWriter,
  fromFailure,
  type ToWriter,
  type WriteFailure,
  type WriteRequest,
  type Writes,
  writesThrough,
} from './writer-protocol.ts';
import type { WriterThreads } from './writer-threads.ts';

interface Pending {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

export interface WriterClientOptions {
  path: string;
  threads: WriterThreads;
  now: () => number;
  report: Report;
  onFatal: (error: Error) => void;
}

export class WriterClient {
  /** The operations of the writer, on its thread: `write.append(lease, records, options)`. */
  readonly write: Writes = writesThrough((request) => this.#ask(request));
  readonly #worker: Worker;
  readonly #threads: WriterThreads;
  readonly #now: () => number;
  readonly #report: Report;
  readonly #pending = new NumberedItems<Pending>();
  /** Resolves when the thread has closed the database, or is gone itself. */
  readonly #ended = Promise.withResolvers<{ exited: boolean }>();
  readonly #onMessage = (message: FromWriter) => this.#receive(message);
  readonly #onError = (error: Error) => this.#fail(error);
  readonly #onExit = () => this.#finish(true);
  #depth: QueueDepth = { queued: 0, leased: 0, waiting: 0, waitingForApproval: 0 };
  #mark = 0;
  #lastError: StoreHealth['lastError'] = null;
  #outbox: WriteRequest[] = [];
  #gone: Error | undefined;
  #closing = false;
  #closed: Promise<void> | undefined;
  #onFatal: (error: Error) => void = () => {};

  /** Resolves when the database is open and migrated; rejects with the reason when it cannot be opened. */
  static async open({ path, threads, now, report, onFatal }: WriterClientOptions): Promise<WriterClient> {
    const worker = threads.take();
    const client = new WriterClient(worker, { threads, now, report });
    try {
      await client.#openAt(path);
    } catch (error) {
      await worker.terminate();
      throw error;
    }
    client.#onFatal = onFatal;
    return client;
  }

  private constructor(
    worker: Worker,
    { threads, now, report }: Pick<WriterClientOptions, 'threads' | 'now' | 'report'>,
  ) {
    this.#worker = worker;
    this.#threads = threads;
    this.#now = now;
    this.#report = report;
    worker.on('message', this.#onMessage).on('error', this.#onError).on('exit', this.#onExit);
  }

  /** The depth of the queue at the last commit. */
  get depth(): QueueDepth {
    return this.#depth;
  }

  /** Every change that was committed by then has a lower mark. */
  get nextMark(): number {
    return this.#mark;
  }

  get lastError(): StoreHealth['lastError'] {
    return this.#lastError;
  }

  close(): Promise<void> {
    this.#closed ??= this.#end();
    return this.#closed;
  }

  async #end(): Promise<void> {
    this.#flush();
    this.#closing = true;
    this.#worker.postMessage({ type: 'close' } satisfies ToWriter);
    const { exited } = await this.#ended.promise;
    if (exited) return;
    this.#worker.off('message', this.#onMessage).off('error', this.#onError).off('exit', this.#onExit);
    await this.#threads.giveBack(this.#worker);
  }

  #ask(request: Parameters<Ask>[0]): Promise<unknown> {
    if (this.#gone !== undefined) return Promise.reject(this.#gone);
    return new Promise((resolve, reject) => {
      const id = this.#pending.add({ resolve, reject });
      this.#outbox.push({ id, ...request, now: this.#now() });
      // One message per turn of the event loop: a message costs more than what is in it.
      if (this.#outbox.length === 1) setImmediate(() => this.#flush());
    });
  }

  #flush(): void {
    if (this.#outbox.length === 0) return;
    const requests = this.#outbox;
    this.#outbox = [];
    this.#worker.postMessage({ type: 'write', requests } satisfies ToWriter);
  }

  #openAt(path: string): Promise<void> {
    this.#worker.postMessage({ type: 'open', path } satisfies ToWriter);
    return new Promise((resolve, reject) => {
      const settle = (message: FromWriter): void => {
        this.#worker.off('message', settle);
        this.#worker.off('error', reject);
        if (message.type === 'failed') reject(new Error(message.message));
        else resolve();
      };
      this.#worker.on('message', settle);
      this.#worker.once('error', reject);
    });
  }

  #finish(exited: boolean): void {
    this.#fail(new Error('The writer thread has ended'));
    this.#ended.resolve({ exited });
  }

  #receive(message: FromWriter): void {
    if (message.type === 'closed') this.#finish(false);
    if (message.type !== 'ready' && message.type !== 'done') return;
    this.#depth = message.depth;
    this.#mark = message.mark;
    if (message.type === 'ready') return;
    this.#report({ fact: 'journal.commit', ...message.commit });
    for (const response of message.responses) {
      const pending = this.#pending.remove(response.id);
      if (pending === undefined) continue;
      if ('error' in response) pending.reject(this.#toError(response.error));
      else pending.resolve(response.value);
    }
  }

  #toError(failure: WriteFailure): Error {
    const error = fromFailure(failure);
    if (error instanceof TalariaError && error.code === 'store_unavailable') this.#remember(failure.message);
    return error;
  }

  #remember(message: string): void {
    this.#lastError = { message, at: this.#now() };
  }

  #fail(error: Error): void {
    if (!this.#closing) this.#remember(error.message);
    if (this.#gone === undefined && !this.#closing) this.#onFatal(error);
    this.#gone ??= error;
    for (const pending of this.#pending.removeAll()) pending.reject(this.#gone);
  }
}
