/**
 * Threads for the journals of tests, one after the other on the same thread: starting one costs a tenth of a second of
 * processor time, and there are hundreds of journals. A thread without a journal keeps no process alive.
 */
import type { Worker } from 'node:worker_threads';
import { startThread, type WriterThreads } from '../writer-threads.ts';

const idle: Worker[] = [];

export const KEPT_THREADS: WriterThreads = {
  take() {
    const thread = idle.pop() ?? startThread();
    thread.ref();
    return thread;
  },
  async giveBack(thread) {
    thread.unref();
    idle.push(thread);
  },
};
