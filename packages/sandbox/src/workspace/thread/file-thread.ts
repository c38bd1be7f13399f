/**
 * The main thread's side of the thread for work on many files (file-thread-program.ts). A process has one; the first job
 * starts it, and it does not keep the process alive. If it dies, its jobs fail, and the next one starts another.
 */
import { getCompileCacheDir } from 'node:module';
import { dirname, extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { WorkspaceCapture } from '../../captures.ts';
import { SandboxError } from '../../errors.ts';
import type { RestoredWorkspace } from '../../snapshots.ts';
import type { TreeStart } from '../artifacts/read-tree.ts';
import {
  AHEAD,
  type CaptureJob,
  type FileJob,
  type FromThread,
  type ThreadFailure,
  type ToThread,
} from './thread-messages.ts';

/** The thread's program beside this file, with the same ending: TypeScript here, JavaScript after a build. */
const PROGRAM = new URL(`./file-thread-program${extname(import.meta.url)}`, import.meta.url);

interface Job {
  settle(end: Extract<FromThread, { done: unknown }> | Error): void;
  onChunk?: (chunk: Uint8Array) => void;
  onTaken?: () => void;
}

class FileThread {
  #worker: Worker | undefined;
  readonly #jobs = new Map<number, Job>();
  #count = 0;

  async capture(job: CaptureJob, signal?: AbortSignal): Promise<WorkspaceCapture> {
    return (await this.#run({ job: 'capture', ...job }, signal)) as WorkspaceCapture;
  }

  /** The bytes of captures/read-files.ts. */
  read(dir: string, paths: readonly string[], signal?: AbortSignal): AsyncGenerator<Buffer, void> {
    return this.#bytes({ job: 'read', dir, paths }, signal);
  }

  /** The bytes of artifacts/read-tree.ts. Once the generator has ended, nothing is open any more. */
  readTree(start: TreeStart, signal?: AbortSignal): AsyncGenerator<Buffer, void> {
    return this.#bytes({ job: 'tree', ...start }, signal);
  }

  async *#bytes(job: FileJob, signal: AbortSignal | undefined): AsyncGenerator<Buffer, void> {
    const chunks: Uint8Array[] = [];
    let wake = (): void => {};
    let isOver = false;
    const id = ++this.#count;
    const onChunk = (chunk: Uint8Array): void => {
      chunks.push(chunk);
      wake();
    };
    const stop = new AbortController();
    const stopped = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
    const over = this.#run(job, stopped, { id, onChunk }).finally(() => {
      isOver = true;
      wake();
    });
    over.catch(() => {});
    try {
      for (;;) {
        const chunk = chunks.shift();
        if (chunk) {
          this.#say({ id, taken: true });
          yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
        } else if (isOver) {
          await over;
          return;
        } else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      stop.abort();
      await over.catch(() => {});
    }
  }

  /** When it settles, nothing is written any more. */
  async restore(dir: string, bytes: AsyncIterable<Uint8Array>): Promise<RestoredWorkspace> {
    const id = ++this.#count;
    const stop = new AbortController();
    let untaken = 0;
    let wake = (): void => {};
    const onTaken = (): void => {
      untaken--;
      wake();
    };
    let isOver = false;
    const restoring = this.#run({ job: 'restore', dir }, stop.signal, { id, onTaken }).finally(() => {
      isOver = true;
      wake();
    });
    restoring.catch(() => {});
    try {
      for await (const chunk of bytes) {
        // The code below reports a failure.
        if (isOver) break;
        this.#say({ id, chunk });
        if (++untaken < AHEAD) continue;
        await new Promise<void>((resolve) => {
          wake = resolve;
          if (isOver) resolve();
        });
      }
      this.#say({ id, chunk: null });
      return (await restoring) as RestoredWorkspace;
    } finally {
      stop.abort();
      await restoring.catch(() => {});
    }
  }

  async #run(
    begin: FileJob,
    signal: AbortSignal | undefined,
    { id = ++this.#count, ...job }: Omit<Job, 'settle'> & { id?: number } = {},
  ): Promise<WorkspaceCapture | RestoredWorkspace | null> {
    signal?.throwIfAborted();
    const abort = (): void => this.#say({ id, abort: true });
    try {
      const end = await new Promise<Extract<FromThread, { done: unknown }>>((resolve, reject) => {
        const settle: Job['settle'] = (end) => (end instanceof Error ? reject(end) : resolve(end));
        this.#jobs.set(id, { ...job, settle });
        this.#worker ??= this.#start();
        this.#worker.ref();
        this.#say({ id, begin });
        signal?.addEventListener('abort', abort, { once: true });
      });
      return end.done;
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', abort);
      this.#jobs.delete(id);
      if (this.#jobs.size === 0) this.#worker?.unref();
    }
  }

  #say(message: ToThread): void {
    this.#worker?.postMessage(message);
  }

  #start(): Worker {
    // Not with the options of the program around it: `--input-type`, for one, fails every thread that has a file.
    const worker = new Worker(PROGRAM, { env: threadEnv(), execArgv: [] });
    worker.on('message', (message: FromThread) => {
      const job = this.#jobs.get(message.id);
      if ('chunk' in message) job?.onChunk?.(message.chunk);
      else if ('taken' in message) job?.onTaken?.();
      else job?.settle('failed' in message ? toError(message.failed) : message);
    });
    const end = (error: Error): void => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      for (const job of this.#jobs.values()) job.settle(error);
    };
    worker.once('error', end);
    worker.once('exit', () => end(new Error('The thread for files has ended')));
    return worker;
  }
}

export const fileThread = new FileThread();

function toError({ message, code, errno }: ThreadFailure): Error {
  if (code !== undefined) return new SandboxError(code, message);
  return Object.assign(new Error(message), errno === undefined ? {} : { code: errno });
}

/** A thread does not inherit the compile cache of its process; half of its start is compiling. */
function threadEnv(): NodeJS.ProcessEnv {
  // The directory in use is a folder per Node version inside the given one.
  const directory = getCompileCacheDir();
  return directory === undefined ? process.env : { ...process.env, NODE_COMPILE_CACHE: dirname(directory) };
}
