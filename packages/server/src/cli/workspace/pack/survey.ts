/**
 * Looks at everything in a directory that is to be packed, before anything is sent: how much it is, and what cannot go
 * along. Links stay links. Empty directories of a project do not go along, as in git.
 */
import type { Stats } from 'node:fs';
import { lstat, readlink } from 'node:fs/promises';
import { DEPTH_MAX, leadsOut, PATH_BYTES_MAX } from '../../../setup/archives/entry-rules.ts';
import { CommandError } from '../../command-error.ts';
import type { NotTaken } from '../not-taken.ts';
import { projectFiles } from './project-files.ts';
import { bytesOf, inside, joined, type RawPath, textOf, toRaw } from './raw-path.ts';
import { EVERYTHING, type Walked, walkFiles } from './walk-files.ts';

export type Surveyed =
  /** Its size may change until it is packed. */
  | { readonly path: RawPath; readonly type: 'file'; readonly size: number }
  | { readonly path: RawPath; readonly type: 'symlink'; readonly target: Buffer; readonly modifiedMs: number }
  | { readonly path: RawPath; readonly type: 'directory'; readonly modifiedMs: number };

export interface Survey {
  readonly directory: string;
  readonly entries: readonly Surveyed[];
  readonly bytes: number;
  /** Nothing is left out without a word, except by a rule of the user. */
  readonly leftOut: NotTaken[];
}

export const UNREADABLE = 'not readable';

export interface SurveyOptions {
  /** The repository, too. */
  readonly withGit: boolean;
}

export async function survey(directory: string, { withGit }: SurveyOptions): Promise<Survey> {
  const surveyor = new Surveyor(directory);
  for await (const walked of projectFiles(directory)) {
    if (walked.kind !== 'empty') await surveyor.add(walked);
  }
  if (withGit) {
    await expectRepository(directory);
    for await (const walked of walkFiles(directory, EVERYTHING, '.git')) await surveyor.add(walked);
  }
  const { leftOut } = surveyor;
  const entries = surveyor.entries.sort(byPath);
  const bytes = entries.reduce((sum, entry) => sum + (entry.type === 'file' ? entry.size : 0), 0);
  return { directory, entries, bytes, leftOut };
}

class Surveyor {
  readonly entries: Surveyed[] = [];
  readonly leftOut: NotTaken[] = [];
  readonly #directory: string;
  /** Whether it is a directory itself, and not a link to one. */
  readonly #directories = new Map<RawPath, boolean>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  async add({ path, kind }: Walked): Promise<void> {
    // Git lists a file also if a directory above it has become a link, and leads elsewhere.
    const stats = (await this.#isReal(path)) ? await look(inside(this.#directory, path)) : 'gone';
    if (stats === 'gone') return;
    if (kind === 'unreadable' || stats === 'unreadable') this.#omit(path, UNREADABLE);
    else if (path.split('/').length > DEPTH_MAX || path.length > PATH_BYTES_MAX)
      this.#omit(path, 'too long or too deep a path');
    else if (stats.isFile()) this.entries.push({ path, type: 'file', size: stats.size });
    else if (stats.isSymbolicLink()) await this.#addLink(path, stats);
    else if (!stats.isDirectory()) this.#omit(path, 'neither a file nor a link');
    else if (kind === 'empty') this.entries.push({ path, type: 'directory', modifiedMs: stats.mtimeMs });
    else await this.#addRepository(path);
  }

  async #addLink(path: RawPath, { mtimeMs: modifiedMs }: Stats): Promise<void> {
    const place = inside(this.#directory, path);
    const target = await readlink(place, { encoding: 'buffer' }).catch(() => undefined);
    if (target === undefined) return;
    if (leadsOut(path, toRaw(target))) this.#omit(path, 'a link that leads out of the directory');
    else this.entries.push({ path, type: 'symlink', target, modifiedMs });
  }

  /** One inside this one, which has rules of its own. */
  async #addRepository(path: RawPath): Promise<void> {
    const nested = textOf(path);
    // Programs take only text as arguments.
    if (toRaw(Buffer.from(nested)) !== path) return this.#omit(path, UNREADABLE);
    for await (const { path: below, kind } of projectFiles(`${this.#directory}/${nested}`)) {
      if (kind !== 'empty') await this.add({ path: joined(path, below), kind });
    }
  }

  /** Whether everything above it is a directory. */
  async #isReal(path: RawPath): Promise<boolean> {
    const end = path.lastIndexOf('/');
    if (end < 0) return true;
    const above = path.slice(0, end);
    const known = this.#directories.get(above);
    if (known !== undefined) return known;
    const stats = (await this.#isReal(above)) ? await look(inside(this.#directory, above)) : 'gone';
    const isDirectory = typeof stats === 'object' && stats.isDirectory();
    this.#directories.set(above, isDirectory);
    return isDirectory;
  }

  #omit(path: RawPath, reason: string): void {
    this.leftOut.push({ path: textOf(path), reason });
  }
}

async function expectRepository(directory: string): Promise<void> {
  const stats = await look(Buffer.from(`${directory}/.git`));
  if (typeof stats === 'object' && stats.isDirectory()) return;
  const problem =
    stats === 'gone' ? 'there is none' : 'its files are elsewhere, as in a worktree or submodule';
  throw new CommandError(`--with-git needs a repository in ${directory}: ${problem}`);
}

async function look(path: Buffer): Promise<Stats | 'gone' | 'unreadable'> {
  return lstat(path).catch((error: NodeJS.ErrnoException) =>
    error.code === 'EACCES' ? 'unreadable' : 'gone',
  );
}

/** By bytes. The same directory gives the same archive. */
function byPath(one: { path: RawPath }, other: { path: RawPath }): number {
  return Buffer.compare(bytesOf(one.path), bytesOf(other.path));
}
