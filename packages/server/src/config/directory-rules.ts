/** Rules for directories that are fine by themselves, but not together or not under the circumstances. */
import { existsSync } from 'node:fs';
import { isAbsolute, relative } from 'node:path';
import type { OperatorDirectory } from './kinds/directories.ts';
import { BACKEND_NAMES, BACKENDS, type BackendName } from './settings/backends.ts';

export interface DirectoryCircumstances {
  dataDir: string;
  /** The names of the API keys. */
  keys: readonly string[];
  backend: BackendName;
  /** True if other servers may share the store. */
  isShared: boolean;
  configFile: string | undefined;
}

export function directoryProblems(
  list: readonly OperatorDirectory[],
  circumstances: DirectoryCircumstances,
): string[] {
  const { dataDir, keys } = circumstances;
  return list.flatMap((directory) => {
    const { name, path, mode, keys: allowed = [] } = directory;
    const problems: string[] = [];
    if (isWithin(path, dataDir) || isWithin(dataDir, path)) {
      problems.push(`"${name}" overlaps the data directory ${dataDir}, which no run may see; name another`);
    }
    const missing = allowed.find((key) => !keys.includes(key));
    if (missing !== undefined)
      problems.push(`"${name}" names the API key "${missing}", which does not exist`);
    if (mode === 'mount') problems.push(...mountProblems(directory, list, circumstances));
    return problems;
  });
}

/** A directory to copy may come later, and runs without it work. One to mount must be there at start. */
export function missingDirectories(list: readonly OperatorDirectory[]): string[] {
  return list
    .filter(({ path, mode }) => mode === 'copy' && !existsSync(path))
    .map(
      ({ name, path }) =>
        `"${name}" has the path ${path}, which does not exist; until it does, runs that begin with it fail`,
    );
}

function mountProblems(
  { name, path }: OperatorDirectory,
  list: readonly OperatorDirectory[],
  { backend, isShared, configFile }: DirectoryCircumstances,
): string[] {
  const problems: string[] = [];
  const problem = (text: string) => problems.push(`"${name}" has the mode mount, ${text}`);
  if (!BACKENDS[backend].mounts) {
    const able = BACKEND_NAMES.filter((name) => BACKENDS[name].mounts).join(' or ');
    problem(`which only the ${able} backend can do, and the backend is ${backend}; use copy`);
  }
  if (isShared) {
    problem('and the database is Postgres, where a run may continue on another machine; use copy, or SQLite');
  }
  if (configFile !== undefined && isWithin(configFile, path)) {
    problem(`and the configuration ${configFile} is in it, which no run may see; move it`);
  }
  // A run could replace the inner one by a link that leads anywhere.
  const inner = list.find((other) => other.path !== path && isWithin(other.path, path));
  if (inner !== undefined) problem(`and "${inner.name}" is in it; name one of the two`);
  return problems;
}

function isWithin(path: string, directory: string): boolean {
  const way = relative(directory, path);
  return way === '' || !(way === '..' || way.startsWith('../') || isAbsolute(way));
}
