/** The server as a library: what `talaria serve` does, in a process of your own. The command is bin/talaria.js. */

export { type Config, ConfigError, type LoadOptions, loadConfig } from './config/index.ts';
export type { ServerHandle } from './start/server-handle.ts';
export { startServer } from './start/start.ts';
