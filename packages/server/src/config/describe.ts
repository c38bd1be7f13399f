/** Shows a configuration, and lists the secrets in it so that other code can mask them. */
import { eachHost } from '../network/postgres-hosts.ts';
import { type Config, SINGLE_KEY_NAME } from './config.ts';
import { secretsInHeaders } from './kinds/header-list.ts';
import type { Database } from './kinds/network-kinds.ts';
import { type SettingName, settingList } from './settings.ts';

/** The setting's environment name, its value as it may be shown (`undefined` if not set), and where it came from. */
export type ConfigLine = readonly [setting: string, shown: string | undefined, source: string];

export function describeConfig(config: Config): ConfigLine[] {
  return settingList.map(([name, setting]) => {
    const value = settingValue(config, name);
    const shown = value === undefined ? '' : setting.kind.format(value);
    return [setting.env, shown === '' ? undefined : shown, config.sources[name]];
  });
}

/** Every secret value in use, longest first, so that masking one never leaves the rest of another behind. */
export function configSecrets(config: Config): string[] {
  const secrets = config.apiKeys.map(({ key }) => key);
  for (const [name, setting] of settingList) {
    const value = setting.kind.secret && name !== 'apiKey' && name !== 'apiKeys' ? config[name] : undefined;
    if (typeof value === 'string') secrets.push(value);
  }
  secrets.push(...secretsInHeaders(config.otlpHeaders ?? []));
  secrets.push(...databaseSecrets(config.database));
  for (const server of config.mcpServers) secrets.push(...server.secrets);
  return [...new Set(secrets)].sort((a, b) => b.length - a.length);
}

/** The password, as written in the URL and decoded. */
export function databaseSecrets(database: Database): string[] {
  if (database.kind === 'sqlite') return [];
  const url = new URL(eachHost(database.url)[0]!);
  const inQuery = /[?&]password=([^&#]*)/.exec(url.search)?.[1] ?? '';
  const meant = [decodeURIComponent(url.password), url.searchParams.get('password') ?? ''];
  return [url.password, inQuery, ...meant].filter((secret) => secret !== '');
}

/** The value of a row in the table; the two settings for keys are one list in `Config`. */
function settingValue(config: Config, name: SettingName): unknown {
  const hasSingleKey = config.sources.apiKey !== 'default';
  if (name === 'apiKey') return config.apiKeys.find((key) => hasSingleKey && key.name === SINGLE_KEY_NAME);
  if (name === 'apiKeys') {
    const named = config.apiKeys.filter((key) => !(hasSingleKey && key.name === SINGLE_KEY_NAME));
    return named.length === 0 ? undefined : named;
  }
  return config[name];
}
