/**
 * The command `talaria`: finds the requested command and runs it. Returns the exit code and never exits by itself.
 * Imports stay light, so that help and mistakes are answered at once.
 */
import { version } from '../basics/version.ts';
import { commands } from './commands.ts';
import { exitCodes } from './exit-codes.ts';
import { findCommand, isHelp } from './find-command.ts';
import { type ParsedValue, parseArguments } from './parse-arguments.ts';
import { runProgram } from './programs.ts';
import { processTerminal, type Terminal } from './terminal.ts';
import { UsageError } from './usage-error.ts';

export async function main(argv: readonly string[], terminal: Terminal = processTerminal()): Promise<number> {
  const [word, ...rest] = argv;
  if (word === '--version' || word === '-v' || word === 'version') {
    terminal.out(version);
    return exitCodes.ok;
  }
  if (word === '__complete') return (await import('./completion/complete.ts')).complete(rest, terminal);
  if (word === undefined) {
    terminal.err((await import('./help.ts')).overview());
    return exitCodes.usage;
  }
  const asked = isHelp(word) || word === 'help';
  const words = asked ? rest.filter((argument) => !isHelp(argument)) : argv;
  try {
    if (words.length === 0) {
      terminal.out((await import('./help.ts')).overview());
      return exitCodes.ok;
    }
    return await runCommand(words, asked, terminal);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    terminal.err(error.message);
    return exitCodes.usage;
  }
}

async function runCommand(words: readonly string[], wantsHelp: boolean, terminal: Terminal): Promise<number> {
  const found = findCommand(words);
  if (found.kind === 'group') {
    const { groupHelp } = await import('./help.ts');
    const help = groupHelp(found.group);
    if (wantsHelp || words.some(isHelp)) {
      terminal.out(help);
      return exitCodes.ok;
    }
    terminal.err(help);
    return exitCodes.usage;
  }
  const { key, rest } = found;
  const spec = commands[key];
  if (wantsHelp || beforeDashes(rest).some(isHelp)) {
    const { commandHelp } = await import('./help.ts');
    terminal.out(commandHelp(spec, 'takesSettings' in spec ? await settingsHelp() : ''));
    return exitCodes.ok;
  }
  let args: Record<string, ParsedValue> = {};
  try {
    args = parseArguments(spec, rest);
    return await runProgram(key, args, terminal);
  } catch (error) {
    if (error instanceof UsageError) throw new UsageError(`${error.message}\nSee talaria help ${spec.name}`);
    const { explainFailure, failureJson } = await import('./explain-failure.ts');
    const failure = explainFailure(error, args.server as string | undefined, terminal.env);
    if (failure === undefined) throw error;
    terminal.err(args.json === true ? failureJson(failure) : failure.message);
    return failure.exitCode;
  }
}

/** After `--` a word that looks like a flag is not one. */
function beforeDashes(words: readonly string[]): readonly string[] {
  const at = words.indexOf('--');
  return at < 0 ? words : words.slice(0, at);
}

async function settingsHelp(): Promise<string> {
  return (await import('../config/help.ts')).settingsHelp();
}
