/**
 * Where a download is saved. A command in the workspace made up the file's name. A name that could end up elsewhere, or
 * that does not look like what it is, is refused; the person then gives a name with -o.
 */
import { existsSync, lstatSync, statSync } from 'node:fs';
import { basename, join, posix, resolve } from 'node:path';
import { CommandError } from '../command-error.ts';
import { safeCommand } from '../text/safe-text.ts';

const NAME_MAX_BYTES = 255;

/** Separators of any system, drives, and the names Windows keeps for devices. */
const ELSEWHERE = /[/\\:]|^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/** The last part of a workspace path; undefined for the workspace itself. */
export function nameOf(path: string): string | undefined {
  const name = posix.basename(path);
  return name === '' || name === '.' ? undefined : name;
}

export function isSafeName(name: string): boolean {
  if (name === '' || name === '.' || name === '..' || name.startsWith('-')) return false;
  if (ELSEWHERE.test(name) || /[\n\t]/.test(name) || safeCommand(name) !== name) return false;
  // Invalid UTF-8 was replaced on the way: this is not the file's real name.
  return !name.includes('\ufffd') && Buffer.byteLength(name) <= NAME_MAX_BYTES;
}

/** `given` is the value of -o. */
export function chooseDestination(name: string, given: string | undefined, workingDir: string): string {
  const intoDirectory =
    given !== undefined && (/[/\\]$/.test(given) || isDirectory(resolve(workingDir, given)));
  if (given !== undefined && !intoDirectory) return given;
  if (!isSafeName(name)) {
    throw new CommandError(`${JSON.stringify(safeCommand(name))} is not a safe file name; give one with -o`);
  }
  return given === undefined ? name : join(given, name);
}

/** Links count as existing, wherever they lead. */
export function refuseExisting(place: string, shown: string): void {
  if (lstatSync(place, { throwIfNoEntry: false }) !== undefined) throw existsError(shown);
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
