/**
 * Creates a tree from the entries of a snapshot, in a directory that nobody else uses yet. Everything is created by name
 * inside the directory opened before it, and no link is followed. If the snapshot was taken of a changing tree, a name can
 * come twice or below something that is not a directory: the first one stays, and the other is counted as left out.
 *
 * It blocks, so it runs in a thread of its own (thread/file-thread.ts).
 */
import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  futimesSync,
  lutimesSync,
  mkdirSync,
  openSync,
  symlinkSync,
  utimesSync,
  writeSync,
} from 'node:fs';
import type { RestoredWorkspace } from '../../snapshots.ts';
import { inside, openDirectoryBelow, opened, openRoot } from '../captures/open-by-name.ts';
import { ChunkReader, type Reading } from './chunk-reader.ts';
import { damaged, type EntryHead, LENGTH_BYTES, parseHead, parseLength } from './snapshot-format.ts';

const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
/** Until everything is in a directory, its own permissions must not get in the way. */
const WRITABLE = 0o700;
const IN_THE_WAY = ['EEXIST', 'ENOTDIR', 'ELOOP', 'ENOENT'];
const ENTRIES_PER_TURN = 64;

interface Directory {
  names: readonly string[];
  mode: number;
  modifiedS: number;
}

export function* restoreEntries(dir: string): Reading<RestoredWorkspace> {
  const bytes = new ChunkReader();
  const root = openRoot(dir);
  const parents = new Parents(root);
  try {
    const directories: Directory[] = [];
    let [entries, omitted] = [0, 0];
    for (;;) {
      const head = parseHead(yield* bytes.take(parseLength(yield* bytes.take(LENGTH_BYTES))));
      if (head.type === 'end') {
        settleDirectories(root, directories);
        return { entries, omitted: omitted + head.omitted };
      }
      const names = namesOf(head.name);
      if (yield* make(parents, names, head, bytes)) {
        entries++;
        const { mode, modified_ms: modifiedMs } = head;
        if (head.type === 'directory') directories.push({ names, mode, modifiedS: modifiedMs / 1000 });
      } else {
        omitted++;
      }
      if ((entries + omitted) % ENTRIES_PER_TURN === 0) yield;
    }
  } finally {
    parents.close();
    closeSync(root);
  }
}

/** The directory in which entries are created. They come directory by directory, so it is mostly the last one. */
class Parents {
  readonly #root: number;
  #last: { path: string; descriptor: number } | undefined;

  constructor(root: number) {
    this.#root = root;
  }

  above(names: readonly string[]): number {
    const parents = names.slice(0, -1);
    const path = parents.join('/');
    if (this.#last?.path !== path) {
      this.close();
      this.#last = { path, descriptor: openDirectoryBelow(this.#root, parents) };
    }
    return this.#last.descriptor;
  }

  close(): void {
    if (this.#last) closeSync(this.#last.descriptor);
    this.#last = undefined;
  }
}

/** False if something else is in the way. The content of the entry is read nevertheless. */
function* make(
  parents: Parents,
  names: readonly string[],
  head: EntryHead,
  bytes: ChunkReader,
): Reading<boolean> {
  const name = names.at(-1) ?? '';
  const modifiedS = head.modified_ms / 1000;
  switch (head.type) {
    case 'directory':
      yield* skip(bytes, head.size);
      return (
        unlessInTheWay(() => mkdirSync(inside(parents.above(names), name), { mode: WRITABLE })) !== IN_IT
      );
    case 'symlink': {
      const target = yield* bytes.take(head.size);
      return (
        unlessInTheWay(() => {
          const path = inside(parents.above(names), name);
          symlinkSync(target, path);
          lutimesSync(path, modifiedS, modifiedS);
        }) !== IN_IT
      );
    }
    case 'file': {
      const file = unlessInTheWay(() => openSync(inside(parents.above(names), name), NEW_FILE, 0o600));
      if (file === IN_IT) {
        yield* skip(bytes, head.size);
        return false;
      }
      try {
        for (let left = head.size; left > 0; ) {
          const piece = yield* bytes.piece(left);
          writeAll(file, piece);
          left -= piece.length;
        }
        fchmodSync(file, head.mode);
        futimesSync(file, modifiedS, modifiedS);
      } finally {
        closeSync(file);
      }
      return true;
    }
  }
}

const IN_IT = Symbol('something else is in the way');

function unlessInTheWay<T>(work: () => T): T | typeof IN_IT {
  try {
    return work();
  } catch (error) {
    if (IN_THE_WAY.includes(String((error as NodeJS.ErrnoException).code))) return IN_IT;
    throw error;
  }
}

function* skip(bytes: ChunkReader, size: number): Reading<void> {
  for (let left = size; left > 0; ) left -= (yield* bytes.piece(left)).length;
}

/** One write may accept only a part. */
function writeAll(file: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at);
}

/** The deepest first: work in a directory changes its time, and its permissions may forbid more. */
function settleDirectories(root: number, directories: readonly Directory[]): void {
  for (const { names, mode, modifiedS } of directories.toReversed()) {
    const descriptor = openDirectoryBelow(root, names);
    try {
      utimesSync(opened(descriptor), modifiedS, modifiedS);
      chmodSync(opened(descriptor), mode);
    } finally {
      closeSync(descriptor);
    }
  }
}

/** Each character is a byte, whatever the encoding of the name. */
function namesOf(base64: string): string[] {
  const names = Buffer.from(base64, 'base64').toString('latin1').split('/');
  if (names.some((name) => ['', '.', '..'].includes(name) || name.includes('\0'))) throw damaged();
  return names;
}
