/**
 * Brace expansion on marked text (`{a,b}`, `{a..e}`, `{1..5}`), because `{rm,-rf,/}` is a command.
 * The number of results is capped: a large range of numbers becomes one unknown value, which is all a
 * rule needs to know, and a large product is reported as too complex by returning undefined.
 */
import { BRACE_CLOSE, BRACE_COMMA, BRACE_OPEN, ENV } from './marks.ts';

const MAX_RESULTS = 256;
export const MAX_BRACES = 64;
const RANGE = /^(-?\d{1,9}|[A-Za-z])\.\.(-?\d{1,9}|[A-Za-z])(?:\.\.(-?\d{1,9}))?$/;
const MAX_RANGE = 64;

export function expandBraces(marked: string): string[] | undefined {
  if (!marked.includes(BRACE_OPEN) || !marked.includes(BRACE_CLOSE)) return [marked];
  if (marked.split(BRACE_OPEN).length - 1 > MAX_BRACES) return undefined;
  return expand(marked);
}

function expand(marked: string): string[] | undefined {
  for (let open = marked.indexOf(BRACE_OPEN); open >= 0; open = marked.indexOf(BRACE_OPEN, open + 1)) {
    const group = groupAt(marked, open);
    if (!group) continue;
    const tails = expand(marked.slice(group.end + 1));
    if (!tails) return undefined;
    const head = marked.slice(0, open);
    const results: string[] = [];
    for (const item of group.items) {
      for (const middle of expand(item) ?? [ENV]) {
        for (const tail of tails) {
          if (results.push(head + middle + tail) > MAX_RESULTS) return undefined;
        }
      }
    }
    return results;
  }
  return [marked];
}

/** The alternatives of the group that opens at `open`, if it is one. */
function groupAt(marked: string, open: number): { items: string[]; end: number } | undefined {
  const items: string[] = [];
  let depth = 0;
  let start = open + 1;
  for (let at = open; at < marked.length; at++) {
    const c = marked[at];
    if (c === BRACE_OPEN) depth++;
    else if (c === BRACE_COMMA && depth === 1) {
      items.push(marked.slice(start, at));
      start = at + 1;
    } else if (c === BRACE_CLOSE && --depth === 0) {
      items.push(marked.slice(start, at));
      const range = items.length === 1 ? rangeOf(items[0]!) : items;
      return range && { items: range, end: at };
    }
  }
  return undefined;
}

function rangeOf(text: string): string[] | undefined {
  const found = RANGE.exec(text);
  if (!found) return undefined;
  const numeric = /\d/.test(found[1]!);
  if (numeric !== /\d/.test(found[2]!)) return undefined;
  const from = numeric ? Number(found[1]) : found[1]!.charCodeAt(0);
  const to = numeric ? Number(found[2]) : found[2]!.charCodeAt(0);
  const step = Math.abs(Number(found[3] ?? 1)) || 1;
  if (Math.abs(to - from) / step > MAX_RANGE) return [ENV];
  const items: string[] = [];
  for (let at = from; from <= to ? at <= to : at >= to; at += from <= to ? step : -step) {
    items.push(numeric ? String(at) : String.fromCharCode(at));
  }
  return items;
}
