/**
 * The thread for work on many files. It blocks where the main thread would have to wait, which takes a fraction of the
 * time. Jobs take turns, so that a large workspace does not hold up a small one.
 */
import { randomUUID } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import { SandboxError } from '../../errors.ts';
import { readTree } from '../artifacts/read-tree.ts';
import { captureTree } from '../captures/capture-tree.ts';
import { readFiles } from '../captures/read-files.ts';
import { WANTED } from '../snapshots/chunk-reader.ts';
import { restoreEntries } from '../snapshots/restore-entries.ts';
import { nameDamage } from '../snapshots/snapshot-format.ts';
import { CaptureMemory } from './capture-memory.ts';
import {
  AHEAD,
  type FileJob,
  type FromThread,
  type ThreadFailure,
  type ToThread,
} from './thread-messages.ts';

const TURN_MS = 5;

type Done = Extract<FromThread, { done: unknown }>['done'];
/** Yields undefined after some work, a chunk for the other side, or `WANTED` for one from there. */
type Work = Generator<undefined | Uint8Array | typeof WANTED, Done, Uint8Array | undefined>;

interface Job {
  id: number;
  work: Work;
  /** Chunks that came and are not used yet; null is the end. */
  chunks: (Uint8Array | null)[];
  /** Whether the job needs the next chunk to continue. */
  wants: boolean;
  /** How many chunks the other side has not taken yet. */
  untaken: number;
  /** Whether the job waits for a chunk, or for the other side to take one. */
  waits: 'chunk' | 'taken' | undefined;
}

const port = parentPort!;
const memory = new CaptureMemory();
const jobs = new Map<number, Job>();
const ready: Job[] = [];
let turning = false;

port.on('message', (message: ToThread) => {
  const { id } = message;
  if ('begin' in message) {
    const work = begin(message.begin);
    const job: Job = { id, work, chunks: [], wants: false, untaken: 0, waits: undefined };
    jobs.set(id, job);
    resume(job);
    return;
  }
  const job = jobs.get(id);
  if (!job) return;
  if ('abort' in message) return end(job);
  if ('taken' in message) {
    job.untaken--;
    if (job.waits === 'taken') resume(job);
    return;
  }
  job.chunks.push(message.chunk);
  if (job.waits === 'chunk') resume(job);
});

function begin(job: FileJob): Work {
  switch (job.job) {
    case 'capture':
      return capture(job);
    case 'read':
      return withoutResult(readFiles(job.dir, job.paths));
    case 'tree':
      return withoutResult(readTree(job));
    case 'restore':
      return restoreEntries(job.dir);
  }
}

function* capture({ dir, owner, since, ...options }: Extract<FileJob, { job: 'capture' }>): Work {
  const before = memory.find(owner, since);
  const { tree, ...result } = yield* captureTree(dir, before, options);
  const captureId = randomUUID();
  memory.keep(owner, since, { captureId, tree });
  return { captureId, ...result };
}

function* withoutResult(chunks: Generator<undefined | Uint8Array, void>): Work {
  yield* chunks;
  return null;
}

function resume(job: Job): void {
  job.waits = undefined;
  ready.push(job);
  if (turning) return;
  turning = true;
  takeTurns();
}

/** Messages come in between. */
function takeTurns(): void {
  const job = ready.shift();
  turning = job !== undefined;
  if (job === undefined) return;
  if (jobs.get(job.id) === job && turn(job)) ready.push(job);
  setImmediate(takeTurns);
}

/** Whether it has more to do at once. */
function turn(job: Job): boolean {
  const until = performance.now() + TURN_MS;
  try {
    do {
      const chunk = job.wants ? job.chunks.shift() : null;
      if (chunk === undefined) {
        job.waits = 'chunk';
        return false;
      }
      if (chunk !== null) say({ id: job.id, taken: true });
      const { done, value } = job.work.next(chunk ?? undefined);
      job.wants = value === WANTED;
      if (done) {
        jobs.delete(job.id);
        say({ id: job.id, done: value });
        return false;
      }
      if (value instanceof Uint8Array && !give(job, value)) return false;
    } while (performance.now() < until);
    return true;
  } catch (error) {
    jobs.delete(job.id);
    say({ id: job.id, failed: toFailure(nameDamage(error)) });
    return false;
  }
}

/** Whether the other side has room for more. */
function give(job: Job, chunk: Uint8Array): boolean {
  say({ id: job.id, chunk }, [chunk.buffer as ArrayBuffer]);
  if (++job.untaken < AHEAD) return true;
  job.waits = 'taken';
  return false;
}

/** Closes what it has open. */
function end(job: Job): void {
  jobs.delete(job.id);
  job.work.return(null);
  say({ id: job.id, failed: { message: 'The work was ended' } });
}

function say(message: FromThread, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer);
}

function toFailure(error: unknown): ThreadFailure {
  const { message, code } = error as NodeJS.ErrnoException;
  return error instanceof SandboxError ? { message, code: error.code } : { message, errno: code };
}
