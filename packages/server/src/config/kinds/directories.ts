/** The operator's directories that runs may begin with, as a JSON object: name → path, mode and, if not all, the keys. */
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
