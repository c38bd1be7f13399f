/** Where a journal gets the thread for its writer, and what becomes of the thread when the journal is closed. */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { threadEnv } from '../../basics/thread-env.ts';

/** The thread's program beside this file, with the same ending: TypeScript here, JavaScript after a build. */
const THREAD = new URL(`./writer-thread${extname(import.meta.url)}`, import.meta.url);

export interface WriterThreads {
  /** A thread that has no database open. */
  take(): Worker;
  /** Takes back a thread that has closed its database. */
  giveBack(thread: Worker): Promise<unknown>;
}

/** A server has one journal: its thread starts and ends with it. */
export const OWN_THREAD: WriterThreads = {
  take: startThread,
  giveBack: (thread) => thread.terminate(),
};

export function startThread(): Worker {
  return new Worker(THREAD, { env: threadEnv() });
}
