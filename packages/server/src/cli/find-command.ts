/** Finds the command that a command line names, and the remaining words. */
import { didYouMean } from '../basics/nearest.ts';
import { groupOf } from './command-spec.ts';
import { type CommandKey, commandList, groups } from './commands.ts';
import { shownPositional } from './parse-arguments.ts';
import { UsageError } from './usage-error.ts';

export type Found =
  | { readonly kind: 'command'; readonly key: CommandKey; readonly rest: readonly string[] }
  /** A group without one of its commands. */
  | { readonly kind: 'group'; readonly group: string };

/** Two words are always a command of a group. */
const keysByName = new Map(
  commandList.flatMap(([key, spec]) => {
    const group = groupOf(spec);
    const aliases = (spec.aliases ?? []).map((alias) => (group === undefined ? alias : `${group} ${alias}`));
    return [spec.name, ...aliases].map((name) => [name, key] as const);
  }),
);

export function findCommand(words: readonly string[]): Found {
  const [first = '', ...rest] = words;
  const key = keysByName.get(first);
  if (key !== undefined) return { kind: 'command', key, rest };
  if (!Object.hasOwn(groups, first)) throw unknownCommand(first, topWords(), '');

  const [second, ...others] = rest;
  if (second === undefined || isHelp(second)) return { kind: 'group', group: first };
  const inGroup = keysByName.get(`${first} ${second}`);
  if (inGroup === undefined) throw unknownCommand(second, wordsOf(first), first);
  return { kind: 'command', key: inGroup, rest: others };
}

export function isHelp(argument: string): boolean {
  return argument === '--help' || argument === '-h';
}

/** The words a command line can begin with. */
export function topWords(): string[] {
  const names = commandList.map(([, spec]) => groupOf(spec) ?? spec.name);
  return [...new Set([...names, 'help'])];
}

/** The words that can follow a group. */
export function wordsOf(group: string): string[] {
  return commandList
    .filter(([, spec]) => groupOf(spec) === group)
    .map(([, { name }]) => name.slice(group.length + 1));
}

/** A flag in place of the command is shown without its value, which may be a secret. */
function unknownCommand(given: string, names: readonly string[], group: string): UsageError {
  const help = `talaria help${group === '' ? '' : ` ${group}`} lists them`;
  if (given.startsWith('-')) {
    return new UsageError(`expected a command before ${/^-+[\w-]*/.exec(given)![0]}; ${help}`);
  }
  const shown = JSON.stringify(group === '' ? given : `${group} ${given}`);
  const meant = group === '' ? argumentOf(given) : undefined;
  const hint = meant === undefined ? didYouMean(given, names) : `; did you mean talaria ${meant}?`;
  return new UsageError(`unknown command ${shown}${hint || `; ${help}`}`);
}

/** The command that takes this word as an argument: `approve <run> deny` for `deny`. */
function argumentOf(word: string): string | undefined {
  for (const [, { name, positionals }] of commandList) {
    const index = positionals.findIndex(({ choices }) => choices?.includes(word));
    if (index >= 0) return [name, ...positionals.slice(0, index).map(shownPositional), word].join(' ');
  }
  return undefined;
}
