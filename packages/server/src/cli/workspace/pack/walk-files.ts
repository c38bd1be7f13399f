/** All files below a directory that a rule does not leave out. Links are not followed. */
import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { inside, joined, type RawPath, toRaw } from './raw-path.ts';

export interface WalkRules {
  /** Before anything in this directory is asked about; '' is where the walk begins. */
  enter(directory: RawPath): Promise<void>;
  leavesOut(path: RawPath, isDirectory: boolean): boolean;
}

export const EVERYTHING: WalkRules = {
  enter: async () => {},
  leavesOut: () => false,
};

export interface Walked {
  readonly path: RawPath;
  /** `entry` is anything but a directory; the other two are directories. */
  readonly kind: 'entry' | 'empty' | 'unreadable';
}

export async function* walkFiles(
  directory: string,
  rules: WalkRules,
  start: RawPath = '',
): AsyncGenerator<Walked, void> {
  await rules.enter(start);
  const entries = await entriesOf(directory, start);
  if (entries === undefined) yield { path: start, kind: 'unreadable' };
  if (entries?.length === 0) yield { path: start, kind: 'empty' };
  for (const entry of entries ?? []) {
    const path = joined(start, toRaw(entry.name));
    if (rules.leavesOut(path, entry.isDirectory())) continue;
    if (entry.isDirectory()) yield* walkFiles(directory, rules, path);
    else yield { path, kind: 'entry' };
  }
}

async function entriesOf(directory: string, path: RawPath): Promise<Dirent<Buffer>[] | undefined> {
  const options = { withFileTypes: true, encoding: 'buffer' } as const;
  return readdir(inside(directory, path), options).catch(() => undefined);
}
