/**
 * The virtual environments of the Python clients, one for each file in `requirements`: their newest versions do not agree on
 * a version of `openai`. They are in the user's cache, under a name that changes with the requirements.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const REQUIREMENTS = fileURLToPath(new URL('requirements', import.meta.url));
export const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'talaria-compat');

/** Written last, so that an interrupted installation does not count. */
export const COMPLETE = 'complete';

export interface Environment {
  name: string;
  requirements: string;
  directory: string;
  python: string;
}

/** `folder` has the file with its requirements. */
export function environment(name: string, folder = REQUIREMENTS): Environment {
  const requirements = join(folder, `${name}.txt`);
  const digest = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 12);
  const directory = join(CACHE, `${name}-${digest}`);
  return { name, requirements, directory, python: join(directory, 'bin/python') };
}

export function environments(): Environment[] {
  const files = readdirSync(REQUIREMENTS).filter((file) => file.endsWith('.txt'));
  return files.map((file) => environment(file.slice(0, -'.txt'.length)));
}

export function isInstalled({ directory }: Environment): boolean {
  return existsSync(join(directory, COMPLETE));
}

/** The version of a package that the requirements pin. */
export function pinnedVersion({ requirements }: Environment, name: string): string {
  const line = readFileSync(requirements, 'utf8')
    .split('\n')
    .find((candidate) => candidate.startsWith(`${name}==`));
  if (line === undefined) throw new Error(`${requirements} does not pin ${name}`);
  return line.slice(`${name}==`.length);
}
