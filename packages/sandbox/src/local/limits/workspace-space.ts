/**
 * How much of its limit a workspace has used, /tmp included.
 *
 * No kernel limits the space under a directory for ordinary users, so it is measured. Measuring walks the tree; how
 * much can have been written at most since the last walk is known without one (disk-meter.ts). So the tree is measured
 * when it could be over the limit, and now and then anyway.
 *
 *   below ─measured over the limit→ full: everything that runs in the slot is ended, and further commands can delete files
 *     but write none
 *   full ─measured below it→ below
 *
 * A command can exceed the limit by what it writes until the next check and the measurement after it.
 */
import { statSync } from 'node:fs';
import { type DiskUsage, FILE_BYTES } from '../../host/disk-usage.ts';
import { type DiskMeter, type DiskReading, writtenBelow } from './disk-meter.ts';
import { findUnlinked } from './unlinked-files.ts';

const LOOK_MS = 100;
/** Finding what running commands have written takes a read of each of their processes. */
const LOOKS_PER_CLOSE_LOOK = 10;
/** After a measurement that took long, the next one waits this many times as long. */
const PAUSE = 10;
const MAX_AGE_MS = 10_000;
/** How far a full workspace may grow over its limit, because directories grow too when files are moved. */
const SLACK_BYTES = 16 * 1024 * 1024;
/** How much one command may add if the workspace already holds more than limit and slack together. */
const COMMAND_SLACK_BYTES = 1024 * 1024;
/** The share of the limit that may have been written without being found in the tree. */
const UNEXPLAINED = 0.1;

export interface SpaceOptions {
  limitBytes: number;
  usage: DiskUsage;
  meter: Pick<DiskMeter, 'now' | 'recent'>;
}

interface Measurement {
  usedBytes: number;
  /** Bytes that were written before the walk and that it did not find. They are too few to be searched for alone. */
  unexplainedBytes: number;
  /** The meter before the walk. */
  reading: Reading;
  at: number;
  tookMs: number;
}

interface Reading extends DiskReading {
  /** Bytes written by the running processes of the slot, as of their last check. */
  runningBytes: number;
}

export interface SpaceWatcher {
  /** The used space when the command began, if that was over the limit: then the command can write no file. */
  readonly usedBefore: number | undefined;
  /** Called when the workspace holds more than the watcher may fill, and again until it stops watching. */
  onOver(usedBytes: number): void;
  /** The root process of everything that the watcher runs. */
  readonly pid: number | undefined;
}

export class WorkspaceSpace {
  readonly limitBytes: number;
  readonly #options: SpaceOptions;
  readonly #dirs: readonly string[];
  readonly #isNew: boolean;
  readonly #watchers = new Set<SpaceWatcher>();
  #last: Measurement | undefined;
  #measuring: Promise<Measurement> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #looks = 0;
  #runningBytes = 0;

  /** A new workspace is known to be empty. */
  constructor(dirs: readonly string[], isNew: boolean, options: SpaceOptions) {
    this.limitBytes = options.limitBytes;
    this.#options = options;
    this.#dirs = dirs;
    this.#isNew = isNew;
  }

