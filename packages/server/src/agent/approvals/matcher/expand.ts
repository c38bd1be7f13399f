/**
 * Turns a word into the fields the program would receive, in bash's order: braces, tilde, parameters
 * and command output, splitting, quote removal. What cannot be known becomes a mark (marks.ts).
 */
import { expandBraces } from './braces.ts';
import {
  ANY,
  asQuoted,
  asUnquoted,
  BRACE_CLOSE,
  BRACE_COMMA,
  BRACE_OPEN,
  CLASS_CLOSE,
  CLASS_OPEN,
  EMPTY_QUOTES,
  ENV,
  FIELD_BREAK,
  HOME,
  STAR,
  TILDE,
  toSource,
} from './marks.ts';
import { parameterValue } from './parameter.ts';
import type { Scope } from './scope.ts';
import { plainText, type Script, type Word } from './syntax.ts';

/** How expansion runs the scripts inside words. */
export interface ExpansionHost {
  scope: Scope;
  /** Classifies the script and returns what it prints. */
  outputOf(script: Script): string;
  /** The path under which `<(…)` is read, or `>(…)` written. */
  processFile(script: Script, reads: boolean): string;
  /** Classifies text that only some shells run. */
  examine(script: Script): void;
}

// A value may be repeated in one word; the sum must stay a string JavaScript can hold.
const MAX_LENGTH = 4_000_000;
// Words longer than this count against the limit on characters, as nested texts do.
const UNCOUNTED = 1_000;
const SPECIAL = /[{},~*?[\]]/g;
const HAS_SPECIAL = /[{},~*?[\]]/;
const MARK_OF: Record<string, string> = {
  '{': BRACE_OPEN,
  ',': BRACE_COMMA,
  '}': BRACE_CLOSE,
  '~': TILDE,
  '*': STAR,
  '?': ANY,
  '[': CLASS_OPEN,
  ']': CLASS_CLOSE,
};
const CHARACTER_OF: Record<string, string> = Object.fromEntries(
  Object.entries(MARK_OF).map(([character, mark]) => [mark, character]),
);
const BETWEEN_MARKS = /[\uE008-\uE00F]/;
const BRACKET_CLASS = /\uE00E[^\uE00E\uE00F/]+\uE00F/g;
const LEFTOVER = /[\uE00A-\uE00F]/g;
const GLOB_CHARACTERS = /[*?]/g;

/** The fields of a word in command or argument position. */
export function expandFields(word: Word, host: ExpansionHost): string[] {
  const plain = plainText(word);
  if (plain !== undefined && plain.length < UNCOUNTED && !HAS_SPECIAL.test(plain)) return [plain];
  const marked = expandMarked(word, host);
  if (!BETWEEN_MARKS.test(marked)) return marked === '' ? [] : [marked];
  const alternatives = expandBraces(marked);
  if (!alternatives) host.scope.report('command too complex to inspect');
  const fields: string[] = [];
  for (const alternative of alternatives ?? [marked]) {
    for (const piece of alternative.split(FIELD_BREAK)) {
      if (piece !== '') fields.push(finish(piece));
    }
  }
  return fields;
}

/** The one value of a word where the shell neither splits nor expands braces. */
export function expandValue(word: Word, host: ExpansionHost): string {
  return toSource(finish(expandMarked(word, host).replaceAll(FIELD_BREAK, ' ')));
}

export function expandMarked(word: Word, host: ExpansionHost): string {
  let marked = '';
  for (const part of word) {
    if (marked.length > MAX_LENGTH) {
      host.scope.report('command too complex to inspect');
      return marked;
    }
    switch (part.kind) {
      case 'text':
        marked += part.quoted ? part.text || EMPTY_QUOTES : markSpecial(part.text);
        break;
      case 'parameter': {
        const { elements, separate } = parameterValue(part, host.scope, (argument) =>
          expandValue(argument, host),
        );
        marked += part.quoted ? quoted(elements, separate) : unquoted(elements, host.scope);
        break;
      }
      case 'output': {
        const text = withoutFinalNewlines(host.outputOf(part.script));
        marked += part.quoted ? quoted([text], false) : unquoted([text], host.scope);
        break;
      }
      case 'arithmetic':
        host.examine(part.script);
        marked += ENV;
        break;
      case 'process':
        marked += host.processFile(part.script, part.reads);
        break;
    }
  }
  if (marked.length > UNCOUNTED) host.scope.limits.characters -= marked.length;
  return marked;
}

/** As the shell does; a mark of origin at the end belongs to the last word. */
function withoutFinalNewlines(text: string): string {
  let end = text.length;
  while (end > 0 && /[\n\uE003\uE004]/.test(text[end - 1]!)) end--;
  return text.slice(0, end) + text.slice(end).replaceAll('\n', '');
}

function markSpecial(text: string): string {
  return text.replace(SPECIAL, (character) => MARK_OF[character]!);
}

function quoted(elements: string[], separate: boolean): string {
  if (separate) return elements.map((element) => asQuoted(element) || EMPTY_QUOTES).join(FIELD_BREAK);
  return asQuoted(elements.join(' ')) || EMPTY_QUOTES;
}

function unquoted(elements: string[], scope: Scope): string {
  return elements
    .map((element) => {
      const separators = scope.separators;
      let split = '';
      for (const c of asUnquoted(element)) split += separators.includes(c) ? FIELD_BREAK : c;
      return split.replace(GLOB_CHARACTERS, (c) => (c === '*' ? STAR : ANY));
    })
    .join(FIELD_BREAK);
}

/** Tilde and bracket classes, then marks that meant nothing become characters again. */
function finish(piece: string): string {
  let text = piece;
  if (text.startsWith(TILDE)) {
    const user = /^\uE00D([^/]*)/.exec(text)![1]!;
    // `~+` and `~-` are directories the line does not show; `~name` is somebody's home.
    if (/^[+-]$/.test(user)) text = ENV + text.slice(2);
    else if (/^[\w.-]*$/.test(user)) text = HOME + text.slice(1 + user.length);
  }
  return text
    .replace(BRACKET_CLASS, ANY)
    .replaceAll(EMPTY_QUOTES, '')
    .replace(LEFTOVER, (mark) => CHARACTER_OF[mark] ?? '');
}
