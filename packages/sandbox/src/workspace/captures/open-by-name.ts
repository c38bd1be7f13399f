/**
 * The way to files of a workspace (files/workspace-path.ts) for a thread of its own, which need not wait without blocking:
 * each call of node:fs takes a tenth of the time of its promise. Every name is opened inside the directory opened before
 * it, and no link is followed. Names are those of captured-path.ts.
 */
import { closeSync, constants, fstatSync, openSync, type Stats } from 'node:fs';
import { isAscii } from './captured-path.ts';

/** Linux's value on every architecture Node is built for; node:fs does not name it. */
const O_PATH = 0o10000000;
const REFERENCE = O_PATH | constants.O_NOFOLLOW;
const DIRECTORY = REFERENCE | constants.O_DIRECTORY;

const DESCRIPTORS = '/proc/self/fd/';

/** The path for a call of node:fs: text if it is ASCII, else bytes, because Node would encode text as UTF-8. */
export function inside(directory: number, name: string): string | Buffer {
  const path = `${DESCRIPTORS}${directory}/${name}`;
  return isAscii(name) ? path : Buffer.from(path, 'latin1');
}

/** The path of an open descriptor, whatever its name leads to now. */
export function opened(descriptor: number): string {
  return DESCRIPTORS + descriptor;
}

/** The root of a workspace. */
export function openRoot(path: string): number {
  return openSync(path, DIRECTORY);
}

export function openDirectory(parent: number, name: string): number {
  return openSync(inside(parent, name), DIRECTORY);
}

/** The directory at this path, opened step by step. */
export function openDirectoryBelow(root: number, names: readonly string[]): number {
  let directory = openSync(`${opened(root)}/.`, DIRECTORY);
  for (const name of names) {
    const parent = directory;
    try {
      directory = openDirectory(parent, name);
    } finally {
      closeSync(parent);
    }
  }
  return directory;
}

/** Whatever has this name, opened only to examine it: this never blocks and has no effect. */
export function openReference(parent: number, name: string): number {
  return openSync(inside(parent, name), REFERENCE);
}

/** The file that a reference points to, for reading; only if it is known to be a regular file. */
export function openReferenced(reference: number): number {
  return openSync(opened(reference), constants.O_RDONLY);
}

/** A regular file for reading, with its state; undefined for anything else. Nothing else is opened. */
export function openFile(parent: number, name: string): { file: number; stats: Stats } | undefined {
  const reference = openReference(parent, name);
  try {
    if (!fstatSync(reference).isFile()) return undefined;
    const file = openReferenced(reference);
    return { file, stats: fstatSync(file) };
  } finally {
    closeSync(reference);
  }
}

/** Failures of one entry in a tree that others change: it is gone, has been replaced, or its permissions forbid it. */
const PASSING = [
  'ENOENT',
  'ENOTDIR',
  'ELOOP',
  'EACCES',
  'EPERM',
  'EINVAL',
  'ENAMETOOLONG',
  'ENXIO',
  'ESTALE',
];

export function isPassing(error: unknown): boolean {
  return PASSING.includes(String((error as NodeJS.ErrnoException).code));
}

export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
