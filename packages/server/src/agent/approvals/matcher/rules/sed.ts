/**
 * Scripts of sed. A script is harmless when every command in it is one of the known ones; `e` and the flag `e` run
 * programs, `w` and the flag `w` write files, and what cannot be read asks. `line` is what the script works on, if known.
 */
import type { Host } from './call.ts';
import { findNever, neverOnly } from './never.ts';
import { readPath, writePath } from './sensitive-paths.ts';

const ADDRESS = /(?:\d+(?:~\d+)?|\$)|\+\d+|~\d+/y;
const BLANK = /[\s;]*/y;
const SPACES = /[ \t]*/y;
const TO_LINE_END = /[^\n]*/y;

export function judgeSed(script: string, host: Host, line = ''): void {
  host.scope.budget.charge(script.length);
  let at = 0;
  while (at < script.length) {
    skip(BLANK);
    if (at >= script.length) return;
    if (!address() || !command()) {
      host.scope.report('interpreter with inline code');
      findNever(`!${script.slice(at)}`, host);
      return;
    }
  }

  function skip(pattern: RegExp): string {
    pattern.lastIndex = at;
    const found = pattern.exec(script)?.[0] ?? '';
    at += found.length;
    return found;
  }

  /** `1`, `$`, `/re/I`, `\cREc`, two of them, and `!`. */
  function address(): boolean {
    for (let part = 0; part < 2; part++) {
      skip(SPACES);
      const c = script[at] ?? '';
      if (c === '/' || c === '\\') {
        if (c === '\\') at++;
        if (!delimited(script[at++] ?? '')) return false;
        skip(/[IM]*/y);
      } else if (skip(ADDRESS) === '') {
        break;
      }
      skip(SPACES);
      if (script[at] !== ',') break;
      at++;
    }
    skip(/[ \t!]*/y);
    return true;
  }

  /** Up to the next `end` that is neither escaped nor in brackets, which is passed. */
  function delimited(end: string): boolean {
    if (end === '' || end === '\n') return false;
    let bracket = false;
    for (; at < script.length; at++) {
      const c = script[at];
      if (c === '\\') at++;
      else if (c === end && !bracket) {
        at++;
        return true;
      } else if (c === '[' && !bracket && end !== '[') {
        // Only a class that ends before the delimiter's line hides one.
        bracket = /^\[\^?\]?[^\]\n]*\]/.test(script.slice(at, at + 200));
      } else if (c === ']' && bracket && !/[[^]/.test(script[at - 1] ?? '')) bracket = false;
    }
    return false;
  }

  function command(): boolean {
    const name = script[at++] ?? '';
    if (/[{}=dDgGhHnNpPxzF]/.test(name)) return true;
    switch (name) {
      case '#':
        skip(TO_LINE_END);
        return true;
      case ':':
        skip(TO_LINE_END);
        return true;
      case 'b':
      case 't':
      case 'T':
        skip(/[ \t]*[^\s;}]*/y);
        return true;
      case 'q':
      case 'Q':
      case 'l':
      case 'L':
        skip(/[ \t]*\d*/y);
        return true;
      case 'a':
      case 'i':
      case 'c':
        // The text goes to the end of a line that no backslash continues.
        while (/\\$/.test(skip(TO_LINE_END)) && at < script.length) at++;
        return true;
      case 'r':
      case 'R':
        readPath(skip(TO_LINE_END).trim(), host);
        return true;
      case 'w':
      case 'W':
        writePath(skip(TO_LINE_END).trim(), host);
        return true;
      case 's':
        return substitution();
      case 'y': {
        const end = script[at++] ?? '';
        return delimited(end) && delimited(end);
      }
      case 'e':
        if (/^[ \t]*(?:$|[\n;}])/.test(script.slice(at))) runs(line);
        return false;
      default:
        return false;
    }
  }

  function substitution(): boolean {
    const end = script[at++] ?? '';
    if (!delimited(end)) return false;
    const from = at;
    if (!replacement(end)) return false;
    const text = script.slice(from, at - 1);
    const flags = skip(/[gpIiMm0-9]*/y);
    if (script[at] === 'e') runs(text.replace(/\\(.)|&/gs, (_, escaped?: string) => escaped ?? line));
    if (script[at] === 'w' && flags !== undefined) {
      at++;
      writePath(skip(TO_LINE_END).trim(), host);
      return true;
    }
    return at >= script.length || /[\s;}#]/.test(script[at]!);
  }

  /** Looks only for what never runs; the caller reports that something runs. */
  function runs(code: string): void {
    neverOnly(host, () => host.code(code, 'argument'));
  }

  function replacement(end: string): boolean {
    for (; at < script.length; at++) {
      if (script[at] === '\\') at++;
      else if (script[at] === end) {
        at++;
        return true;
      }
    }
    return false;
  }
}
