/** Only the first and the last lines of huge output are shown: nobody could scroll a page with all of them. */

export interface OutputWindow {
  head: string;
  /** Empty where the head is everything. */
  tail: string;
  lines: number;
  left: number;
}

const EACH_LINES = 200;
/** A line may be as long as the whole output. */
const EACH_CHARACTERS = 40_000;

export function windowOf(output: string): OutputWindow {
  const ends = lineEnds(output);
  const lines = ends.length;
  if (lines <= 2 * EACH_LINES && output.length <= 2 * EACH_CHARACTERS) {
    return { head: output, tail: '', lines, left: 0 };
  }
  const headEnd = Math.min(ends[EACH_LINES - 1] ?? output.length, EACH_CHARACTERS);
  const tailStart = Math.max(ends[lines - EACH_LINES - 1] ?? 0, output.length - EACH_CHARACTERS, headEnd);
  const shown = countLines(output, 0, headEnd) + countLines(output, tailStart, output.length);
  return {
    head: output.slice(0, headEnd),
    tail: output.slice(tailStart),
    lines,
    left: Math.max(0, lines - shown),
  };
}

/** Where words occur, at most so many times. */
export function find(output: string, words: string, max = 1000): number[] {
  if (words === '') return [];
  const found: number[] = [];
  const [where, what] = [output.toLowerCase(), words.toLowerCase()];
  for (
    let at = where.indexOf(what);
    at !== -1 && found.length < max;
    at = where.indexOf(what, at + what.length)
  ) {
    found.push(at);
  }
  return found;
}

/** The lines around a place, for what a search found. */
export function around(output: string, at: number, context = 3): string {
  let start = at;
  for (let lines = 0; lines <= context && start > 0; lines++) start = output.lastIndexOf('\n', start - 1);
  let end = at;
  for (let lines = 0; lines <= context && end !== -1; lines++) end = output.indexOf('\n', end + 1);
  // Here `start` is a line end, or -1 or 0 at the beginning.
  const from = output[start] === '\n' ? start + 1 : 0;
  return output.slice(from, end === -1 ? output.length : end);
}

function lineEnds(output: string): number[] {
  const ends: number[] = [];
  for (let at = output.indexOf('\n'); at !== -1; at = output.indexOf('\n', at + 1)) ends.push(at + 1);
  if (output.length > (ends.at(-1) ?? 0)) ends.push(output.length);
  return ends;
}

function countLines(output: string, from: number, to: number): number {
  return lineEnds(output.slice(from, to)).length;
}
