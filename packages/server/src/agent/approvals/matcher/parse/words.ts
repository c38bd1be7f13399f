/**
 * Reads one shell word with its quoting. The invariant that matters to a gate: a character is marked
 * quoted only if bash would treat it so; where bash would reject the text (a quote that is never
 * closed) the problem is recorded, because everything after it may have been misread.
 */
import { WORD_COST } from '../budget.ts';
import { readDollar } from './dollar.ts';
import { pushText, type Source } from './source.ts';
import type { Word } from './syntax.ts';

// Characters with no meaning to the lexer, taken as one run.
const ORDINARY = /[^\s\\'"`$;&|<>()]+/y;
const ORDINARY_IN_BRACES = /[^\\'"`$}\]]+/y;
const ORDINARY_IN_DOUBLE = /[^\\"`$]+/y;
const ORDINARY_IN_HEREDOC = /[^\\`$]+/y;
const WORD_END = ' \t\r\n;&|<>()';

export function skipBlanks(source: Source): void {
  for (let c = source.peek(); c === ' ' || c === '\t' || c === '\r'; c = source.peek()) source.pos++;
}

/** The word here, or undefined when an operator, a blank or the end comes next. */
export function readWord(source: Source): Word | undefined {
  if (source.pushed) {
    const word = source.pushed;
    source.pushed = undefined;
    return word;
  }
  const word: Word = [];
  source.charge(WORD_COST);
  for (;;) {
    const c = source.peek();
    if (c === '') break;
    if ((c === '<' || c === '>') && source.peekSecond() === '(' && !source.arithmetic) {
      source.pos++;
      source.peek();
      source.pos++;
      word.push({ kind: 'process', script: source.script(')'), quoted: false, reads: c === '>' });
    } else if (WORD_END.includes(c)) {
      break;
    } else if (!readQuote(source, word)) {
      pushText(word, source.take(ORDINARY) || source.text[source.pos++]!, false);
    }
  }
  return word.length > 0 ? word : undefined;
}

/** The argument of `${name:-…}`, up to and including its closer; single quotes are text when the whole is in double quotes. */
function readBraceArgument(
  source: Source,
  inDouble: boolean,
  singleQuotes: boolean,
  closer: '}' | ']',
): Word {
  const word: Word = [];
  for (;;) {
    const c = source.peek();
    if (c === '') {
      source.fail('unparsable command');
      return word;
    }
    if (c === closer) {
      source.pos++;
      return word;
    }
    if (c === "'" && !singleQuotes) {
      source.pos++;
      pushText(word, c, inDouble);
    } else if (inDouble && c === '$') {
      readDollar(source, word, true, readBraceArgument);
    } else if (!readQuote(source, word)) {
      pushText(word, source.take(ORDINARY_IN_BRACES) || source.text[source.pos++]!, inDouble);
    }
  }
}

/** The text of a here-document with an unquoted delimiter: expansions run, quotes are plain text. */
export function readHeredocText(source: Source): Word {
  const word: Word = [];
  readExpandingText(source, word, '', ORDINARY_IN_HEREDOC);
  return word;
}

/** Everything up to the closing double quote, which is consumed. */
function readDoubleQuoted(source: Source, word: Word): void {
  const parts = word.length;
  pushText(word, '', true);
  source.nested(() => readExpandingText(source, word, '"', ORDINARY_IN_DOUBLE), undefined);
  // `"$@"` may expand to no field at all, `""` to an empty one: keep the empty text only when alone.
  const first = word[parts];
  if (word.length > parts + 1 && first?.kind === 'text' && first.text === '') word.splice(parts, 1);
}

function readExpandingText(source: Source, word: Word, closer: string, ordinary: RegExp): void {
  for (;;) {
    const c = source.peek();
    if (c === '') {
      if (closer !== '') source.fail('unparsable command');
      return;
    }
    if (c === closer) {
      source.pos++;
      return;
    }
    if (c === '\\') {
      const next = source.text[source.pos + 1] ?? '';
      const escapes = next !== '' && ('$`\\'.includes(next) || next === closer);
      pushText(word, escapes ? next : c + next, true);
      source.pos += 2;
    } else if (c === '$') {
      readDollar(source, word, true, readBraceArgument);
    } else if (c === '`') {
      readBackticks(source, word, true);
    } else {
      pushText(word, source.take(ordinary) || source.text[source.pos++]!, true);
    }
  }
}

/** One quoting or expansion construct at the position; false when there is none. */
function readQuote(source: Source, word: Word): boolean {
  switch (source.peek()) {
    case '\\': {
      const next = source.text[source.pos + 1];
      pushText(word, next ?? '\\', true);
      source.pos += 2;
      return true;
    }
    case "'": {
      const end = source.text.indexOf("'", source.pos + 1);
      if (end < 0) source.fail('unparsable command');
      pushText(word, source.text.slice(source.pos + 1, end < 0 ? undefined : end), true);
      source.pos = end < 0 ? source.text.length : end + 1;
      return true;
    }
    case '"':
      source.pos++;
      readDoubleQuoted(source, word);
      return true;
    case '$':
      if (source.peekSecond() === '"') {
        source.pos++;
        source.peek();
        source.pos++;
        readDoubleQuoted(source, word);
      } else {
        readDollar(source, word, false, readBraceArgument);
      }
      return true;
    case '`':
      readBackticks(source, word, false);
      return true;
    default:
      return false;
  }
}

function readBackticks(source: Source, word: Word, quoted: boolean): void {
  const start = source.pos + 1;
  let end = start;
  while (end < source.text.length && source.text[end] !== '`') end += source.text[end] === '\\' ? 2 : 1;
  if (end >= source.text.length) source.fail('unparsable command');
  const body = source.text.slice(start, end).replace(quoted ? /\\([`$\\"])/g : /\\([`$\\])/g, '$1');
  source.pos = Math.min(end + 1, source.text.length);
  word.push({ kind: 'output', script: source.inner(body).script(''), quoted });
}
