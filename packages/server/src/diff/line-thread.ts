/**
 * Compares files line by line in a thread. Contents are read when their turn comes, so few are in memory at a time, whatever the
 * number of requests.
 */
import { type JobOwner, JobThread } from '../basics/job-thread.ts';
import type { ContentPair } from './compare-contents.ts';
import type { CompareOptions, PairQuestion, ThreadResult } from './line-thread-messages.ts';

/** While one is compared, the next one is read. More would only make other owners wait. */
const AT_ONCE = 2;
/** Several times what the largest files take. */
const MEMORY_MB = 512;

const thread = new JobThread<PairQuestion, ThreadResult>({
  beside: import.meta.url,
  program: 'line-thread-program',
  atOnce: AT_ONCE,
  memoryMb: MEMORY_MB,
});

/** The thread takes over the buffers. */
export function compareInThread(
  owner: JobOwner,
  read: () => Promise<ContentPair>,
  options: CompareOptions,
  signal?: AbortSignal,
): Promise<ThreadResult> {
  const prepare = async () => {
    const pair = await read();
    const transfer = [pair.before.buffer, pair.after.buffer] as ArrayBuffer[];
    return { question: { ...pair, ...options }, transfer };
  };
  return thread.ask(owner, prepare, signal);
}
