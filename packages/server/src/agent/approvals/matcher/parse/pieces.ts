/**
 * The parts of the grammar that contain words but no commands of their own: blank space, comments,
 * redirections, assignments.
 */
import { REDIRECT_COST, WORD_COST } from '../budget.ts';
import { expectHeredoc, readHeredocs } from './heredoc.ts';
import type { Source } from './source.ts';
import type { Assignment, Redirect } from './syntax.ts';
import { readWord, skipBlanks } from './words.ts';

const COMMENT = /#[^\n]*/y;
const ASSIGNMENT = /([A-Za-z_][A-Za-z0-9_]*)(\[[^\]\s;&|<>()]*\])?(\+?)=/y;
const FD = /(?:[0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\})(?=[<>])/y;
const REDIRECT_START = /[0-9{<>&]/;
const REDIRECT = /<<<|<<-|<<|<&|<>|<|>>|>&|>\||>|&>>|&>/y;

/** Blanks, newlines (with the here-documents that begin after them) and comments. */
export function skipNewlines(source: Source): void {
  for (;;) {
    skipBlanks(source);
    if (source.peek() === '\n') {
      source.pos++;
      if (source.heredocs.length > 0) readHeredocs(source);
    } else if (!skipComment(source)) {
      return;
    }
  }
}

/** In arithmetic `#` never starts a word, so text that has one there is being misread. */
export function skipComment(source: Source): boolean {
  if (source.peek() !== '#') return false;
  if (source.arithmetic) source.fail('unparsable command');
  source.take(COMMENT);
  return true;
}

/** Reads one redirection into `redirects`; false when there is none here. */
export function parseRedirect(source: Source, redirects: Redirect[]): boolean {
  if (source.pushed || !REDIRECT_START.test(source.peek())) return false;
  source.charge(WORD_COST);
  const start = source.pos;
  const fd = source.take(FD) || undefined;
  const c = source.peek();
  const substitution = (c === '<' || c === '>') && source.peekSecond() === '(' && !source.arithmetic;
  const operator = substitution ? '' : source.take(REDIRECT);
  if (operator === '') {
    source.pos = start;
    return false;
  }
  source.charge(REDIRECT_COST);
  skipBlanks(source);
  const target = readWord(source);
  if (!target && !source.arithmetic) source.fail('unparsable command');
  const redirect: Redirect = { operator, fd, target: target ?? [], body: undefined };
  redirects.push(redirect);
  if ((operator === '<<' || operator === '<<-') && !source.arithmetic) expectHeredoc(source, redirect);
  return true;
}

/** Reads `name=value` or `name=(…)`; undefined when there is none here. */
export function parseAssignment(source: Source): Assignment | undefined {
  ASSIGNMENT.lastIndex = source.pos;
  const found = ASSIGNMENT.exec(source.text);
  if (!found) return undefined;
  source.charge(REDIRECT_COST);
  source.pos += found[0].length;
  const assignment: Assignment = {
    name: found[1]!,
    index: found[2] !== undefined,
    append: found[3] === '+',
    value: [],
    items: undefined,
  };
  if (source.peek() === '(') {
    source.pos++;
    assignment.items = parseItems(source);
  } else {
    assignment.value = readWord(source) ?? [];
  }
  return assignment;
}

function parseItems(source: Source): Assignment['items'] {
  const items: Assignment['items'] = [];
  for (;;) {
    skipNewlines(source);
    const word = readWord(source);
    if (word) {
      items.push(word);
    } else if (source.atEnd) {
      source.fail('unparsable command');
      return items;
    } else if (source.text[source.pos++] === ')') {
      return items;
    }
  }
}
