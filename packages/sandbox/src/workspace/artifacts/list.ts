/**
 * Lists a tree in a fixed order with a limit. Of a directory with more names than may be returned, only the first are
 * kept in memory.
 */
import type { Stats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import type { Artifact, ArtifactListing, ArtifactType } from '../../artifacts.ts';
import { describeErrors, inside, type Name } from '../files/workspace-path.ts';
import { isPassing } from './failures.ts';
import { Walk, type WalkedDirectory } from './walk.ts';

const LOOK_AT_ONCE = 64;
const MORE_NAMES = 1024;

export interface ListTreeOptions {
  recursive: boolean;
  maxEntries: number;
  signal?: AbortSignal | undefined;
}

export async function listTree(
  root: string,
  start: readonly Name[],
  { recursive, maxEntries, signal }: ListTreeOptions,
): Promise<ArtifactListing> {
  const entries: Artifact[] = [];
  let truncated = false;
  const walk = new Walk(root, start);
  for await (const directory of walk.directories(signal)) {
    const first = await firstNames(directory, maxEntries - entries.length, directory.components === start);
    truncated ||= first.more;
    const below: Name[][] = [];
    for (let at = 0; at < first.names.length; at += LOOK_AT_ONCE) {
      signal?.throwIfAborted();
      const names = first.names.slice(at, at + LOOK_AT_ONCE);
      for (const found of await Promise.all(names.map((name) => look(directory, name)))) {
        if (found === undefined) continue;
        entries.push(toArtifact(found.components, found.stats));
        if (found.stats.isDirectory()) below.push(found.components);
      }
    }
    if (recursive && walk.descend(below) > 0) truncated = true;
    // Past the limit the walk continues only until it is known whether there is more.
    if (truncated && entries.length >= maxEntries) break;
  }
  return { entries, truncated: truncated || walk.skipped > 0 };
}

export function toArtifact(components: readonly Name[], stats: Stats): Artifact {
  const type = typeOf(stats);
  return {
    path: components.join('/'),
    type,
    size: type === 'file' ? stats.size : 0,
    modifiedAt: stats.mtimeMs / 1000,
  };
}

function typeOf(stats: Stats): ArtifactType {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'directory';
  if (stats.isSymbolicLink()) return 'symlink';
  if (stats.isFIFO()) return 'fifo';
  return stats.isSocket() ? 'socket' : 'device';
}

async function firstNames(
  directory: WalkedDirectory,
  limit: number,
  isStart: boolean,
): Promise<{ names: Buffer[]; more: boolean }> {
  const names: Buffer[] = [];
  let more = false;
  const cut = (): void => {
    names.sort(Buffer.compare);
    if (names.length > limit) more = true;
    names.length = Math.min(names.length, limit);
  };
  try {
    for await (const name of directory.names()) {
      names.push(name);
      if (names.length > 2 * limit + MORE_NAMES) cut();
    }
  } catch (error) {
    // An unreadable entry does not end a listing, unless it is the requested one.
    if (isStart || !isPassing(error)) throw error;
    more = true;
  }
  cut();
  return { names, more };
}

async function look({ handle, components }: WalkedDirectory, name: Buffer) {
  const found = [...components, name];
  try {
    const stats = await describeErrors(found, () => lstat(inside(handle, name)));
    return { components: found, stats };
  } catch (error) {
    if (isPassing(error)) return undefined;
    throw error;
  }
}
