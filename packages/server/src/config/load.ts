/**
 * Loads the configuration. Precedence: flag, then environment, then file, then default.
 *
 * - All problems are reported together, so that a user can fix a configuration in one go.
 * - Only the value that wins is read: a flag can override a broken variable. Unknown flags and keys are always
 *   reported.
 * - The data directory decides where the default file is, so that file cannot move the data directory.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { assembleConfig, type Config } from './config.ts';
import { type Env, readEnvironment } from './environment.ts';
import { type ConfigFile, readConfigFile } from './file.ts';
import { readFlags } from './flags.ts';
import type { Given } from './given.ts';
import { type Read, type ReadContext, readPath } from './kinds/kinds.ts';
import {
  configFileOption,
  type Setting,
  type SettingName,
  type SettingValues,
  settingList,
  settings,
} from './settings.ts';

export interface LoadOptions {
  /** The flags, without the program and the command. */
  argv: readonly string[];
  env: Env;
  homeDir: string;
  /** Defaults to the process's working directory. */
  cwd?: string;
  /** Returns the file's text or throws an error with a `code`, as `fs` does. */
  readFile?: (path: string) => string;
}

export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `The configuration has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}:\n${problems.join('\n')}`,
    );
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

export function loadConfig(options: LoadOptions): { config: Config; warnings: string[] } {
  const { homeDir, cwd = process.cwd() } = options;
  const flags = readFlags(options.argv, cwd);
  const environment = readEnvironment(options.env, cwd);
  const problems = [...flags.problems];
  const warnings = [...flags.warnings, ...environment.warnings];

  const dataDirGiven = flags.given.get('dataDir') ?? environment.given.get('dataDir');
  const context = { homeDir, baseDir: cwd, env: options.env };
  const dataDir = readSetting(settings.dataDir, dataDirGiven, context);
  const file = findFile(flags.configPath, environment.configPath, dataDir, options, cwd);
  problems.push(...file.problems);

  const values: Record<string, unknown> = {};
  const sources: Record<string, string> = {};
  const failed = new Set<SettingName>();
  const givenOf = (name: SettingName) =>
    flags.given.get(name) ?? environment.given.get(name) ?? file.given.get(name);

  for (const [name, setting] of settingList) {
    const given = givenOf(name);
    const read = readSetting(setting, given, context);
    sources[name] = given?.source ?? 'default';
    if ('value' in read) {
      values[name] = read.value;
    } else {
      failed.add(name);
      // A placeholder until the problem is reported, so that the rules below always have a complete object.
      values[name] = setting.default;
      const label = given?.label ?? setting.env;
      const shown = setting.kind.shown(given === undefined ? setting.default : given.value);
      const reason = read.refused === '' ? '' : `: ${read.refused}`;
      problems.push(`${label} is ${shown}${reason}; allowed: ${setting.kind.allowed}`);
    }
  }
  if (
    file.foundInDataDir &&
    dataDirGiven === undefined &&
    file.given.has('dataDir') &&
    !failed.has('dataDir')
  ) {
    if ('value' in dataDir && dataDir.value !== values.dataDir) {
      problems.push(
        `${file.given.get('dataDir')!.label} is ${settings.dataDir.kind.shown(file.given.get('dataDir')!.value)}, ` +
          'but the file was found through the data directory; allowed: leave it out here and set ' +
          `${settings.dataDir.env}, or name the file with --${configFileOption.flag}`,
      );
    }
  }

  const assembled = assembleConfig(
    values as unknown as SettingValues,
    {
      configFile: file.path,
      sources: sources as Record<SettingName, string>,
      label: (name) => givenOf(name)?.label ?? settings[name].env,
    },
    failed,
  );
  problems.push(...assembled.problems);
  if (problems.length > 0) throw new ConfigError(problems);
  return { config: assembled.config, warnings: [...warnings, ...assembled.warnings] };
}

function readSetting<T>(
  setting: Setting<T>,
  given: Given | undefined,
  context: ReadContext,
): Read<T | undefined> {
  if (given !== undefined) {
    const there = { ...context, baseDir: given.baseDir };
    if (given.form === 'json') return setting.kind.fromJson(given.value, there);
    return setting.kind.fromText(String(given.value), there);
  }
  // A default is already a value, except for a path, where the home directory is still to be filled in.
  if (setting.kind.name === 'path') return setting.kind.fromText(String(setting.default), context);
  return { value: setting.default };
}

interface FoundFile extends ConfigFile {
  readonly path: string | undefined;
  readonly foundInDataDir: boolean;
}

function findFile(
  flagPath: string | undefined,
  envPath: string | undefined,
  dataDir: Read<string | undefined>,
  { homeDir, readFile = (path) => readFileSync(path, 'utf8') }: LoadOptions,
  cwd: string,
): FoundFile {
  const none = { given: new Map(), problems: [], path: undefined, foundInDataDir: false };
  const named = flagPath ?? envPath;
  const label = flagPath === undefined ? configFileOption.env : `--${configFileOption.flag}`;
  let path: string;
  if (named !== undefined) {
    const read = readPath(named, { homeDir, baseDir: cwd });
    if ('refused' in read) {
      const reason = read.refused === '' ? '' : `: ${read.refused}`;
      return {
        ...none,
        problems: [`${label} is ${JSON.stringify(named)}${reason}; allowed: the path of a JSON file`],
      };
    }
    path = read.value;
  } else if ('value' in dataDir && dataDir.value !== undefined) {
    path = join(dataDir.value, configFileOption.fileName);
  } else {
    return none;
  }

  let text: string;
  try {
    text = readFile(path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    const absent = code === 'ENOENT' || code === 'ENOTDIR';
    if (named === undefined) {
      return absent ? none : { ...none, problems: [`${path} cannot be read (${code})`] };
    }
    const reason = absent ? 'there is no such file' : `it cannot be read (${code})`;
    return {
      ...none,
      problems: [`${label} is ${JSON.stringify(named)}: ${reason}; allowed: the path of a JSON file`],
    };
  }
  return { ...readConfigFile(path, text), path, foundInDataDir: named === undefined };
}
