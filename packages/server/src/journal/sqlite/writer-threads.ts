/** Where a journal gets the thread for its writer, and what becomes of the thread when the journal is closed. */
import { getCompileCacheDir } from 'node:module';
import { dirname, extname } from 'node:path';
import { Worker } from 'node:worker_threads';

/** The thread's program beside this file, with the same ending: TypeScript here, JavaScript after a build. */
const THREAD = new URL(`./writer-thread${extname(import.meta.url)}`, import.meta.url);

export interface WriterThreads {
  /** A thread that has no database open. */
  take(): Worker;
  /** Of a thread that has closed its database. */
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

/** A thread does not inherit the compile cache of its process; half of its start is compiling. */
function threadEnv(): NodeJS.ProcessEnv {
  // The directory in use is a folder per Node version inside the given one.
  const directory = getCompileCacheDir();
  return directory === undefined ? process.env : { ...process.env, NODE_COMPILE_CACHE: dirname(directory) };
}
