/** Loads the configuration for a command, or prints every problem with it. */
import { ConfigError, loadConfig } from '../config/index.ts';
import type { Terminal } from './terminal.ts';

export function loadOrExplain(
  argv: readonly string[],
  terminal: Terminal,
): ReturnType<typeof loadConfig> | undefined {
  try {
    return loadConfig({ argv, env: terminal.env, homeDir: terminal.homeDir });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const title = error.problems.length === 1 ? 'a problem' : `${error.problems.length} problems`;
    terminal.err(`The configuration has ${title}:`);
    for (const problem of error.problems) terminal.err(`  - ${problem}`);
    terminal.err('All settings: talaria help serve');
    return undefined;
  }
}
