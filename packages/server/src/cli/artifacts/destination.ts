/**
 * Where a download goes. A name that comes from a workspace was made up by a command there: one that could land
 * elsewhere, or that does not look like what it is, is refused, and the person gives a name with -o.
 */
import { existsSync, lstatSync, statSync } from 'node:fs';
import { basename, join, posix } from 'node:path';
import { CommandError } from '../command-error.ts';
import { safeCommand } from '../text/safe-text.ts';

const NAME_MAX_BYTES = 255;

/** Separators of any system, drives, and the names Windows keeps for devices. */
const ELSEWHERE = /[/\\:]|^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/** The last part of a path of the workspace; undefined for the workspace itself. */
export function nameOf(path: string): string | undefined {
  const name = posix.basename(path);
  return name === '' || name === '.' ? undefined : name;
}

export function isSafeName(name: string): boolean {
  if (name === '' || name === '.' || name === '..' || name.startsWith('-')) return false;
  if (ELSEWHERE.test(name) || /[\n\t]/.test(name) || safeCommand(name) !== name) return false;
  // Bytes that were not UTF-8 have been replaced on the way: it is not the name of that file.
  return !name.includes('\ufffd') && Buffer.byteLength(name) <= NAME_MAX_BYTES;
}

/** `given` is what followed -o. */
export function chooseDestination(name: string, given: string | undefined): string {
  const intoDirectory = given !== undefined && (/[/\\]$/.test(given) || isDirectory(given));
  if (given !== undefined && !intoDirectory) return given;
  if (!isSafeName(name)) {
    throw new CommandError(
      `${JSON.stringify(safeCommand(name))} is no safe name for a file here; give one with -o`,
    );
  }
  return given === undefined ? name : join(given, name);
}

/** Links count as what they are: something that is there. */
export function refuseExisting(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) throw existsError(path);
}

export function existsError(path: string): CommandError {
  return new CommandError(`${safeCommand(path)} exists; --force replaces it, -o gives another name`);
}

function isDirectory(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}

/** For messages. */
export function shownFile(path: string): string {
  return safeCommand(basename(path));
}
