import { statfs } from 'node:fs/promises';

/** What counts as the same moment, for those who look again and again. */
const RECENT_MS = 50;

/** The free space of the file system that holds all workspaces: one answer serves all who watch theirs. */
export class FreeSpace {
  readonly #dir: string;
  #recent: { at: number; bytes: Promise<number> } | undefined;

  constructor(dir: string) {
    this.#dir = dir;
  }

  async now(): Promise<number> {
    const { bavail, bsize } = await statfs(this.#dir);
    return bavail * bsize;
  }

  recent(): Promise<number> {
    if (!this.#recent || performance.now() - this.#recent.at > RECENT_MS) {
      this.#recent = { at: performance.now(), bytes: this.now() };
    }
    return this.#recent.bytes;
  }
}
