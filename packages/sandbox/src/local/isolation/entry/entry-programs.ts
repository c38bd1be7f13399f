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
  readonly architecture: Architecture;
  readonly #rootDir: string;

  constructor(rootDir: string, architecture: Architecture) {
    this.#rootDir = rootDir;
    this.architecture = architecture;
  }

  /** Creates it unless it exists, and returns its path as commands see it. */
  make(entry: Entry): string {
    return this.add(nameOf(entry), () => entryProgram(entry, this.architecture));
  }

  /** The same for any other program. */
  add(name: string, render: () => Buffer): string {
    const inside = `${OWN_DIR}/${name}`;
    const path = join(this.#rootDir, inside);
    if (existsSync(path)) return inside;
    // Gets its final name only when it is complete: half a program would stay forever.
    const unfinished = `${path}.new`;
    writeFileSync(unfinished, render());
    chmodSync(unfinished, 0o555);
    renameSync(unfinished, path);
    return inside;
  }
}

function nameOf({ user, mappedUser, group }: Entry): string {
  return ['enter', user ?? 'same', mappedUser ?? 'same', group ?? 'same'].join('-');
}
