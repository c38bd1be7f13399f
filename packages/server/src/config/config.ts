/**
 * The configuration of a server: the values of the table, related settings joined, and the rules between settings.
 */

import { join } from 'node:path';
import { isTimeZone } from '@talaria/protocol';
import { BACKEND_SETTINGS, checkBackend, neededContainers } from './backend-rules.ts';
import { directoryProblems, missingDirectories } from './directory-rules.ts';
import { type ApiKey, type Database, isLoopback } from './kinds/network-kinds.ts';
import type { SettingName, SettingValues } from './settings.ts';
import { checkWebhooks, WEBHOOK_SETTINGS } from './webhooks.ts';

export type Config = Readonly<
  Omit<SettingValues, 'apiKey' | 'apiKeys' | 'database' | 'maxContainers' | 'maxSlotsPerKey' | 'timezone'> & {
    /** Every accepted key; empty means that no key is required. `API_SERVER_KEY` is named `default`. */
    apiKeys: readonly ApiKey[];
    database: Database;
    maxContainers: number;
    maxSlotsPerKey: number;
    timezone: string;
    /** The file that was read, if one was. */
    configFile: string | undefined;
    /** Where each setting came from: `default`, `environment`, `flag --…` or `file …`. */
    sources: Readonly<Record<SettingName, string>>;
  }
>;

/** The name of the key in `API_SERVER_KEY`. */
export const SINGLE_KEY_NAME = 'default';

/** Keys shorter than this can be guessed by a patient stranger. */
const SHORT_KEY_CHARS = 16;

export interface Origins {
  readonly configFile: string | undefined;
  readonly sources: Readonly<Record<SettingName, string>>;
  /** How the user wrote the setting, or its environment name where it was not given. */
  label(name: SettingName): string;
}

/** `values` holds only valid values; a rule is skipped if a value it needs is missing for that reason. */
export function assembleConfig(
  values: SettingValues,
  origins: Origins,
  failed: ReadonlySet<SettingName>,
): { config: Config; problems: string[]; warnings: string[] } {
  const { apiKey, apiKeys: namedKeys = [], database, ...plain } = values;
  const apiKeys = [...(apiKey === undefined ? [] : [{ name: SINGLE_KEY_NAME, key: apiKey }]), ...namedKeys];
  const config: Config = {
    ...plain,
    apiKeys,
    database: database ?? { kind: 'sqlite', path: join(values.dataDir, 'talaria.db') },
    maxContainers: values.maxContainers ?? neededContainers(values),
    maxSlotsPerKey: slotsPerKey(values, apiKeys.length),
    // Found when a job needs it: a process's first call of Intl takes 20 ms.
    get timezone() {
      return values.timezone ?? machineTimeZone();
    },
    configFile: origins.configFile,
    sources: origins.sources,
  };
  const keysKnown = !failed.has('apiKey') && !failed.has('apiKeys');
  const { label } = origins;
  const problems: string[] = [];
  const warnings: string[] = [];

  if (apiKey !== undefined) {
    const twin = namedKeys.find(({ name, key }) => name === SINGLE_KEY_NAME || key === apiKey);
    if (twin !== undefined) {
      const shared = twin.name === SINGLE_KEY_NAME ? `use the name ${twin.name}` : 'hold the same key';
      problems.push(
        `${label('apiKey')} and ${label('apiKeys')} both ${shared}; allowed: unique names and keys, ` +
          `where the key in ${label('apiKey')} is named ${SINGLE_KEY_NAME}`,
      );
    }
  }
  if (!failed.has('host') && keysKnown && !isLoopback(config.host)) {
    if (apiKeys.length === 0) {
      problems.push(
        `${label('host')} is "${config.host}", which other machines can reach, and no key is set, so anyone ` +
          'there could run commands here; set API_SERVER_KEY (for example to the output of ' +
          '`openssl rand -hex 32`), or listen on 127.0.0.1',
      );
    }
    for (const { name, key } of apiKeys) {
      if (key.length >= SHORT_KEY_CHARS) continue;
      warnings.push(
        `the key named ${name} has fewer than ${SHORT_KEY_CHARS} characters and other machines can reach ` +
          'this server; a longer one cannot be guessed',
      );
    }
  }
  if (keysKnown && apiKeys.length === 0 && config.corsOrigins === '*') {
    warnings.push(
      `${label('corsOrigins')} is * and no key is set: any web page opened on this machine can start runs ` +
        'here; set API_SERVER_KEY or name the origins',
    );
  }
  if (config.role !== 'all' && config.database.kind === 'sqlite' && !failed.has('database')) {
    const missing = config.role === 'http' ? 'a worker' : 'runs';
    problems.push(
      `${label('role')} is "${config.role}" and the database is SQLite, which one process has to itself: it would wait for ` +
        `${missing} that cannot come; set TALARIA_DATABASE_URL to a Postgres database, or leave the role at all`,
    );
  }
  const modelKnown = !failed.has('model') && !failed.has('openaiBaseUrl');
  if (
    modelKnown &&
    config.role !== 'http' &&
    config.openaiBaseUrl !== undefined &&
    config.model === undefined
  ) {
    warnings.push(
      `${label('openaiBaseUrl')} is set and ${label('model')} is not: the server asks for the model "default", which only ` +
        'servers of a single model take; name a model of that endpoint',
    );
  }
  if (config.role !== 'http' && !BACKEND_SETTINGS.some((name) => failed.has(name))) {
    const backend = checkBackend(config, label);
    problems.push(...backend.problems);
    warnings.push(...backend.warnings);
  }
  if (keysKnown && !failed.has('directories') && !failed.has('dataDir')) {
    const keys = apiKeys.map(({ name }) => name);
    const found = directoryProblems(config.directories, {
      dataDir: config.dataDir,
      keys,
      backend: config.backend,
      isShared: config.database.kind !== 'sqlite',
      configFile: config.configFile,
    });
    problems.push(...found.map((problem) => `${label('directories')}: ${problem}`));
    const missing = config.role === 'http' ? [] : missingDirectories(config.directories);
    warnings.push(...missing.map((warning) => `${label('directories')}: ${warning}`));
  }
  if (!WEBHOOK_SETTINGS.some((name) => failed.has(name))) {
    const webhooks = checkWebhooks(config, label);
    problems.push(...webhooks.problems);
    warnings.push(...webhooks.warnings);
  }
  return { config, problems, warnings };
}

/** No single one of several keys can use all of it, unless the operator says so. */
function slotsPerKey({ maxSlots, maxSlotsPerKey }: SettingValues, keys: number): number {
  const share = keys > 1 ? Math.ceil(maxSlots / 2) : maxSlots;
  return Math.min(maxSlots, maxSlotsPerKey ?? share);
}

/** A machine may have a time zone that does not exist; then its clock is read as UTC, here as elsewhere. */
function machineTimeZone(): string {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  return timeZone !== undefined && isTimeZone(timeZone) ? timeZone : 'UTC';
}
