/**
 * `talaria serve`: starts the server and stays until it is asked to stop.
 *
 * starting ─ listening ─▶ serving ─ first signal ─▶ draining ─ closed ─▶ exit 0
 *    └─ error ─▶ exit 1, or 2 for its settings         └─ second signal ─▶ exit 130 or 143
 *
 * A signal during the start is kept and stops the server as soon as it is ready, so that it never dies half-open.
 */
import { flushCompileCache } from 'node:module';
import { version } from '../basics/version.ts';
import { type Config, ConfigError } from '../config/index.ts';
import type { ServerHandle } from '../start/server-handle.ts';
import { banner } from './banner.ts';
import type { Arguments } from './commands.ts';
import { exitCodes } from './exit-codes.ts';
import { explainConfigError, loadOrExplain } from './load-or-explain.ts';
import { explainStartupError } from './startup-error.ts';
import { stopSignals } from './stop-signals.ts';
import type { Terminal } from './terminal.ts';

/** Throws a `ConfigError` for problems of the settings that only the parts themselves can find. */
export type StartServer = (config: Config) => Promise<ServerHandle>;

/** Imported only here and only now: the server's modules are most of the start-up time, and help needs none. */
const importStart = async (): Promise<StartServer> => (await import('../start/start.ts')).startServer;

export async function serve(
  { settings }: Arguments<'serve'>,
  terminal: Terminal,
  loadStart: () => Promise<StartServer> = importStart,
): Promise<number> {
  const loaded = loadOrExplain(settings, terminal);
  if (loaded === undefined) return exitCodes.usage;
  const { config, warnings } = loaded;
  using signals = stopSignals();

  let server: ServerHandle;
  try {
    const startServer = await loadStart();
    server = await startServer(config);
  } catch (error) {
    if (error instanceof ConfigError) {
      explainConfigError(error, terminal);
      return exitCodes.usage;
    }
    terminal.err(explainStartupError(error, config));
    return exitCodes.failed;
  }
  // Node would write it at a normal exit, which a killed process never reaches.
  flushCompileCache();
  // Started by npm, the command belongs to the project and not to the whole machine.
  const program = terminal.env.npm_execpath === undefined ? 'talaria' : 'npx talaria';
  terminal.out(banner({ url: server.url, version, ...server.describe() }, config, warnings, program));

  try {
    const signal = await signals.first;
    const awaited = config.role === 'http' ? 'answers' : 'runs';
    terminal.err(
      `${signal}: waiting up to ${config.drainSeconds} s for ${awaited}; a second signal stops at once`,
    );
    await server.close();
    return exitCodes.ok;
  } catch (error) {
    terminal.err(`Talaria did not stop cleanly: ${error instanceof Error ? error.message : String(error)}`);
    return exitCodes.failed;
  }
}
