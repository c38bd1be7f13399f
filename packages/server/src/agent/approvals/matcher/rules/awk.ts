/**
 * Programs of awk. Outside strings, patterns and comments nothing may start a command: no `system`, no pipe, no
 * loading of further code. Files that it writes are checked like any other.
 */
import type { Host } from './call.ts';
import { findNever } from './never.ts';
import { writePath } from './sensitive-paths.ts';

const TOKEN = /\s+|#[^\n]*|"(?:[^"\\\n]|\\[\s\S])*"|[A-Za-z_]\w*|\d[\w.]*|\|\||\|&|>>|>=|&&|[\s\S]/y;
const BEFORE_OPERAND = /^(?:[({,;!~&|?:=+\-*%^<>\n]|&&|\|\||>>|>=|return|print|in|else|do|)$/;
const FORBIDDEN = /^(?:system|\||\|&|@)$/;

export function judgeAwk(code: string, host: Host): void {
  host.scope.budget.charge(2 * code.length);
  if (isHarmless(code, host)) return;
  host.scope.report('interpreter with inline code');
  findNever(code, host);
}

function isHarmless(code: string, host: Host): boolean {
  let at = 0;
  let last = '';
  while (at < code.length) {
    if (code[at] === '/' && BEFORE_OPERAND.test(last)) {
      at = endOfPattern(code, at + 1);
      last = '/';
      if (at < 0) return false;
      continue;
    }
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(code)?.[0] ?? '';
    if (token === '') return false;
    at += token.length;
    if (/^[ \t\r]+$/.test(token) || token.startsWith('#')) continue;
    if (FORBIDDEN.test(token)) return false;
    if (token === '"') return false;
    if ((last === '>' || last === '>>') && token.startsWith('"')) writePath(token.slice(1, -1), host);
    last = /^\s+$/.test(token) ? (token.includes('\n') ? '\n' : last) : token;
  }
  return true;
}

/** Just after the `/` that ends the pattern, or -1. */
function endOfPattern(code: string, from: number): number {
  let bracket = false;
  for (let at = from; at < code.length && code[at] !== '\n'; at++) {
    const c = code[at];
    if (c === '\\') at++;
    else if (c === '[') bracket = true;
    else if (c === ']') bracket = false;
    else if (c === '/' && !bracket) return at + 1;
  }
  return -1;
}
