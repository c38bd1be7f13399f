/**
 * The entry programs of one backend, as files in the skeleton that becomes the root of its commands. One serves all slots
 * that share a user. They are written in one go, on this thread: a process that another thread starts in between would
 * hold the file open for writing, and then the kernel runs it for nobody.
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

  /** Makes it unless it is there, and tells its place as commands see it. */
  make(entry: Entry): string {
    const inside = pathOf(entry);
    const path = join(this.#rootDir, inside);
    if (existsSync(path)) return inside;
    // Under its own name only when it is whole: half a program would be there for good.
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
