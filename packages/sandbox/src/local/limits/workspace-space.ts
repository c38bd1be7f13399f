/**
 * How much of its limit a workspace has used, /tmp included.
 *
 * No kernel limits the space under a directory for ordinary users, so it is measured. Measuring is a walk through the
 * tree; asking the file system for its free space costs nothing, and what that has lost since the last measurement is
 * the most that can have been written meanwhile, unless others freed space at the same time. So the tree is measured
 * when it could be over the limit by now, and now and then anyway.
 *
 *   below ─measured over the limit→ full: what runs is ended, and further commands can delete files but write none
 *   full ─measured below it→ below
 *
 * A command can exceed the limit by what it writes until the next look and the measurement after it.
 */
import { statSync } from 'node:fs';
import type { DiskUsage } from './disk-usage.ts';
import type { FreeSpace } from './free-space.ts';
import { unlinkedBytes } from './unlinked-files.ts';

const LOOK_MS = 100;
/** After a measurement that took long the next one waits so many times as long. */
const PAUSE = 10;
const MAX_AGE_MS = 10_000;
/** What a full workspace may grow by, for directories grow too when files are moved about. */
const SLACK_BYTES = 16 * 1024 * 1024;
/** The share of the limit that is not written without measuring. */
const MUCH = 0.25;
/** The share of the limit that may be missing from the file system and not be found in the tree. */
const UNEXPLAINED = 0.1;

export interface SpaceOptions {
  limitBytes: number;
  usage: DiskUsage;
  free: Pick<FreeSpace, 'now' | 'recent'>;
}

interface Measurement {
  usedBytes: number;
  /** Of the file system, before the walk. */
  freeBytes: number;
  at: number;
  tookMs: number;
}

export interface SpaceWatcher {
  /** Called when the workspace is over its limit, and again until it stops watching. */
  onOver(usedBytes: number): void;
  /** The process below which everything of the watcher's runs. */
  pid: number | undefined;
}

export class WorkspaceSpace {
  readonly limitBytes: number;
  readonly #options: SpaceOptions;
  readonly #dirs: readonly string[];
  readonly #isNew: boolean;
  readonly #watchers = new Set<SpaceWatcher>();
  #last: Measurement | undefined;
  #measuring: Promise<Measurement> | undefined;
  /** What it may grow to. */
  #ceilingBytes: number;
  #timer: NodeJS.Timeout | undefined;

  /** A new workspace is known to be empty. */
  constructor(dirs: readonly string[], isNew: boolean, options: SpaceOptions) {
    this.limitBytes = options.limitBytes;
    this.#options = options;
    this.#dirs = dirs;
    this.#isNew = isNew;
    this.#ceilingBytes = options.limitBytes;
  }

  /** What is used if that is over the limit with `moreBytes` added, else undefined. */
  async usedIfOver(moreBytes = 0): Promise<number | undefined> {
    // One that is going on may have passed by what was written last.
    await this.#measuring;
    const freeBytes = await this.#options.free.now();
    this.#last ??= this.#isNew ? emptyAt(freeBytes) : undefined;
    const room = this.limitBytes - moreBytes;
    // Others may have freed space meanwhile, and before so large a write a walk costs little.
    const isMuch = moreBytes > this.limitBytes * MUCH;
    if (!isMuch && this.#last && mostUsed(this.#last, freeBytes) <= room) return undefined;
    const { usedBytes } = await this.#measure();
    const full = usedBytes > this.limitBytes;
    this.#ceilingBytes = full ? usedBytes + SLACK_BYTES : this.limitBytes;
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
    if (this.#measuring) return;
    const freeBytes = await this.#options.free.recent();
    if (!this.#isDue(freeBytes)) return;
    const { usedBytes } = await this.#measure();
    if (usedBytes <= this.#ceilingBytes) return;
    for (const watcher of this.#watchers) watcher.onOver(usedBytes);
  }

  #isDue(freeBytes: number): boolean {
    if (!this.#last) return true;
    const ageMs = performance.now() - this.#last.at;
    if (ageMs < this.#last.tookMs * PAUSE) return false;
    return ageMs > MAX_AGE_MS || mostUsed(this.#last, freeBytes) > this.#ceilingBytes;
  }

  #measure(): Promise<Measurement> {
    this.#measuring ??= this.#walk().finally(() => {
      this.#measuring = undefined;
    });
    return this.#measuring;
  }

  async #walk(): Promise<Measurement> {
    const startedAt = performance.now();
    const freeBytes = await this.#options.free.now();
    const found = await this.#options.usage(this.#dirs);
    const usedBytes = found + (await this.#unlinked(found, freeBytes));
    const at = performance.now();
    this.#last = { usedBytes, freeBytes, at, tookMs: at - startedAt };
    return this.#last;
  }

  /** Looked for only where more space is gone than the walk has found. */
  async #unlinked(foundBytes: number, freeBytes: number): Promise<number> {
    const pids = [...this.#watchers].map(({ pid }) => pid).filter((pid) => pid !== undefined);
    const [dir = '/'] = this.#dirs;
    if (pids.length === 0 || !this.#last) return 0;
    const unexplained = mostUsed(this.#last, freeBytes) - foundBytes;
    if (unexplained < this.limitBytes * UNEXPLAINED) return 0;
    return unlinkedBytes(pids, statSync(dir).dev);
  }
}

function emptyAt(freeBytes: number): Measurement {
  return { usedBytes: 0, freeBytes, at: performance.now(), tookMs: 0 };
}

function mostUsed({ usedBytes, freeBytes }: Measurement, freeNow: number): number {
  return usedBytes + Math.max(0, freeBytes - freeNow);
}
