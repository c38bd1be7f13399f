/**
 * The main thread's side of the thread that compares files line by line (line-thread-program.ts): a comparison of large files takes
 * long, and nothing else of the process may wait for it. A process has one thread; the first comparison starts it, and it does not
 * keep the process alive. If it dies, its comparisons fail, and the next one starts another.
 *
 * Contents are read when their turn comes, and few are in memory at a time, whatever the number of requests.
 */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { AtATime } from '../basics/at-a-time.ts';
import { threadEnv } from '../basics/thread-env.ts';
import type { ContentPair } from './compare-contents.ts';
import type { CompareOptions, FromThread, ThreadResult, ToThread } from './line-thread-messages.ts';

/** The thread's program beside this file, with the same ending: TypeScript here, JavaScript after a build. */
const PROGRAM = new URL(`./line-thread-program${extname(import.meta.url)}`, import.meta.url);
/** While one is compared, the next ones are read. */
const AT_ONCE = 8;
/** Several times what the largest files take. Over it the thread dies, and not the process. */
const MEMORY_MB = 512;

interface Job {
  resolve(compared: ThreadResult): void;
  reject(error: Error): void;
}

class LineThread {
  readonly #turns = new AtATime(AT_ONCE);
  readonly #jobs = new Map<number, Job>();
  #worker: Worker | undefined;
  #count = 0;

  /** The thread takes over the buffers. */
  compare(
    read: () => Promise<ContentPair>,
    options: CompareOptions,
    signal?: AbortSignal,
  ): Promise<ThreadResult> {
    return this.#turns.run(async () => {
      signal?.throwIfAborted();
      const pair = await read();
      signal?.throwIfAborted();
      return await this.#run({ id: ++this.#count, ...pair, ...options });
    });
  }

  async #run(message: ToThread): Promise<ThreadResult> {
    const { promise, resolve, reject } = Promise.withResolvers<ThreadResult>();
    this.#jobs.set(message.id, { resolve, reject });
    this.#worker ??= this.#start();
    this.#worker.ref();
    this.#worker.postMessage(message, [message.before.buffer, message.after.buffer] as ArrayBuffer[]);
    try {
      return await promise;
    } finally {
      this.#jobs.delete(message.id);
      if (this.#jobs.size === 0) this.#worker?.unref();
    }
  }

  #start(): Worker {
    const worker = new Worker(PROGRAM, {
      env: threadEnv(),
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    });
    worker.on('message', (message: FromThread) => {
      const job = this.#jobs.get(message.id);
      if ('failed' in message) job?.reject(new Error(message.failed));
      else job?.resolve(message.compared);
    });
    const end = (error: Error): void => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      for (const job of this.#jobs.values()) job.reject(error);
    };
    worker.once('error', end);
    worker.once('exit', () => end(new Error('The thread that compares files has ended')));
    return worker;
  }
}

export const lineThread = new LineThread();
