/** Help: of everything, of a group, of a command. */
import type { CommandSpec, OptionSpec } from './command-spec.ts';
import { groupOf } from './command-spec.ts';
import { commandList, groups } from './commands.ts';
import { shownPositional } from './parse-arguments.ts';

/** Where the second column starts, in lists of commands and in lists of options. */
const COMMAND_COLUMN = 17;
const OPTION_COLUMN = 28;

const WIDTH = 100;

export function overview(): string {
  const seen = new Set<string>();
  const lines = commandList.flatMap(([, spec]) => {
    const group = groupOf(spec);
    if (group === undefined) return [commandLine(spec.name, spec.about)];
    if (seen.has(group)) return [];
    seen.add(group);
    const words = membersOf(group).map(({ name }) => name.slice(group.length + 1));
    return [commandLine(group, `${groups[group]}: ${words.join(', ')}`)];
  });
  return [
    'Talaria: a durable server for long-running AI agent runs',
    '',
    'Usage: talaria <command> [flags]',
    '',
    ...lines,
    '',
    'talaria help <command>, or --help after it, shows its flags and examples; --version the version.',
    "The server's address is in TALARIA_BASE_URL, its key in TALARIA_API_KEY. Exit codes: docs/cli.md.",
  ].join('\n');
}

export function groupHelp(group: string): string {
  const lines = membersOf(group).map((spec) => commandLine(spec.name.slice(group.length + 1), spec.about));
  return [
    `Usage: talaria ${group} <command> [flags]`,
    '',
    `${capital(groups[group]!)}.`,
    '',
    ...lines,
    '',
    `talaria help ${group} <command> shows its flags and examples.`,
  ].join('\n');
}

/** `settings` are the server settings that can be flags, for the commands that take them. */
export function commandHelp(spec: CommandSpec, settings: string): string {
  const { about, details, positionals, options, examples, takesSettings, aliases } = spec;
  const words = positionals.map(shownPositional);
  const flags = takesSettings ? '[settings]' : '[flags]';
  const also =
    aliases === undefined ? [] : ['', `Also: ${aliases.map((alias) => sibling(spec, alias)).join(', ')}`];
  return [
    ['Usage: talaria', spec.name, ...words, flags].join(' '),
    '',
    ...wrap(`${capital(about)}.${details === undefined ? '' : ` ${details}`}`, WIDTH),
    ...also,
    ...section(
      '',
      positionals.map((positional) => entry(shownPositional(positional), positional.about)),
    ),
    ...section('Flags:', optionLines(options)),
    ...(takesSettings ? ['', 'Settings:', settings] : []),
    '',
    'Examples:',
    ...examples.flatMap(({ line, about }) => [`  # ${about}`, `  ${line}`]),
  ].join('\n');
}

function optionLines(options: CommandSpec['options']): string[] {
  const lines = Object.entries(options).map(([name, option]) =>
    entry(shownOption(name, option), option.about),
  );
  return [...lines, entry('-h, --help', 'show this')];
}

function shownOption(name: string, option: OptionSpec): string {
  const short = option.short === undefined ? '    ' : `-${option.short}, `;
  return `${short}--${name}${option.type === 'flag' ? '' : ` <${option.value}>`}`;
}

function entry(start: string, about: string): string {
  const first = `  ${start}`;
  const [line = '', ...more] = wrap(about, WIDTH - OPTION_COLUMN);
  const indent = ' '.repeat(OPTION_COLUMN);
  const head = first.length < OPTION_COLUMN - 1 ? first.padEnd(OPTION_COLUMN) : `${first}\n${indent}`;
  return [`${head}${line}`, ...more.map((text) => `${indent}${text}`)].join('\n');
}

function section(title: string, lines: readonly string[]): string[] {
  if (lines.length === 0) return [];
  return title === '' ? ['', ...lines] : ['', title, ...lines];
}

function commandLine(name: string, about: string): string {
  const [line = '', ...more] = wrap(about, WIDTH - COMMAND_COLUMN);
  const indent = ' '.repeat(COMMAND_COLUMN);
  return [`  ${name}`.padEnd(COMMAND_COLUMN) + line, ...more.map((text) => indent + text)].join('\n');
}

function sibling({ name }: CommandSpec, alias: string): string {
  const group = groupOf({ name });
  return `talaria ${group === undefined ? '' : `${group} `}${alias}`;
}

function membersOf(group: string): CommandSpec[] {
  return commandList.map(([, spec]) => spec).filter((spec) => groupOf(spec) === group);
}

function capital(text: string): string {
  return `${text[0]!.toUpperCase()}${text.slice(1)}`;
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
