/**
 * What can come at the cursor, given the words before it. Pure: values that a server (`ids`) or the disk (`files`) must
 * provide are named, not looked up.
 */
import type { CommandSpec, OptionSpec } from '../command-spec.ts';
import { groupOf } from '../command-spec.ts';
import { commandList, commands, groups } from '../commands.ts';
import { findCommand, topWords, wordsOf } from '../find-command.ts';

export interface Candidate {
  readonly word: string;
  readonly about: string;
}

export type Completion =
  | { readonly kind: 'words'; readonly words: readonly Candidate[] }
  | { readonly kind: 'ids'; readonly of: 'run' | 'job' | 'call' | 'session' | 'upload' }
  /** The flags of the server's settings, and these. */
  | { readonly kind: 'settings'; readonly words: readonly Candidate[] }
  | { readonly kind: 'files' };

/** The words after `talaria`; the last one is what is being typed and may be empty. */
export function completionOf(words: readonly string[]): Completion {
  const before = words.slice(0, -1);
  const current = words.at(-1) ?? '';
  const [first, second] = before[0] === 'help' ? before.slice(1) : before;
  if (first === undefined) return { kind: 'words', words: topWords().map(describeTop) };
  if (Object.hasOwn(groups, first) && second === undefined) {
    return {
      kind: 'words',
      words: wordsOf(first).map((word) => ({ word, about: aboutOf(`${first} ${word}`) })),
    };
  }
  if (before[0] === 'help') return none;
  let found: ReturnType<typeof findCommand>;
  try {
    found = findCommand(before);
  } catch {
    return none;
  }
  return found.kind === 'group' ? none : completeCommand(commands[found.key], found.rest, current);
}

const none: Completion = { kind: 'words', words: [] };

function completeCommand(spec: CommandSpec, before: readonly string[], current: string): Completion {
  const flags = Object.entries(spec.options).map(([name, { about }]) => ({ word: `--${name}`, about }));
  const all = [...flags, { word: '--help', about: 'show its help' }];
  if (spec.takesSettings) return { kind: 'settings', words: all };

  const { pending, positionals, dashes } = read(spec, before);
  if (pending !== undefined) return completeOption(pending);
  if (current.startsWith('-') && !dashes) return { kind: 'words', words: all };
  const next = spec.positionals[positionals] ?? spec.positionals.findLast(({ many }) => many);
  if (next?.choices !== undefined) {
    return { kind: 'words', words: next.choices.map((word) => ({ word, about: '' })) };
  }
  if (next?.completes === 'file') return { kind: 'files' };
  if (next?.completes !== undefined) return { kind: 'ids', of: next.completes };
  return none;
}

function completeOption(option: OptionSpec): Completion {
  if (option.type !== 'text') return none;
  if (option.choices !== undefined) {
    return { kind: 'words', words: option.choices.map((word) => ({ word, about: '' })) };
  }
  if (option.completes === 'file') return { kind: 'files' };
  return option.completes === 'session' ? { kind: 'ids', of: 'session' } : none;
}

/** The state of a command line: an option that waits for its value, and the number of positionals. */
function read(spec: CommandSpec, words: readonly string[]) {
  let pending: OptionSpec | undefined;
  let positionals = 0;
  let dashes = false;
  for (const word of words) {
    if (pending !== undefined) pending = undefined;
    else if (dashes || !word.startsWith('-') || word === '-') positionals++;
    else if (word === '--') dashes = true;
    else pending = waitsForValue(spec, word);
  }
  return { pending, positionals, dashes };
}

function waitsForValue({ options }: CommandSpec, word: string): OptionSpec | undefined {
  const option = word.startsWith('--')
    ? options[word.slice(2)]
    : Object.values(options).find(({ short }) => short !== undefined && word === `-${short}`);
  return option?.type === 'flag' ? undefined : option;
}

function describeTop(word: string): Candidate {
  if (word === 'help') return { word, about: 'show help' };
  return { word, about: groups[word] ?? aboutOf(word) };
}

function aboutOf(name: string): string {
  return commandList.find(([, spec]) => spec.name === name && groupOf(spec) === groupOf({ name }))![1].about;
}
