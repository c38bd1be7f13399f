/**
 * The entry programs of one backend, as files in the skeleton that becomes the root of its commands. One serves all slots
 * that share a user. Each is written synchronously, on this thread: a process that another thread starts in between
 * would inherit the file open for writing, and then the kernel refuses to run it.
 */
import { chmodSync, existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OWN_DIR } from '../system-view.ts';
import type { Architecture } from './call-numbers.ts';
import { type Entry, entryProgram } from './entry-program.ts';

export class EntryPrograms {
  readonly #rootDir: string;
  readonly #architecture: Architecture;

  constructor(rootDir: string, architecture: Architecture) {
    this.#rootDir = rootDir;
    this.#architecture = architecture;
  }

  /** Creates it unless it exists, and returns its path as commands see it. */
  make(entry: Entry): string {
    const inside = pathOf(entry);
    const path = join(this.#rootDir, inside);
    if (existsSync(path)) return inside;
    // Gets its final name only when it is complete: half a program would stay forever.
    const unfinished = `${path}.new`;
    writeFileSync(unfinished, entryProgram(entry, this.#architecture));
    chmodSync(unfinished, 0o555);
    renameSync(unfinished, path);
    return inside;
  }
}

function pathOf({ user, mappedUser }: Entry): string {
  const name = [user, mappedUser].map((each) => each ?? 'same').join('-');
  return `${OWN_DIR}/enter-${name}`;
}
