import { type Dir, fstatSync, opendirSync, readdirSync } from 'node:fs';
import { opened } from './open-by-name.ts';

/** How many names a directory is asked for at a time. */
const NAMES_AT_ONCE = 512;
const SMALL_DIRECTORY = 1024 * 1024;

/**
 * The names in a directory: of a small one all at once, which is quicker; of a large one a few at a time, because a command
 * can fill it with more than fits into memory. File systems say the size of a directory in bytes or in entries.
 */
export class DirectoryNames {
  #known: string[] = [];
  #next = 0;
  #directory: Dir | undefined;

  constructor(descriptor: number, { size } = fstatSync(descriptor)) {
    const path = opened(descriptor);
    if (size <= SMALL_DIRECTORY) this.#known = readdirSync(path, 'latin1');
    else this.#directory = opendirSync(path, { encoding: 'latin1', bufferSize: NAMES_AT_ONCE });
  }

  /** Undefined after the last one. */
  next(): string | undefined {
    if (this.#directory === undefined) return this.#known[this.#next++];
    const entry = this.#directory.readSync();
    if (!entry) this.close();
    return entry?.name;
  }

  close(): void {
    this.#known = [];
    this.#directory?.closeSync();
    this.#directory = undefined;
  }
}
