/**
 * Estimates, without walking a tree, how much can have been written at most. There are two figures:
 *
 * - The space and the files that the file system has lost. They include what other processes wrote, and lack what others
 *   freed meanwhile.
 * - The bytes that this process and every ended command wrote. The kernel counts them for the process that waited for the
 *   command: this one or a keeper. Nothing is deducted, but space reserved without writing and a tmpfs are not included.
 *
 * Each misses what the other sees, so the larger one counts.
 */
import { readdirSync, readFileSync, statfsSync } from 'node:fs';

export interface DiskReading {
  freeBytes: number;
  /** If a file system does not count files, those without content take space that it does count. */
  freeFiles: number;
  writtenBytes: number;
}

/** Repeated checks within this time share one reading. */
const RECENT_MS = 50;
/** A fork bomb has more, but they write nothing. */
const MOST_PROCESSES = 200;

/** Bytes written by commands that keepers waited for. */
let writtenElsewhere = 0;

export function countWritten(bytes: number): void {
  writtenElsewhere += bytes;
}

/** For the file system that holds all workspaces: one reading serves all watchers. */
export class DiskMeter {
  readonly #dir: string;
  #recent: { at: number; reading: DiskReading } | undefined;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** The kernel answers at once: another thread would cost this one more time than a call here. */
  now(): DiskReading {
    const { bavail, bsize, ffree } = statfsSync(this.#dir);
    return {
      freeBytes: bavail * bsize,
      freeFiles: ffree,
      writtenBytes: writtenBy('self') + writtenElsewhere,
    };
  }

  recent(): DiskReading {
    if (!this.#recent || performance.now() - this.#recent.at > RECENT_MS) {
      this.#recent = { at: performance.now(), reading: this.now() };
    }
    return this.#recent.reading;
  }
}

/** Bytes written by these processes and all their descendants, including ended ones if somebody waited for them. */
export function writtenBelow(pids: readonly number[]): number {
  let bytes = 0;
  const found = new Set(pids);
  for (const pid of found) {
    bytes += writtenBy(pid);
    if (found.size < MOST_PROCESSES) for (const child of childrenOf(pid)) found.add(child);
  }
  return bytes;
}

function writtenBy(pid: number | 'self'): number {
  return Number(/^write_bytes: (\d+)$/m.exec(readIfThere(`/proc/${pid}/io`))?.[1] ?? 0);
}

/** The children of all its threads: any thread may have started a process. */
function childrenOf(pid: number): number[] {
  return threadsOf(pid).flatMap((thread) =>
    readIfThere(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number),
  );
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
