/**
 * Collects the marks that tools leave in their workspaces, again and again: a server that takes a run over may later delete the files of
 * the server before it, and with them the trace of a call that was made twice.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Mark, parseMarks } from './evidence.ts';

const EVERY_MS = 400;

export class MarkCollector implements Disposable {
  readonly #dataDirs: readonly string[];
  readonly #marks = new Map<string, Mark>();
  readonly #read = new Map<string, string>();
  readonly #timer: NodeJS.Timeout;

  constructor(dataDirs: readonly string[]) {
    this.#dataDirs = dataDirs;
    this.#timer = setInterval(() => this.collect(), EVERY_MS);
  }

  get marks(): Mark[] {
    return [...this.#marks.values()];
  }

  collect(): void {
    for (const dataDir of this.#dataDirs) {
      const workspaces = join(dataDir, 'workspaces');
      for (const name of existsSync(workspaces) ? readdirSync(workspaces) : []) {
        this.#collectFrom(join(workspaces, name, 'marks'));
      }
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #collectFrom(path: string): void {
    try {
      const { mtimeMs, size, ino } = statSync(path);
      const version = `${mtimeMs} ${size} ${ino}`;
      if (this.#read.get(path) === version) return;
      for (const mark of parseMarks(readFileSync(path, 'utf8'))) {
        this.#marks.set(`${mark.mark} ${mark.moment}`, mark);
      }
      this.#read.set(path, version);
    } catch {
      // Not there yet, or just deleted.
    }
  }
}
