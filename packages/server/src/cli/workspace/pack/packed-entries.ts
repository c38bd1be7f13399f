/**
 * The surveyed files as entries of an archive, while others may be changing them.
 *
 * - A file that is gone by now is left out, as if it had been deleted before.
 * - A file has the length that it has when it is opened. One that becomes shorter while it is read ends the packing: the
 *   rest of it would have to be made up. Of one that is overwritten meanwhile, a part may be older than the rest.
 * - Files are read in pieces. Only one is open at a time.
 */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { TreeEntry } from '@talaria/sandbox';
import { CommandError } from '../../command-error.ts';
import { shownPath } from '../../text/shown-path.ts';
import { bytesOf, inside, type RawPath, textOf } from './raw-path.ts';
import { type Survey, UNREADABLE } from './survey.ts';

/** Not through a link, and without waiting for somebody to write into a FIFO. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const LINK_MODE = 0o777;
const DIRECTORY_MODE = 0o755;
const CHUNK_BYTES = 256 * 1024;

/** `onBytes` gets the number of bytes as they are read. What cannot be read is added to `leftOut` of the survey. */
export async function* packedEntries(
  { directory, entries, leftOut }: Survey,
  onBytes: (count: number) => void,
): AsyncGenerator<TreeEntry, void> {
  for (const entry of entries) {
    const { path } = entry;
    const name = bytesOf(path);
    if (entry.type === 'symlink') {
      const { target, modifiedMs } = entry;
      yield {
        name,
        type: 'symlink',
        size: target.length,
        mode: LINK_MODE,
        modifiedMs,
        content: () => each(target),
      };
    } else if (entry.type === 'directory') {
      const { modifiedMs } = entry;
      yield { name, type: 'directory', size: 0, mode: DIRECTORY_MODE, modifiedMs, content: () => each() };
    } else {
      const opened = await openFile(directory, path);
      if (opened === 'unreadable') leftOut.push({ path: textOf(path), reason: UNREADABLE });
      if (typeof opened === 'string') continue;
      await using file = opened;
      const stats = await file.stat();
      if (!stats.isFile()) continue;
      const { size, mode, mtimeMs: modifiedMs } = stats;
      const content = () => bytesFrom(file, size, path, onBytes);
      yield { name, type: 'file', size, mode, modifiedMs, content };
    }
  }
}

async function openFile(directory: string, path: RawPath): Promise<FileHandle | 'gone' | 'unreadable'> {
  try {
    return await open(inside(directory, path), FLAGS);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO'].includes(code)) return 'gone';
    if (['EACCES', 'EPERM'].includes(code)) return 'unreadable';
    throw new CommandError(`${shownPath(textOf(path))} cannot be read: ${code}`);
  }
}

async function* bytesFrom(
  file: FileHandle,
  size: number,
  path: RawPath,
  onBytes: (count: number) => void,
): AsyncGenerator<Buffer, void> {
  for (let at = 0; at < size; ) {
    const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size - at));
    const { bytesRead } = await file.read(chunk, 0, chunk.length, at);
    if (bytesRead === 0) {
      const name = shownPath(textOf(path));
      throw new CommandError(`${name} became shorter while it was packed; try again when nothing changes it`);
    }
    at += bytesRead;
    onBytes(bytesRead);
    yield chunk.subarray(0, bytesRead);
  }
}

async function* each(...pieces: Buffer[]): AsyncGenerator<Buffer, void> {
  yield* pieces;
}
