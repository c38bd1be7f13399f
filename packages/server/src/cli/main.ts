/**
 * The command `talaria`: finds the command that was asked for and runs it. Answers with the exit code and never
 * exits by itself. Imports stay light, so that help and mistakes are answered at once.
 */
import { settingsHelp } from '../config/help.ts';
import { didYouMean } from '../nearest.ts';
import { version } from '../version.ts';
import { exitCodes } from './exit-codes.ts';
import { printConfig } from './print-config.ts';
import { serve } from './serve.ts';
import { processTerminal, type Terminal } from './terminal.ts';

interface Command {
  readonly about: string;
  readonly usage: string;
  readonly options: string;
  run(argv: readonly string[], terminal: Terminal): Promise<number>;
}

const commands = new Map<string, Command>([
  ['serve', { about: 'start the server', usage: 'talaria serve [settings]', options: '', run: serve }],
  [
    'config',
    {
      about: 'show the configuration and where each value comes from',
      usage: 'talaria config [--json] [settings]',
      options: '  --json                          print JSON\n',
      run: printConfig,
    },
  ],
]);

export async function main(argv: readonly string[], terminal: Terminal = processTerminal()): Promise<number> {
  const [word, ...rest] = argv;
  if (word === '--version' || word === '-v' || word === 'version') {
    terminal.out(version);
    return exitCodes.ok;
  }
  if (word === undefined) {
    terminal.err(overview());
    return exitCodes.usage;
  }
  const wantsHelp = isHelp(word) || word === 'help';
  const name = wantsHelp ? rest.find((argument) => !isHelp(argument)) : word;
  if (name === undefined) {
    terminal.out(overview());
    return exitCodes.ok;
  }
  const command = commands.get(name);
  if (command === undefined) {
    terminal.err(unknownCommand(name));
    return exitCodes.usage;
  }
  if (wantsHelp || rest.some(isHelp)) {
    terminal.out(commandHelp(command));
    return exitCodes.ok;
  }
  return command.run(rest, terminal);
}

function isHelp(argument: string): boolean {
  return argument === '--help' || argument === '-h';
}

function overview(): string {
  const list = [...commands].map(([name, { about }]) => `  ${name.padEnd(10)}${about}`);
  return [
    'Talaria: a durable server for long-running AI agent runs',
    '',
    'Usage: talaria <command> [settings]',
    '',
    ...list,
    '  help      show the settings of a command: talaria help serve',
    '',
    '  --version, --help',
  ].join('\n');
}

function commandHelp({ usage, about, options }: Command): string {
  return [
    `Usage: ${usage}`,
    '',
    `${about[0]!.toUpperCase()}${about.slice(1)}. A flag wins over the environment, which wins over the file.`,
    '',
    `${options}${settingsHelp()}`,
  ].join('\n');
}

/** A flag in the place of the command is shown without its value, which may be a secret. */
function unknownCommand(given: string): string {
  const names = [...commands.keys(), 'help'];
  if (given.startsWith('-')) {
    return `expected a command before ${/^-+[\w-]*/.exec(given)![0]}; there are: ${names.join(', ')}`;
  }
  return `unknown command ${JSON.stringify(given)}; there are: ${names.join(', ')}${didYouMean(given, names)}`;
}
