/**
 * Reads what follows a `$`: parameters, command output, arithmetic and `$'…'`.
 */
import { decodeEscapes } from './escapes.ts';
import { pushText, type Source } from './source.ts';
import type { Parameter, Word } from './syntax.ts';

const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const NAME_OR_SPECIAL = /[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]/y;
const OPERATOR = /:?[-=+?]|##?|%%?|\/[/#%]?|:|\^\^?|,,?|@|~~?/y;
// For these, single quotes inside double quotes are ordinary characters.
const DEFAULTING = /^:?[-=+?]$/;

/** Reads the argument of `${name:-…}` or `${name[…` and what closes it; words.ts provides it. */
export type ArgumentReader = (
  source: Source,
  inDouble: boolean,
  singleQuotes: boolean,
  closer: '}' | ']',
) => Word;

export function readDollar(source: Source, word: Word, quoted: boolean, readArgument: ArgumentReader): void {
  source.pos++;
  const c = source.peek();
  if (c === '(') {
    if (source.peekSecond() === '(') readArithmetic(source, word, quoted);
    else {
      source.pos++;
      word.push({ kind: 'output', script: source.script(')'), quoted });
    }
  } else if (c === '{') {
    source.pos++;
    source.nested(() => readBraced(source, word, quoted, readArgument), undefined);
  } else if (c === "'" && !quoted && !source.context.posix) {
    readAnsiQuoted(source, word);
  } else if (/[0-9@*#?$!-]/.test(c)) {
    source.pos++;
    word.push(plain(c, quoted));
  } else {
    const name = readName(source);
    if (name) word.push(plain(name, quoted));
    else pushText(word, '$', quoted);
  }
}

/** A name, joined over line continuations. */
function readName(source: Source): string {
  let name = source.take(NAME);
  while (name && /[A-Za-z0-9_]/.test(source.peek())) name += source.take(/[A-Za-z0-9_]+/y);
  return name;
}

function plain(name: string, quoted: boolean): Parameter {
  return { kind: 'parameter', name, quoted, indirect: false, index: undefined, operator: '', argument: [] };
}

function readBraced(source: Source, word: Word, quoted: boolean, readArgument: ArgumentReader): void {
  const first = source.peek();
  if (first === ' ' || first === '\n' || first === '\t' || first === '|') {
    // bash 5.3 runs `${ command; }` in the current shell.
    source.pos++;
    word.push({ kind: 'output', script: source.script('}'), quoted });
    return;
  }
  const part = plain('', quoted);
  if (first === '#' && !'}:-=+?%/'.includes(source.peekSecond())) {
    source.pos++;
    part.operator = 'length';
  } else if (first === '!' && /[A-Za-z_0-9@*]/.test(source.peekSecond())) {
    source.pos++;
    part.indirect = true;
  }
  source.peek();
  part.name = readName(source) || source.take(NAME_OR_SPECIAL);
  if (source.peek() === '[') {
    source.pos++;
    part.index = readArgument(source, true, true, ']');
  }
  source.peek();
  const operator = source.take(OPERATOR);
  if (part.operator === '') part.operator = operator;
  if (part.name === '') part.operator = '?'; // a bad substitution: bash refuses it, the value is unknown
  part.argument = readArgument(source, quoted, !quoted || !DEFAULTING.test(operator), '}');
  word.push(part);
}

/**
 * `$((…))` is arithmetic only when it ends in `))`. Otherwise it is command output that starts with a
 * subshell, and since the inside was then read under the wrong rules the text counts as unparsable.
 */
function readArithmetic(source: Source, word: Word, quoted: boolean): void {
  source.pos++;
  source.peek();
  source.pos++;
  const script = source.script(')', true);
  if (source.peek() === ')') {
    source.pos++;
    word.push({ kind: 'arithmetic', script, quoted });
    return;
  }
  source.fail('unparsable command');
  word.push({ kind: 'output', script: [...script, ...source.script(')')], quoted });
}

function readAnsiQuoted(source: Source, word: Word): void {
  const start = source.pos + 1;
  let end = start;
  while (end < source.text.length && source.text[end] !== "'") end += source.text[end] === '\\' ? 2 : 1;
  if (end >= source.text.length) source.fail('unparsable command');
  pushText(word, decodeEscapes(source.text.slice(start, end)), true);
  source.pos = Math.min(end + 1, source.text.length);
}
