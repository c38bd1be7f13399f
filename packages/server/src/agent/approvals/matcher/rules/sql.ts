/**
 * Finds statements that destroy data in SQL text: a scan over keywords outside strings and comments.
 * Databases disagree whether a backslash escapes a quote and whether `#` comments, so the text is
 * scanned under both rules. A string or comment that never ends is read as code.
 */
import type { Scope } from '../walk/scope.ts';

const KEYWORDS = /\b(?:drop|truncate|delete)\b/i;
const PLAIN_TOKEN = /[A-Za-z_][\w$]*|[0-9.]+|\S/y;
const SPACE = /\s+/y;
const DROPPED =
  /^(?:table|database|schema|view|materialized|index|user|role|column|constraint|sequence|trigger|function|procedure|type|extension|tablespace|keyspace|policy|domain|server|owned|dictionary|partition|temporary|external|foreign|event|collection|catalog|warehouse|stage|stream|if|login|aggregate|cast|operator|rule|publication|subscription|unique|fulltext|synonym|package|primary)$/;

export function examineSql(text: string, scope: Scope): void {
  scope.budget.charge(2 * text.length);
  if (!KEYWORDS.test(text)) return;
  examineTokens(tokensOf(text, false), scope);
  if (/[\\#]/.test(text)) examineTokens(tokensOf(text, true), scope);
}

function tokensOf(text: string, mysql: boolean): string[] {
  const tokens: string[] = [];
  const unclosed = new Set<string>();
  let at = 0;
  while (at < text.length) {
    SPACE.lastIndex = at;
    at += SPACE.exec(text)?.[0].length ?? 0;
    const end = skipped(text, at, mysql, unclosed);
    if (end > at) {
      if (text[at] !== '-' && text[at] !== '/' && text[at] !== '#') tokens.push(text[at]!);
      at = end;
      continue;
    }
    PLAIN_TOKEN.lastIndex = at;
    const token = PLAIN_TOKEN.exec(text)?.[0];
    if (!token) break;
    tokens.push(token.toLowerCase());
    at += token.length;
  }
  return tokens;
}

/** The end of the comment or string at `at`, or `at`. `unclosed` remembers closers that do not come again. */
function skipped(text: string, at: number, mysql: boolean, unclosed: Set<string>): number {
  const c = text[at];
  if ((c === '-' && text[at + 1] === '-') || (mysql && c === '#')) {
    const end = text.indexOf('\n', at);
    return end < 0 ? text.length : end;
  }
  // MySQL runs the inside of `/*! … */`.
  const comment = c === '/' && text[at + 1] === '*' && text[at + 2] !== '!';
  const closer = comment ? '*/' : c === "'" || c === '"' || c === '`' ? c : undefined;
  if (closer === undefined || unclosed.has(closer)) return at;
  let from = at + closer.length;
  if (comment) from = at + 2;
  for (;;) {
    const end = text.indexOf(closer, from);
    if (end < 0) {
      unclosed.add(closer);
      return at;
    }
    if (comment || !mysql || !isEscaped(text, end, from)) return end + closer.length;
    from = end + 1;
  }
}

function isEscaped(text: string, at: number, from: number): boolean {
  let slashes = 0;
  while (at - 1 - slashes >= from && text[at - 1 - slashes] === '\\') slashes++;
  return slashes % 2 === 1;
}

/** Each statement is looked at once. */
function examineTokens(tokens: string[], scope: Scope): void {
  let start = 0;
  while (start < tokens.length) {
    const semicolon = tokens.indexOf(';', start);
    const end = semicolon < 0 ? tokens.length : semicolon;
    examineStatement(tokens.slice(start, end), scope);
    start = end + 1;
  }
}

function examineStatement(tokens: string[], scope: Scope): void {
  let deletes = -1;
  for (let i = 0; i < tokens.length; i++) {
    const next = tokens[i + 1] ?? '';
    if (tokens[i] === 'drop' && DROPPED.test(next)) scope.report('SQL DROP');
    if (tokens[i] === 'truncate') {
      const starts = i === 0 || /^(?:begin|then|do|as|\$|!|\d+)$/.test(tokens[i - 1]!);
      if (next === 'table' || (starts && /^["`\w[]/.test(next))) scope.report('SQL TRUNCATE');
    }
    if (tokens[i] === 'delete' && next === 'from' && deletes < 0) deletes = i;
  }
  if (deletes >= 0 && !isFiltered(tokens.slice(deletes + 2))) scope.report('SQL DELETE without WHERE');
}

/** Whether the statement has a WHERE that is not simply true. */
function isFiltered(tokens: string[]): boolean {
  const where = tokens.indexOf('where');
  if (where < 0) return false;
  const condition = tokens.slice(where + 1).filter((token) => token !== '(' && token !== ')');
  const [left, operator, right, ...more] = condition;
  if (condition.length === 1 && /^(?:true|[1-9]\d*)$/.test(left!)) return false;
  return !(operator === '=' && left === right && more.length === 0 && !/["'`]/.test(left ?? ''));
}
