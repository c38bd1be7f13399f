/**
 * Reads the words after a command by its spec. Every mistake is one sentence that says what was expected.
 *
 * Flags may stand anywhere; after `--` everything is a positional. If a flag is given twice, the last one counts. A
 * message names a flag, never its value: the value of a mistyped flag may be a secret.
 */
import { parseArgs } from 'node:util';
import { didYouMean } from '../basics/nearest.ts';
import type { CommandSpec, OptionSpec, PositionalSpec } from './command-spec.ts';
import { UsageError } from './usage-error.ts';

export type ParsedValue = string | number | boolean | readonly string[] | undefined;

/** Options and positionals by name; for a command that takes settings, the rest is in `settings`. */
export function parseArguments(spec: CommandSpec, argv: readonly string[]): Record<string, ParsedValue> {
  if (spec.takesSettings) return parseWithSettings(spec, argv);
  const { tokens } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(Object.entries(spec.options).map(toParseArgs)),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const values: Record<string, ParsedValue> = {};
  for (const [name, option] of Object.entries(spec.options)) {
    if (option.type === 'flag') values[name] = false;
  }
  const words: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value);
    if (token.kind !== 'option') continue;
    const option = Object.hasOwn(spec.options, token.name) ? spec.options[token.name] : undefined;
    if (option === undefined) throw unknownFlag(spec, token.rawName);
    values[token.name] = readOption(token.rawName, option, token.value, token.inlineValue === true);
  }
  return { ...values, ...readPositionals(spec.positionals, words) };
}

/** Declared options are taken out; the configuration reads the others, and knows more about them. */
function parseWithSettings(spec: CommandSpec, argv: readonly string[]): Record<string, ParsedValue> {
  const isOption = (argument: string, name: string): boolean => argument === `--${name}`;
  const values: Record<string, ParsedValue> = {};
  for (const name of Object.keys(spec.options)) values[name] = argv.some((word) => isOption(word, name));
  const settings = argv.filter((word) => !Object.keys(spec.options).some((name) => isOption(word, name)));
  return { ...values, settings };
}

function toParseArgs([name, { type, short }]: [string, OptionSpec]) {
  const parsed = { type: type === 'flag' ? ('boolean' as const) : ('string' as const) };
  return [name, short === undefined ? parsed : { ...parsed, short }] as const;
}

function readOption(
  label: string,
  option: OptionSpec,
  given: string | undefined,
  inline: boolean,
): ParsedValue {
  if (option.type === 'flag') {
    if (inline) throw new UsageError(`${label} takes no value`);
    return true;
  }
  if (given === undefined || given === '' || (!inline && /^--\w/.test(given))) {
    throw new UsageError(`${label} has no value; expected ${expectedOf(option)}`);
  }
  if (option.type === 'integer') {
    const number = Number(given);
    if (/^-?\d+$/.test(given) && number >= option.min && number <= option.max) return number;
    throw new UsageError(`${label} is ${JSON.stringify(given)}; expected ${expectedOf(option)}`);
  }
  if (option.choices !== undefined && !option.choices.includes(given)) {
    const meant = didYouMean(given, option.choices);
    throw new UsageError(`${label} is ${JSON.stringify(given)}; expected ${expectedOf(option)}${meant}`);
  }
  return given;
}

function expectedOf(option: Exclude<OptionSpec, { type: 'flag' }>): string {
  if (option.type === 'text') return option.choices?.join(', ') ?? `<${option.value}>`;
  if (option.max >= Number.MAX_SAFE_INTEGER) return `a number from ${option.min}`;
  return `a number from ${option.min} to ${option.max}`;
}

function readPositionals(
  specs: readonly PositionalSpec[],
  words: readonly string[],
): Record<string, ParsedValue> {
  const values: Record<string, ParsedValue> = {};
  let taken = 0;
  for (const spec of specs) {
    const rest = words.slice(taken);
    if (rest.length === 0 && spec.optional !== true) {
      throw new UsageError(`expected ${shownPositional(spec)}: ${spec.about}`);
    }
    if (spec.many) {
      values[spec.name] = rest;
      taken = words.length;
    } else {
      if (rest[0] !== undefined) checkChoice(spec, rest[0]);
      values[spec.name] = rest[0];
      taken++;
    }
  }
  if (words.length > taken) {
    const quoting = words.length > 1 && specs.length > 0 ? '; quote what belongs together' : '';
    throw new UsageError(`unexpected argument ${JSON.stringify(words[taken])}${quoting}`);
  }
  return values;
}

function checkChoice({ name, choices }: PositionalSpec, word: string): void {
  if (choices === undefined || choices.includes(word)) return;
  const expected = choices.join(', ');
  const meant = didYouMean(word, choices);
  throw new UsageError(`the ${name} is ${JSON.stringify(word)}; expected ${expected}${meant}`);
}

/** `<run>`, `[path]`, `<run>...` */
export function shownPositional({ name, optional, many, choices }: PositionalSpec): string {
  const shown = choices?.join('|') ?? name;
  return `${optional ? `[${shown}]` : `<${shown}>`}${many ? '...' : ''}`;
}

function unknownFlag(spec: CommandSpec, rawName: string): UsageError {
  const names = [...Object.keys(spec.options).map((name) => `--${name}`), '--help'];
  const shown = /^-+[\w-]*/.exec(rawName)?.[0] ?? '-';
  if (/^--(api-?)?(key|token)$/.test(shown)) {
    return new UsageError(
      `${shown} would show the key in the list of processes; set TALARIA_API_KEY instead`,
    );
  }
  return new UsageError(`unknown flag ${shown}${didYouMean(shown, names)}`);
}
