/** Helps a model whose edit did not match: shows the part of the text that is most similar to what it expected. */
const SHOWN_LINES = 6;
const SHOWN_CHARS = 200;
/** How many lines are compared with the expected one, from the start of the text. */
const COMPARED_LINES = 50_000;

/** A sentence about the line most similar to the most distinctive wanted line, or nothing if none is similar. */
export function closestLine(lines: readonly string[], wanted: readonly string[]): string {
  const telling = wanted.map((line) => line.trim()).reduce((a, b) => (b.length > a.length ? b : a), '');
  if (telling === '') return '';
  const offset = wanted.findIndex((line) => line.trim() === telling);
  let best = -1;
  // At least half of it: anything less is a different line.
  let bestScore = Math.ceil(Math.min(telling.length, SHOWN_CHARS) / 2) - 1;
  for (let at = 0; at < Math.min(lines.length, COMPARED_LINES); at++) {
    const score = likeness((lines[at] as string).trim(), telling);
    if (score > bestScore) {
      best = at;
      bestScore = score;
    }
  }
  if (best === -1) return ' No line of the file is like it; read the file again.';
  const start = Math.max(0, best - offset);
  return ` The closest lines are:\n${quoteLines(lines, start, wanted.length)}`;
}

export function quoteLines(lines: readonly string[], start: number, count: number): string {
  const shown = lines.slice(start, start + Math.min(count, SHOWN_LINES));
  return shown.map((line, index) => `  ${start + index + 1}: ${line.slice(0, SHOWN_CHARS)}`).join('\n');
}

/** Counts equal characters from the start and from the end. */
function likeness(a: string, b: string): number {
  const length = Math.min(a.length, b.length, SHOWN_CHARS);
  let start = 0;
  while (start < length && a[start] === b[start]) start++;
  let end = 0;
  while (end < length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  return start + end;
}
