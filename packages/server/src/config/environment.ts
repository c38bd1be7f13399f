/**
 * Reads the environment into given values. An empty variable counts as unset, because that is how shells, compose
 * files and unit files spell "none". A misspelt variable is a warning, not an error: the environment is
 * shared with other programs and other versions of this one.
 */

import { meantBy } from '../basics/nearest.ts';
import type { Given, GivenValues } from './given.ts';
import { configFileOption, flagOf, type SettingName, settingList } from './settings.ts';

export type Env = Readonly<Record<string, string | undefined>>;

export interface Environment {
  readonly given: GivenValues;
  readonly configPath: string | undefined;
  readonly warnings: readonly string[];
}

const envNames = new Set<string>([...settingList.map(([, setting]) => setting.env), configFileOption.env]);

/** By what tells them apart. A flag counts, too: TALARIA_MODEL_NAME means API_SERVER_MODEL_NAME, whose flag is --model-name. */
const envByWord = new Map<string, string>([
  ...settingList.map(
    ([, setting]) => [flagOf(setting).replaceAll('-', '_').toUpperCase(), setting.env] as const,
  ),
  ...[...envNames].map((env) => [wordOf(env), env] as const),
]);

/** Our own variables that are not settings of the server: tests set failpoints with one, clients read the others. */
const otherNames = new Set(['TALARIA_FAILPOINTS', 'TALARIA_API_KEY', 'TALARIA_BASE_URL']);

export function readEnvironment(env: Env, cwd: string): Environment {
  const given = new Map<SettingName, Given>();
  for (const [name, setting] of settingList) {
    const value = env[setting.env];
    if (value === undefined || value === '') continue;
    given.set(name, { form: 'text', value, label: setting.env, source: 'environment', baseDir: cwd });
  }
  const warnings = Object.keys(env)
    .filter((name) => env[name] !== '' && !envNames.has(name) && looksLikeOurs(name))
    .map((name) => `unknown environment variable ${name}${suggestion(name)}`);
  return { given, configPath: env[configFileOption.env] || undefined, warnings };
}

/** Other programs may use API_SERVER_ names; only a probable typo of one of ours is worth a warning. */
function looksLikeOurs(name: string): boolean {
  if (name.startsWith('TALARIA_')) return !otherNames.has(name);
  return name.startsWith('API_SERVER_') && isSlip(name);
}

function isSlip(name: string): boolean {
  const meant = namesMeantBy(name);
  return meant.length === 1 && Math.abs(meant[0]!.length - name.length) <= 2;
}

function suggestion(name: string): string {
  const meant = namesMeantBy(name);
  return meant.length === 0 ? '' : `; did you mean ${meant.join(' or ')}?`;
}

/** Most names begin alike, so only the rest of a name is compared: otherwise any two short ones would look similar. */
function namesMeantBy(name: string): string[] {
  return meantBy(wordOf(name), envByWord.keys()).map((word) => envByWord.get(word)!);
}

function wordOf(name: string): string {
  return name.replace(/^(TALARIA|API_SERVER)_/, '');
}
