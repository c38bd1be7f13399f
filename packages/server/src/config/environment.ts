/**
 * Reads the environment into given values. An empty variable counts as unset, because that is how shells, compose
 * files and unit files spell "none". A misspelt variable is a warning, not an error: the environment is
 * shared with other programs and other versions of this one.
 */

import { didYouMean, nearest } from '../basics/nearest.ts';
import type { Given, GivenValues } from './given.ts';
import { configFileOption, type SettingName, settingList } from './settings.ts';

export type Env = Readonly<Record<string, string | undefined>>;

export interface Environment {
  readonly given: GivenValues;
  readonly configPath: string | undefined;
  readonly warnings: readonly string[];
}

const envNames = new Set<string>([...settingList.map(([, setting]) => setting.env), configFileOption.env]);

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
    .map((name) => `unknown environment variable ${name}${didYouMean(name, envNames)}`);
  return { given, configPath: env[configFileOption.env] || undefined, warnings };
}

/** Other programs may use API_SERVER_ names; only a probable typo of one of ours is worth a warning. */
function looksLikeOurs(name: string): boolean {
  if (name.startsWith('TALARIA_')) return !otherNames.has(name);
  return name.startsWith('API_SERVER_') && isSlip(name);
}

function isSlip(name: string): boolean {
  const meant = nearest(name, envNames);
  return meant !== undefined && Math.abs(meant.length - name.length) <= 2;
}