  /** The used space if it is over the limit with `moreBytes` added, else undefined. */
  async usedIfOver(moreBytes = 0): Promise<number | undefined> {
    // A measurement in progress may have missed what was written last.
    await this.#measuring?.catch(() => {});
    const reading = this.#complete(this.#options.meter.now());
    this.#last ??= this.#isNew ? emptyAt(reading) : undefined;
    const room = this.limitBytes - moreBytes;
    if (this.#last && mostUsed(this.#last, reading) <= room) return undefined;
    const { usedBytes } = await this.#measure();
    return usedBytes > room ? usedBytes : undefined;
  }

  watch(watcher: SpaceWatcher): void {
    this.#watchers.add(watcher);
    this.#timer ??= setInterval(() => void this.#look().catch(() => {}), LOOK_MS);
  }

  unwatch(watcher: SpaceWatcher): void {
    this.#watchers.delete(watcher);
    if (this.#watchers.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #look(): Promise<void> {
    if (this.#looks++ % LOOKS_PER_CLOSE_LOOK === 0) this.#runningBytes = writtenBelow(this.#pids());
    if (this.#measuring) return;
    const reading = this.#complete(this.#options.meter.recent());
    if (this.#isDue(reading)) await this.#measure();
  }

  #complete(reading: DiskReading): Reading {
    return { ...reading, runningBytes: this.#runningBytes };
  }

  #pids(): number[] {
    return [...this.#watchers].map(({ pid }) => pid).filter((pid) => pid !== undefined);
  }

  #isDue(reading: Reading): boolean {
    if (!this.#last) return true;
    const ageMs = performance.now() - this.#last.at;
    const lostBytes = this.#last.reading.freeBytes - reading.freeBytes;
    // Otherwise a tree that takes long to walk would hide whatever is written during the pause.
    if (ageMs < this.#last.tookMs * PAUSE && lostBytes < this.limitBytes) return false;
    const lowest = Math.min(...[...this.#watchers].map((watcher) => this.#ceilingOf(watcher)));
    return ageMs > MAX_AGE_MS || mostUsed(this.#last, reading) > lowest;
  }

  /** How much the workspace may hold while this command runs. */
  #ceilingOf({ usedBefore }: SpaceWatcher): number {
    if (usedBefore === undefined) return this.limitBytes;
    return Math.max(this.limitBytes + SLACK_BYTES, usedBefore + COMMAND_SLACK_BYTES);
  }

  #measure(): Promise<Measurement> {
    this.#measuring ??= this.#walk().finally(() => {
      this.#measuring = undefined;
    });
    return this.#measuring;
  }

  async #walk(): Promise<Measurement> {
    const startedAt = performance.now();
    const reading = this.#complete(this.#options.meter.now());
    const found = await this.#options.usage(this.#dirs);
    const { unlinkedBytes, unexplainedBytes } = await this.#unlinked(found, reading);
    const usedBytes = found + unlinkedBytes;
    const at = performance.now();
    this.#last = { usedBytes, unexplainedBytes, reading, at, tookMs: at - startedAt };
    for (const watcher of this.#watchers) {
      if (usedBytes > this.#ceilingOf(watcher)) watcher.onOver(usedBytes);
    }
    return this.#last;
  }

  /** Searches only if much more was written than the walk has found, at once or little by little. */
  async #unlinked(
    foundBytes: number,
    reading: Reading,
  ): Promise<{ unlinkedBytes: number; unexplainedBytes: number }> {
    const pids = this.#pids();
    const [dir = '/'] = this.#dirs;
    if (pids.length === 0 || !this.#last) return { unlinkedBytes: 0, unexplainedBytes: 0 };
    const unexplained = this.#last.unexplainedBytes + Math.max(0, mostUsed(this.#last, reading) - foundBytes);
    if (unexplained < this.limitBytes * UNEXPLAINED) {
      return { unlinkedBytes: 0, unexplainedBytes: unexplained };
    }
    const { bytes, inFlight } = await findUnlinked(pids, statSync(dir).dev);
    // Counts no more than was written: a file that is mapped, or in a socket, may have holes of unknown size.
    return { unlinkedBytes: inFlight ? unexplained : Math.min(unexplained, bytes), unexplainedBytes: 0 };
  }
}

function emptyAt(reading: Reading): Measurement {
  return { usedBytes: 0, unexplainedBytes: 0, reading, at: performance.now(), tookMs: 0 };
}

function mostUsed({ usedBytes, reading: then }: Measurement, now: Reading): number {
  const lost = Math.max(then.freeBytes - now.freeBytes, (then.freeFiles - now.freeFiles) * FILE_BYTES);
  const running = Math.max(0, now.runningBytes - then.runningBytes);
  return usedBytes + Math.max(0, lost, now.writtenBytes - then.writtenBytes + running);
}
