/**
 * Finds which of the server's directories a directory of this machine is, or lies in. The server names its directories by
 * fingerprint, so no path leaves this machine, and the server of another machine has none that fits.
 */
import { realpath } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Directory, Talaria } from '@talaria/client';
import { directoryFingerprint } from '../../basics/directory-fingerprint.ts';
import { CommandError } from '../command-error.ts';
import type { Terminal } from '../terminal.ts';
import { safeLine } from '../text/safe-text.ts';
import { shownPath } from '../text/shown-path.ts';

export interface FoundMount {
  /** The server's name for it. */
  name: string;
  /** The directory that the run will work in. */
  path: string;
  /** Whether it is the one that was asked for, and not one above it. */
  isWhole: boolean;
}

export async function findMount(
  client: Talaria,
  directory: string,
  { workingDir }: Terminal,
): Promise<FoundMount> {
  const asked = await realpath(resolve(workingDir, directory)).catch(() => undefined);
  if (asked === undefined || (await directoryFingerprint(asked)) === undefined) {
    throw new CommandError(`${shownPath(directory)} is not a directory that a run can work in`);
  }
  const { data } = await client.directories.list();
  for (const path of withParents(asked)) {
    const fingerprint = await directoryFingerprint(path);
    const found = data.find((one) => one.fingerprint !== null && one.fingerprint === fingerprint);
    if (found !== undefined) return { name: found.name, path, isWhole: path === asked };
  }
  throw new CommandError(
    `The server at ${safeLine(client.baseUrl)} lets no run work in ${shownPath(directory)}. ${whatItAllows(data)} ` +
      `Its operator can allow it, on this machine: TALARIA_DIRECTORIES='${entryFor(asked)}'. ` +
      '--dir works on a copy',
  );
}

function withParents(path: string): string[] {
  const above = dirname(path);
  return above === path ? [path] : [path, ...withParents(above)];
}

function whatItAllows(directories: readonly Directory[]): string {
  const names = directories.filter(({ mode }) => mode === 'mount').map(({ name }) => safeLine(name));
  return names.length === 0 ? 'It lets runs work in none.' : `It lets runs work in ${names.join(', ')}.`;
}

function entryFor(path: string): string {
  return safeLine(JSON.stringify({ project: { path, mode: 'mount' } }));
}
