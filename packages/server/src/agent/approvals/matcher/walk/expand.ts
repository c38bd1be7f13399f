/**
 * Turns a word into the fields the program would receive, in bash's order: braces, tilde, parameters
 * and command output, splitting, quote removal. What cannot be known becomes a mark (marks.ts).
 */
import { EXPANSION_COST } from '../budget.ts';
import { plainText, type Script, type Word } from '../parse/syntax.ts';
import { expandBraces, MAX_BRACES } from './braces.ts';
import {
  ANY,
  BRACE_CLOSE,
  BRACE_COMMA,
  BRACE_OPEN,
  CLASS_CLOSE,
  CLASS_OPEN,
  EMPTY_QUOTES,
  ENV,
  FIELD_BREAK,
  HIDDEN,
  HOME,
  STAR,
  TILDE,
  toSource,
} from './marks.ts';
import { parameterValues } from './parameter.ts';
import type { Scope } from './scope.ts';

/** How expansion walks the scripts inside words. */
export interface ExpansionHost {
  scope: Scope;
  /** Judges the script and returns what it prints. */
  outputOf(script: Script): string;
  /** The path under which `<(…)` is read, or `>(…)` written. */
  processFile(script: Script, reads: boolean): string;
  /** Judges the substitutions in arithmetic, whose words are no commands. */
  expandOnly(script: Script): void;
}

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
const BLANKS = /[ \t\n]+/g;
/** Values that can stand side by side for one variable: each a word of its own, and no option. */
const PLAIN_VALUE = /^[^-\s;&|<>()`$\uE001][^\s;&|<>()`$\uE001]*$/;

/** The fields of a word in command or argument position. */
export function expandFields(word: Word, host: ExpansionHost): string[] {
  const plain = plainText(word);
  if (plain !== undefined && !HAS_SPECIAL.test(plain)) return [plain];
  const marked = expandMarked(word, host, true);
  if (!BETWEEN_MARKS.test(marked)) return marked === '' ? [] : [marked];
  const braces = marked.split(BRACE_OPEN).length - 1;
  // Beyond MAX_BRACES nothing is expanded.
  if (braces > 0) host.scope.budget.charge(marked.length * (braces > MAX_BRACES ? 1 : braces));
  const alternatives = expandBraces(marked);
  if (!alternatives) host.scope.report('command too complex to inspect');
  const fields: string[] = [];
  for (const alternative of alternatives ?? [marked]) {
    host.scope.budget.charge(alternative.length);
    for (const piece of alternative.split(FIELD_BREAK)) {
      if (piece !== '') fields.push(finish(piece));
    }
  }
  return fields;
}

/** The one value of a word where the shell neither splits nor expands braces. */
export function expandValue(word: Word, host: ExpansionHost): string {
  return toSource(finish(expandMarked(word, host, false).replaceAll(FIELD_BREAK, ' ')));
}

function expandMarked(word: Word, host: ExpansionHost, fields: boolean): string {
  let marked = '';
  for (const part of word) {
    if (part.kind !== 'text') host.scope.budget.charge(EXPANSION_COST);
    switch (part.kind) {
      case 'text':
        marked += part.quoted ? part.text || EMPTY_QUOTES : part.text.replace(SPECIAL, (c) => MARK_OF[c]!);
        break;
      case 'parameter': {
        const { values, separate } = parameterValues(part, host.scope, (argument) =>
          expandValue(argument, host),
        );
        marked += alternatives(
          values.map((value) => elementsText(value, part.quoted, separate, host.scope)),
          fields,
        );
        break;
      }
      case 'output': {
        const text = host.outputOf(part.script).replace(/\n$/, '');
        marked += elementsText([text], part.quoted, false, host.scope);
        break;
      }
      case 'arithmetic':
        host.expandOnly(part.script);
        marked += ENV;
        break;
      case 'process':
        marked += host.processFile(part.script, part.reads);
        break;
    }
  }
  host.scope.budget.charge(1 + (marked.length >> 2));
  return marked;
}

/** A variable with several possible values stands for all of them, as if they were written in braces. */
function alternatives(values: string[], fields: boolean): string {
  if (values.length < 2) return values[0] ?? '';
  if (!fields || !values.every((value) => PLAIN_VALUE.test(value))) return HIDDEN;
  return BRACE_OPEN + values.join(BRACE_COMMA) + BRACE_CLOSE;
}

function elementsText(elements: readonly string[], quoted: boolean, separate: boolean, scope: Scope): string {
  if (quoted) {
    if (separate) return elements.map((element) => element || EMPTY_QUOTES).join(FIELD_BREAK);
    return elements.join(' ') || EMPTY_QUOTES;
  }
  const separators =
    scope
      .lookup('IFS')
      ?.flat()
      .join('')
      .replace(/[^\w,:;|=./&-]/g, '') ?? '';
  let text = elements.join(' ');
  for (const separator of new Set(separators)) text = text.replaceAll(separator, ' ');
  return text.replace(BLANKS, FIELD_BREAK).replace(/[*?]/g, (c) => (c === '*' ? STAR : ANY));
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
  // An address with brackets holds no pattern.
  return (/^\w+:\/\//.test(text) ? text : text.replace(BRACKET_CLASS, ANY))
    .replaceAll(EMPTY_QUOTES, '')
    .replace(LEFTOVER, (mark) => CHARACTER_OF[mark] ?? '');
}
