/**
 * A directory for what is on its way into another one, inside it: so that it arrives by being renamed. Its name has the
 * number of the process, so that what a killed process left can be told from what another one is working on.
 */
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CommandError } from '../../command-error.ts';
import { shownPath } from '../../text/shown-path.ts';

const NAME = /^\.talaria-apply-(\d+)$/;

export class Staging implements AsyncDisposable {
  readonly directory: string;
  #count = 0;

  static async open(root: string): Promise<Staging> {
    await removeAbandoned(root);
    const directory = join(root, `.talaria-apply-${process.pid}`);
    await mkdir(directory, { mode: 0o700 });
    return new Staging(directory);
  }

  private constructor(directory: string) {
    this.directory = directory;
  }

  /** A name that nothing has. */
  next(): string {
    return join(this.directory, String(++this.#count));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.directory, { recursive: true, force: true });
  }
}

async function removeAbandoned(root: string): Promise<void> {
  for (const name of await readdir(root)) {
    const pid = NAME.exec(name)?.[1];
    if (pid === undefined) continue;
    const place = join(root, name);
    if (isAlive(Number(pid))) {
      throw new CommandError(
        `Another talaria apply works in this directory (${shownPath(place)}); wait until it has ended`,
      );
    }
    await rm(place, { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It belongs to somebody else.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
