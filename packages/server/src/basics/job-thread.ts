/**
 * The main thread's side of a thread that answers one message after the other (job-thread-program.ts), so that nothing else of the
 * process waits for what takes long. A process has one thread of a kind; the first job starts it, and it does not keep the process
 * alive. If it dies, its jobs fail, and the next one starts another. Owners take turns, and few jobs are handed over ahead.
 */
import { extname } from 'node:path';
import { type Transferable, Worker } from 'node:worker_threads';
import { OwnerTurns } from './owner-turns.ts';
import { threadEnv } from './thread-env.ts';

export interface JobThreadOptions {
  /** The URL of the file beside the program, and the program's name without its ending: `.ts` here, `.js` after a build. */
  beside: string;
  program: string;
  /** How many jobs are prepared or in the thread at a time. */
  atOnce: number;
  /** Over it the thread dies, and not the process. */
  memoryMb: number;
}

export interface JobOwner {
  name: string;
  /** Of an owner's jobs the smallest is next. */
  size: number;
}

export interface Job<Question> {
  question: Question;
  /** The thread takes these over. */
  transfer?: readonly Transferable[];
}

export interface JobAnswer {
  id: number;
  answer?: unknown;
  failed?: string;
}

export class JobThread<Question, Answer> {
  readonly #options: JobThreadOptions;
  readonly #turns: OwnerTurns;
  readonly #open = new Map<number, PromiseWithResolvers<Answer>>();
  #worker: Worker | undefined;
  #count = 0;

  constructor(options: JobThreadOptions) {
    this.#options = options;
    this.#turns = new OwnerTurns(options.atOnce);
  }

  /** `prepare` is called when it is the job's turn, so what it reads is not in memory before. */
  ask(
    owner: JobOwner,
    prepare: () => Job<Question> | Promise<Job<Question>>,
    signal?: AbortSignal,
  ): Promise<Answer> {
    return this.#turns.run(owner.name, owner.size, async () => {
      signal?.throwIfAborted();
      const job = await prepare();
      signal?.throwIfAborted();
      return await this.#run(job);
    });
  }

  async #run({ question, transfer = [] }: Job<Question>): Promise<Answer> {
    const id = ++this.#count;
    const job = Promise.withResolvers<Answer>();
    this.#open.set(id, job);
    this.#worker ??= this.#start();
    this.#worker.ref();
    try {
      this.#worker.postMessage({ id, question }, transfer);
      return await job.promise;
    } finally {
      this.#open.delete(id);
      if (this.#open.size === 0) this.#worker?.unref();
    }
  }

  #start(): Worker {
    const { beside, program, memoryMb } = this.#options;
    const worker = new Worker(new URL(`./${program}${extname(beside)}`, beside), {
      env: threadEnv(),
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    });
    worker.on('message', ({ id, answer, failed }: JobAnswer) => {
      const job = this.#open.get(id);
      if (failed === undefined) job?.resolve(answer as Answer);
      else job?.reject(new Error(failed));
    });
    const end = (error: Error): void => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      for (const job of this.#open.values()) job.reject(error);
    };
    worker.once('error', end);
    worker.once('exit', () => end(new Error(`The thread ${program} has ended`)));
    return worker;
  }
}
