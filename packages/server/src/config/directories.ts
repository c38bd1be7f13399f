/** The operator's directories that runs may begin with, as a JSON object: name → path, mode and, if not all, the keys. */
import { existsSync } from 'node:fs';
import { isAbsolute, relative } from 'node:path';
import { BACKEND_NAMES, BACKENDS, type BackendName } from './backends.ts';
import { isJsonObject, type JsonObject, readsJsonObject } from './json-object.ts';
import type { Kind, Read, ReadContext } from './kinds.ts';
import { readPath, showGiven } from './kinds.ts';

export interface OperatorDirectory {
  name: string;
  path: string;
  /** `copy`: each run gets a copy. `mount`: runs work in the directory itself. */
  mode: 'copy' | 'mount';
  /** The names of the API keys that may use it; undefined for all. */
  keys: readonly string[] | undefined;
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
const FIELDS = ['path', 'mode', 'keys'];

export function directories(): Kind<readonly OperatorDirectory[]> {
  return {
    name: 'json',
    allowed:
      'a JSON object of directories by name, each {"path", "mode": "copy" or "mount", "keys"}; see docs/workspaces.md',
    secret: false,
    ...readsJsonObject(readDirectories),
    shown: showGiven,
    format: (list) =>
      JSON.stringify(Object.fromEntries(list.map(({ name, ...directory }) => [name, directory]))),
  };
}

export interface DirectoryCircumstances {
  dataDir: string;
  /** The names of the API keys. */
  keys: readonly string[];
  backend: BackendName;
  /** Whether other servers may share the store. */
  isShared: boolean;
  configFile: string | undefined;
}

/** Problems of directories that are fine by themselves, but not together or not under these circumstances. */
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

function readDirectories(object: JsonObject, context: ReadContext): Read<readonly OperatorDirectory[]> {
  const problems: string[] = [];
  const list = Object.entries(object).flatMap(
    ([name, entry]) => readDirectory(name, entry, context, problems) ?? [],
  );
  return problems.length === 0 ? { value: list } : { refused: problems.join('; ') };
}

function readDirectory(
  name: string,
  entry: unknown,
  context: ReadContext,
  problems: string[],
): OperatorDirectory | undefined {
  const problem = (text: string): undefined => {
    problems.push(`${JSON.stringify(name.slice(0, 40))} ${text}`);
  };
  if (!NAME.test(name)) return problem('must be a name of 1 to 64 letters, digits, dots, - or _');
  if (!isJsonObject(entry)) return problem('must be an object');
  const { path, mode = 'copy', keys } = entry;
  const unknown = Object.keys(entry).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) return problem(`has the unknown field ${JSON.stringify(unknown.slice(0, 40))}`);
  const read = typeof path === 'string' ? readPath(path, context) : { refused: '' };
  if ('refused' in read) {
    return problem(`needs a 'path' of a directory${read.refused === '' ? '' : `: ${read.refused}`}`);
  }
  if (mode !== 'copy' && mode !== 'mount') return problem("has a 'mode' that is neither copy nor mount");
  const isList = Array.isArray(keys) && keys.every((key) => typeof key === 'string');
  if (keys !== undefined && !isList) return problem("has 'keys' that are not a list of names of API keys");
  return { name, path: read.value, mode, keys: keys as string[] | undefined };
}
