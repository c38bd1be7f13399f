/**
 * What the rest of the server may use of the configuration. The command line, which also explains the settings, reads
 * their table directly. Nothing here reads the environment by itself.
 */
export type { Config } from './config.ts';
export { configSecrets, databaseSecrets, describeConfig } from './describe.ts';
export type { OperatorDirectory } from './kinds/directories.ts';
export type { HttpConfig, McpServerConfig, StdioConfig } from './kinds/mcp-servers.ts';
export { type ApiKey, type Database, describeDatabase, isLoopback } from './kinds/network-kinds.ts';
export { ConfigError, type LoadOptions, loadConfig } from './load.ts';
