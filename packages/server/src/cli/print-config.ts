/** `talaria config`: the configuration a server would start with, and where each value came from. */
import { type Config, describeConfig } from '../config/index.ts';
import { flagOf, settingList } from '../config/settings.ts';
import type { Arguments } from './commands.ts';
import { exitCodes } from './exit-codes.ts';
import { loadOrExplain } from './load-or-explain.ts';
import type { Terminal } from './terminal.ts';

/** A prompt of many pages would push everything else off the screen; `--json` shows it completely. */
const SHOWN_CHARS = 60;

export async function printConfig(
  { json, settings }: Arguments<'config'>,
  terminal: Terminal,
): Promise<number> {
  const loaded = loadOrExplain(settings, terminal);
  if (loaded === undefined) return exitCodes.usage;
  const { config, warnings } = loaded;
  if (json) {
    terminal.out(JSON.stringify(asJson(config, warnings), null, 2));
  } else {
    terminal.out(asTable(config));
    for (const warning of warnings) terminal.err(`Warning: ${warning}`);
  }
  return exitCodes.ok;
}

function asJson(config: Config, warnings: readonly string[]): object {
  const lines = describeConfig(config);
  return {
    config_file: config.configFile ?? null,
    settings: settingList.map(([, setting], index) => {
      const [env, shown, source] = lines[index]!;
      return { env, flag: `--${flagOf(setting)}`, key: setting.key, value: shown ?? null, source };
    }),
    warnings,
  };
}

function asTable(config: Config): string {
  const rows = describeConfig(config).map(([env, shown, source]) => [
    env,
    shorten(shown ?? '(not set)'),
    source,
  ]);
  const width = (column: number) => Math.max(...rows.map((row) => row[column]!.length)) + 2;
  const [first, second] = [width(0), width(1)];
  return rows
    .map(([env, shown, source]) => `${env!.padEnd(first)}${shown!.padEnd(second)}${source}`)
    .join('\n');
}

function shorten(text: string): string {
  const line = text.replace(/\s*\n\s*/g, ' ');
  return line.length > SHOWN_CHARS ? `${line.slice(0, SHOWN_CHARS - 1)}…` : line;
}
