/** What the rest of the server may use of the configuration. Nothing here reads the environment by itself. */
export type { Config } from './config.ts';
export { type ConfigLine, configSecrets, describeConfig } from './describe.ts';
export { ConfigError, type LoadOptions, loadConfig } from './load.ts';
export { type ApiKey, type CorsOrigins, type Database, isLoopback } from './network-kinds.ts';
export { type SettingName, settings } from './settings.ts';
