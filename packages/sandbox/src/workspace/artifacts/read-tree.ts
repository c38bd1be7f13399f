/**
 * A tree in the form of a snapshot (snapshots/snapshot-format.ts), uncompressed, in buffers of a size. It blocks, so it runs
 * in a thread of its own, and yields from time to time so that this thread can do something else.
 *
 * Each directory is opened from the root, name by name, without following a link. Only one is open at a time, so the
 * number of open files does not grow with the depth.
 */
import { closeSync, fstatSync, readlinkSync } from 'node:fs';
import { fromCapturedPath, toCapturedPath } from '../captures/captured-path.ts';
import { DirectoryNames } from '../captures/directory-names.ts';
import {
  inside,
  isMissing,
  isPassing,
  openDirectoryBelow,
  openReference,
  openReferenced,
  openRoot,
} from '../captures/open-by-name.ts';
import { describeError } from '../files/workspace-path.ts';
import { SnapshotWriter } from '../snapshots/snapshot-writer.ts';
import type { TreeEntry } from './archive-entry.ts';
import { changed, tooLarge, toSandboxError } from './failures.ts';
import { MAX_DEPTH, PendingDirectories } from './walk.ts';

const ENTRIES_PER_TURN = 64;

export interface TreeStart {
  dir: string;
  /** The path in it at which the tree begins. */
  components: readonly string[];
  /** A file at that path and not a directory. */
  isFile: boolean;
}

/** Names are those of captures/captured-path.ts. */
type Names = readonly string[];
type Reading<T> = Generator<Uint8Array | undefined, T>;

export function* readTree({ dir, components, isFile }: TreeStart): Reading<void> {
  const start = components.map((path) => fromCapturedPath({ path }));
  const root = named([], () => openRoot(dir));
  try {
    const reader = new TreeReader(root, start);
    yield* isFile ? reader.readFile() : reader.readDirectories();
  } finally {
    closeSync(root);
  }
}

class TreeReader {
  readonly #root: number;
  readonly #start: Names;
  readonly #snapshot = new SnapshotWriter();
  #looks = 0;

  constructor(root: number, start: Names) {
    this.#root = root;
    this.#start = start;
  }

  *readFile(): Reading<void> {
    const [parents, name] = [this.#start.slice(0, -1), this.#start.at(-1) ?? ''];
    const parent = named(parents, () => openDirectoryBelow(this.#root, parents));
    try {
      // It existed a moment ago: an archive without it would look like an empty one.
      if ((yield* this.#entry(parent, name, [name])) === undefined) throw changed(textOf(this.#start));
    } finally {
      closeSync(parent);
    }
    yield* this.#snapshot.end();
  }

  *readDirectories(): Reading<void> {
    const pending = new PendingDirectories(this.#start);
    for (let path = pending.next(); path; path = pending.next()) {
      const below = yield* this.#directory(path);
      if (pending.descend(below) > 0) {
        throw tooLarge(`There are directories more than ${MAX_DEPTH} levels deep`);
      }
    }
    yield* this.#snapshot.end();
  }

  /** Returns the directories in it. */
  *#directory(path: Names): Reading<Names[]> {
    const below: Names[] = [];
    const entered = this.#enter(path);
    if (entered === undefined) return below;
    const { descriptor, names } = entered;
    try {
      const prefix = path.slice(this.#start.length);
      for (let name = names.next(); name !== undefined; name = names.next()) {
        if (++this.#looks % ENTRIES_PER_TURN === 0) yield;
        const type = yield* this.#entry(descriptor, name, [...prefix, name]);
        if (type === 'directory') below.push([...path, name]);
      }
    } finally {
      names.close();
      closeSync(descriptor);
    }
    return below;
  }

  /** An unreadable directory counts as empty, unless it is the requested one. */
  #enter(path: Names): { descriptor: number; names: DirectoryNames } | undefined {
    const isStart = path === this.#start;
    let descriptor: number | undefined;
    try {
      descriptor = openDirectoryBelow(this.#root, path);
      return { descriptor, names: new DirectoryNames(descriptor) };
    } catch (error) {
      if (descriptor !== undefined) closeSync(descriptor);
      if (isStart) throw nameError(path, error);
      if (!isPassing(error)) throw error;
      this.#snapshot.omitted++;
      return undefined;
    }
  }

  /** Returns the type of the entry; undefined if it is gone, or is neither file, directory nor link. */
  *#entry(directory: number, name: string, path: Names): Reading<TreeEntry['type'] | undefined> {
    const reference = this.#unlessPassing(() => openReference(directory, name));
    if (reference === undefined) return undefined;
    try {
      const stats = fstatSync(reference);
      const described = {
        name: Buffer.from(path.join('/'), 'latin1').toString('base64'),
        mode: stats.mode & 0o777,
        modified_ms: stats.mtimeMs,
      };
      if (stats.isDirectory()) {
        yield* this.#snapshot.entry({ ...described, type: 'directory' });
        return 'directory';
      }
      if (stats.isSymbolicLink()) {
        // By its name, because the target of a link reference cannot be read.
        const target = this.#unlessPassing(() => readlinkSync(inside(directory, name), 'buffer'));
        if (target === undefined) return undefined;
        yield* this.#snapshot.entry({ ...described, type: 'symlink' }, target);
        return 'symlink';
      }
      if (!stats.isFile()) {
        this.#snapshot.omitted++;
        return undefined;
      }
      const file = this.#unlessPassing(() => openReferenced(reference));
      if (file === undefined) return undefined;
      try {
        const head = { ...described, type: 'file', size: stats.size } as const;
        yield* this.#snapshot.file(head, file, () => textOf([...this.#start, ...path]));
      } finally {
        closeSync(file);
      }
      return 'file';
    } finally {
      closeSync(reference);
    }
  }

  #unlessPassing<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      if (!isPassing(error)) throw error;
      if (!isMissing(error)) this.#snapshot.omitted++;
      return undefined;
    }
  }
}

function named<T>(path: Names, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw nameError(path, error);
  }
}

function nameError(path: Names, error: unknown): unknown {
  const components = path.map((name) => textOf([name]));
  return toSandboxError(describeError(error as NodeJS.ErrnoException, components));
}

function textOf(path: Names): string {
  return toCapturedPath(path.join('/')).path;
}
