/**
 * The value of `$name` and of `${name…}` with its operators, as far as this command line determines it.
 * A variable that the line does not set is ENV: unknown, but not the agent's text.
 */
import { couldBe, ENV, HOME, hasGlob, hasHole, OPAQUE } from './marks.ts';
import type { Scope } from './scope.ts';
import type { Parameter, Word } from './syntax.ts';

export interface ParameterValue {
  elements: string[];
  /** each element is its own field even inside quotes (`"$@"`) */
  separate: boolean;
}

type ExpandArgument = (word: Word) => string;

// Trimming tries every cut of the value; longer values are not command names.
const MAX_TRIM = 1_000;
const MAX_REPLACED = 100_000;

export function parameterValue(part: Parameter, scope: Scope, expand: ExpandArgument): ParameterValue {
  const index = part.index && expand(part.index);
  const separate = part.name === '@' || index === '@';
  const list = separate || part.name === '*' || index === '*';
  const elements = part.indirect
    ? indirect(part, scope, index)
    : elementsOf(part.name, scope, index ?? (list ? '@' : undefined));
  if (part.operator === '') {
    expand(part.argument); // what it runs counts even where bash would reject the text
    return { elements, separate };
  }
  return { elements: operate(part, elements, list, scope, expand), separate };
}

function indirect(part: Parameter, scope: Scope, index: string | undefined): string[] {
  if (index !== undefined) return [ENV];
  const name = elementsOf(part.name, scope, undefined)[0] ?? '';
  if (hasHole(name)) return [name === ENV ? ENV : OPAQUE];
  return elementsOf(name, scope, undefined);
}

function elementsOf(name: string, scope: Scope, index: string | undefined): string[] {
  if (name === '@' || name === '*') return scope.positional ?? [ENV];
  if (/^[1-9][0-9]*$/.test(name))
    return [scope.positional ? (scope.positional[Number(name) - 1] ?? '') : ENV];
  const value = scope.lookup(name);
  if (value === undefined) return [unset(name, scope)];
  if (index === '@' || index === '*') return value;
  if (index === undefined) return [value[0] ?? ''];
  return /^[0-9]+$/.test(index) ? [value[Number(index)] ?? ''] : [value.length > 0 ? value.join('') : ''];
}

/** Variables that have a known value in every shell; the others belong to the environment. */
function unset(name: string, scope: Scope): string {
  switch (name) {
    case 'HOME':
      return HOME;
    case 'IFS':
      return ' ';
    case 'SHELL':
    case 'BASH':
    case '0':
      return 'bash';
    case 'PWD':
      return scope.cwd ?? ENV;
    default:
      return ENV;
  }
}

function operate(
  part: Parameter,
  elements: string[],
  list: boolean,
  scope: Scope,
  expand: ExpandArgument,
): string[] {
  const argument = expand(part.argument);
  const value = elements.join(' ');
  const { operator } = part;
  switch (operator.replace(':', '')) {
    case '-':
    case '=':
      if (!hasHole(value) && value !== '') return elements;
      if (operator.endsWith('=')) scope.assign(part.name, [argument], false);
      if (!hasHole(value)) return [argument];
      // Either the environment's value or the default: both are walked.
      return [scope.choose(`\${${part.name}${operator}`, 2) === 0 ? value + argument : argument];
    case '+':
      if (!hasHole(value)) return value === '' ? [''] : [argument];
      return [scope.choose(`\${${part.name}${operator}`, 2) === 0 ? argument : ''];
    case '?':
      return elements;
    case 'length':
      return [ENV];
  }
  // Any part of the separators is still only separators.
  if (part.name === 'IFS') return [' '];
  if (operator === ':' && list) return sliceList(part, elements, argument);
  return elements.map((element) =>
    hasHole(element) ? keepOrigin(element) : transform(element, operator, argument),
  );
}

function keepOrigin(value: string): string {
  return value === ENV ? ENV : [...value].every((c) => hasHole(c)) ? value : OPAQUE;
}

function sliceList(part: Parameter, elements: string[], argument: string): string[] {
  const [from, count] = argument.split(':').map(Number);
  if (from === undefined || Number.isNaN(from) || from < 0 || Number.isNaN(count ?? 0)) return [OPAQUE];
  const start = part.name === '@' || part.name === '*' ? Math.max(0, from - 1) : from;
  return elements.slice(start, count === undefined ? undefined : start + count);
}

function transform(value: string, operator: string, argument: string): string {
  switch (operator) {
    case ':':
      return substring(value, argument);
    case '#':
    case '##':
    case '%':
    case '%%':
      return trim(value, operator, argument);
    case '/':
    case '//':
    case '/#':
    case '/%':
      return replace(value, operator, argument);
    case '^':
      return argument === '' ? value.charAt(0).toUpperCase() + value.slice(1) : OPAQUE;
    case '^^':
      return argument === '' ? value.toUpperCase() : OPAQUE;
    case ',':
      return argument === '' ? value.charAt(0).toLowerCase() + value.slice(1) : OPAQUE;
    case ',,':
      return argument === '' ? value.toLowerCase() : OPAQUE;
    case '@':
      return argument === 'Q' ? value : OPAQUE;
    default:
      return OPAQUE;
  }
}

function substring(value: string, argument: string): string {
  const found = /^\s*\(?\s*(-?\d+)\s*\)?\s*(?::\s*(-?\d+)\s*)?$/.exec(argument);
  if (!found) return OPAQUE;
  const from = Number(found[1]);
  const start = from < 0 ? Math.max(0, value.length + from) : from;
  if (found[2] === undefined) return value.slice(start);
  const count = Number(found[2]);
  return value.slice(start, count < 0 ? value.length + count : start + count);
}

/** `expand` has turned glob marks back into characters; here they are patterns again. */
function pattern(text: string): string {
  return text.replaceAll('*', '\uE006').replaceAll('?', '\uE007');
}

function trim(value: string, operator: string, argument: string): string {
  if (hasHole(argument) || value.length > MAX_TRIM || argument.includes('[')) return OPAQUE;
  const glob = pattern(argument);
  const fromStart = operator.startsWith('#');
  const longest = operator.length === 2;
  for (let n = 0; n <= value.length; n++) {
    const size = longest ? value.length - n : n;
    const cut = fromStart ? value.slice(0, size) : value.slice(value.length - size);
    if (couldBe(glob, cut)) return fromStart ? value.slice(size) : value.slice(0, value.length - size);
  }
  return value;
}

function replace(value: string, operator: string, argument: string): string {
  const slash = argument.indexOf('/');
  const from = slash < 0 ? argument : argument.slice(0, slash);
  const to = slash < 0 ? '' : argument.slice(slash + 1);
  if (hasHole(from) || hasGlob(pattern(from)) || from.includes('[') || from === '') return OPAQUE;
  if (operator === '//') {
    const pieces = value.split(from);
    return value.length + pieces.length * to.length > MAX_REPLACED ? OPAQUE : pieces.join(to);
  }
  if (operator === '/#') return value.startsWith(from) ? to + value.slice(from.length) : value;
  if (operator === '/%')
    return value.endsWith(from) ? value.slice(0, value.length - from.length) + to : value;
  const at = value.indexOf(from);
  return at < 0 ? value : value.slice(0, at) + to + value.slice(at + from.length);
}
