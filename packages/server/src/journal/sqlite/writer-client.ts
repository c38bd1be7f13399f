/** The journal's side of the writer thread: turns calls into messages and their answers into promises. */
import { getCompileCacheDir } from 'node:module';
import { dirname, extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { TalariaError } from '@talaria/protocol';
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

/** The thread's program beside this file, with the same ending: TypeScript here, JavaScript after a build. */
const THREAD = new URL(`./writer-thread${extname(import.meta.url)}`, import.meta.url);

interface Pending {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

export interface WriterClientOptions {
  path: string;
  now: () => number;
  report: Report;
  onFatal: (error: Error) => void;
}

export class WriterClient {
  /** The operations of the writer, on its thread: `write.append(lease, records, options)`. */
  readonly write: Writes = writesThrough((request) => this.#ask(request));
  readonly #worker: Worker;
  readonly #now: () => number;
  readonly #report: Report;
  readonly #pending = new Map<number, Pending>();
  readonly #exited: Promise<void>;
  #depth: QueueDepth = { queued: 0, leased: 0 };
  #lastError: StoreHealth['lastError'] = null;
  #outbox: WriteRequest[] = [];
  #nextId = 0;
  #gone: Error | undefined;
  #closing = false;
  #onFatal: (error: Error) => void = () => {};

  /** Resolves when the database is open and migrated; rejects with the reason when it cannot be opened. */
  static async open({ path, now, report, onFatal }: WriterClientOptions): Promise<WriterClient> {
    const worker = new Worker(THREAD, {
      workerData: { path },
      env: threadEnv(),
    });
    const client = new WriterClient(worker, now, report);
    await client.#opened();
    client.#onFatal = onFatal;
    return client;
  }

  private constructor(worker: Worker, now: () => number, report: Report) {
    this.#worker = worker;
    this.#now = now;
    this.#report = report;
    worker.on('message', (message: FromWriter) => this.#receive(message));
    this.#exited = new Promise((resolve) => {
      worker.once('error', (error) => this.#fail(error));
      worker.once('exit', () => {
        this.#fail(new Error('The writer thread has ended'));
        resolve();
      });
    });
  }

  /** As of the last commit. */
  get depth(): QueueDepth {
    return this.#depth;
  }

  get lastError(): StoreHealth['lastError'] {
    return this.#lastError;
  }

  async close(): Promise<void> {
    this.#flush();
    this.#closing = true;
    this.#worker.postMessage({ type: 'close' } satisfies ToWriter);
    await this.#exited;
  }

  #ask(request: Parameters<Ask>[0]): Promise<unknown> {
    if (this.#gone !== undefined) return Promise.reject(this.#gone);
    return new Promise((resolve, reject) => {
      const id = this.#nextId++;
      this.#pending.set(id, { resolve, reject });
      this.#outbox.push({ id, ...request, now: this.#now() });
      if (this.#outbox.length === 1) queueMicrotask(() => this.#flush());
    });
  }

  #flush(): void {
    if (this.#outbox.length === 0) return;
    const requests = this.#outbox;
    this.#outbox = [];
    this.#worker.postMessage({ type: 'write', requests } satisfies ToWriter);
  }

  #opened(): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (message: FromWriter): void => {
        this.#worker.off('message', settle);
        this.#worker.off('error', reject);
        if (message.type === 'failed') {
          reject(new Error(message.message));
          return;
        }
        this.#depth = message.depth;
        resolve();
      };
      this.#worker.on('message', settle);
      this.#worker.once('error', reject);
    });
  }

  #receive(message: FromWriter): void {
    if (message.type !== 'done') return;
    this.#depth = message.depth;
    this.#report({ fact: 'journal.commit', ...message.commit });
    for (const response of message.responses) {
      const pending = this.#pending.get(response.id);
      this.#pending.delete(response.id);
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
    for (const pending of this.#pending.values()) pending.reject(this.#gone);
    this.#pending.clear();
  }
}

/** A thread does not inherit the compile cache of its process; half of its start is compiling. */
function threadEnv(): NodeJS.ProcessEnv {
  // The directory in use is a folder per Node version inside the given one.
  const directory = getCompileCacheDir();
  return directory === undefined ? process.env : { ...process.env, NODE_COMPILE_CACHE: dirname(directory) };
}
