/** Loads the configuration for a command, or prints every problem with it. */
import { ConfigError, loadConfig } from '../config/index.ts';
import type { Terminal } from './terminal.ts';

export function loadOrExplain(
  argv: readonly string[],
  terminal: Terminal,
): ReturnType<typeof loadConfig> | undefined {
  try {
    return loadConfig({ argv, env: terminal.env, homeDir: terminal.homeDir, cwd: terminal.workingDir });
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    explainConfigError(error, terminal);
    return undefined;
  }
}

export function explainConfigError({ problems }: ConfigError, terminal: Terminal): void {
  const title = problems.length === 1 ? 'a problem' : `${problems.length} problems`;
  terminal.err(`The configuration has ${title}:`);
  for (const problem of problems) terminal.err(`  - ${problem}`);
  terminal.err('All settings: talaria help serve');
}
