/**
 * What `.gitignore` files leave out: those in a directory and below, those above it up to the top of its repository, and
 * `.git/info/exclude`. For directories that git cannot be asked about.
 *
 * The library knows the rules of one file. Here the rules of each file are rewritten to hold from the top, and the last
 * one that matches decides, as in git. A directory that is left out is not entered, so nothing in it can come back.
 */
import { readFile, stat } from 'node:fs/promises';
import { dirname, relative, resolve } from 'node:path';
import ignore, { type Ignore } from 'ignore';
import { inside, joined, type RawPath, toRaw } from './raw-path.ts';
import type { WalkRules } from './walk-files.ts';

const GIT = '.git';
const BYTE_ORDER_MARK = '\xef\xbb\xbf';

/** Characters that mean something else in a pattern than themselves. */
const SPECIAL = /[\\*?[\]!# ]/g;

/** File systems that do not distinguish upper and lower case. */
const IGNORES_CASE = process.platform === 'darwin' || process.platform === 'win32';

export class GitIgnore implements WalkRules {
  readonly #top: string;
  /** The directory, from the top. */
  readonly #start: RawPath;
  #rules: Ignore = noRules();

  static async of(directory: string): Promise<GitIgnore> {
    const start = resolve(directory);
    const top = (await repositoryTop(start)) ?? start;
    const rules = new GitIgnore(top, toRaw(Buffer.from(relative(top, start))));
    await rules.#readAbove();
    return rules;
  }

  private constructor(top: string, start: RawPath) {
    this.#top = top;
    this.#start = start;
  }

  enter(directory: RawPath): Promise<void> {
    return this.#read(joined(this.#start, directory), '.gitignore');
  }

  leavesOut(path: RawPath, isDirectory: boolean): boolean {
    if (path === GIT || path.endsWith(`/${GIT}`)) return true;
    return this.#ignores(joined(this.#start, path), isDirectory);
  }

  async #readAbove(): Promise<void> {
    await this.#read('', '.git/info/exclude');
    const names = this.#start === '' ? [] : this.#start.split('/');
    let above = '';
    for (const name of names) {
      await this.#read(above, '.gitignore');
      above = joined(above, name);
      if (!this.#ignores(above, true)) continue;
      // A user who names an ignored directory wants what is in it: rules from above do not hold there.
      this.#rules = noRules();
      return;
    }
  }

  async #read(directory: RawPath, file: string): Promise<void> {
    const path = inside(this.#top, joined(directory, file));
    const text = await readFile(path, 'latin1').catch(() => undefined);
    const lines = text?.replace(BYTE_ORDER_MARK, '').split(/\r?\n/) ?? [];
    this.#rules.add(lines.map((line) => fromTop(directory, line)));
  }

  #ignores(path: RawPath, isDirectory: boolean): boolean {
    return this.#rules.ignores(isDirectory ? `${path}/` : path);
  }
}

function noRules(): Ignore {
  return ignore({ ignorecase: IGNORES_CASE });
}

/** A rule of this directory as a rule of the top. */
function fromTop(directory: RawPath, line: string): string {
  if (directory === '' || line.startsWith('#')) return line;
  const [, not = '', pattern = ''] = /^(!?)(.*)$/s.exec(line)!;
  const path = pattern.replace(/^\//, '');
  if (path.trim() === '') return '';
  // With a slash in its middle or at its beginning, a pattern begins at its directory.
  const isAnchored = /\/./.test(pattern.trimEnd());
  const above = directory.replace(SPECIAL, '\\$&');
  return `${not}/${above}/${isAnchored ? '' : '**/'}${path}`;
}

/** The next directory with a repository in it, from here upwards. */
async function repositoryTop(directory: string): Promise<string | undefined> {
  for (let at = directory; ; at = dirname(at)) {
    if ((await stat(`${at}/${GIT}`).catch(() => undefined)) !== undefined) return at;
    if (dirname(at) === at) return undefined;
  }
}
