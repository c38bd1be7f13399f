/**
 * Applies the hunks of one file to its text, in order: each is searched after the one before.
 *
 * A hunk applies where its kept and removed lines match exactly. If they match nowhere, white space at the ends of
 * lines is ignored; kept lines then stay as the file has them. White space at the start of a line has a meaning in too
 * many languages to be ignored. A hunk that matches several places is refused, unless its `@@` lines select one of the
 * exact matches: changing the wrong place is worse than asking again.
 */
import { closestLine } from './closest-line.ts';
import { EditError } from './edit-error.ts';
import { occurrences } from './occurrences.ts';
import type { Hunk } from './parse-patch.ts';
import { joinLines, splitLines } from './text-lines.ts';

export function applyHunks(text: string, hunks: readonly Hunk[]): string {
  const { lines, eol, endsWithEol } = splitLines(text);
  const result: string[] = [];
  let done = 0;
  for (const [index, hunk] of hunks.entries()) {
    const start = placeOf(hunk, lines, done, hunks.length === 1 ? 'The hunk' : `Hunk ${index + 1}`);
    while (done < start) result.push(lines[done++] as string);
    for (const { kind, text: line } of hunk.lines) {
      if (kind === 'add') result.push(eol === '\r\n' ? line.replace(/\r$/, '') : line);
      else {
        if (kind === 'keep') result.push(lines[done] as string);
        done++;
      }
    }
  }
  while (done < lines.length) result.push(lines[done++] as string);
  return joinLines({ lines: result, eol, endsWithEol });
}

function placeOf(hunk: Hunk, lines: readonly string[], done: number, name: string): number {
  const from = afterAnchors(hunk, lines, done, name);
  const expected = hunk.lines.filter(({ kind }) => kind !== 'add').map(({ text }) => text);
  if (expected.length === 0) return placeOfAddition(hunk, lines, from, name);
  const places = (of: readonly string[], wanted: readonly string[]) =>
    occurrences(of, wanted, from).filter((start) => !hunk.atEnd || start + wanted.length === lines.length);

  const exact = places(lines, expected);
  if (exact.length === 1 || (exact.length > 1 && hunk.anchors.length > 0)) return exact[0] as number;
  const found = exact.length > 0 ? exact : places(lines.map(trimmedEnd), expected.map(trimmedEnd));
  if (found.length === 1) return found[0] as number;
  if (found.length > 1) throw new EditError(ambiguous(name, found));
  throw new EditError(notFound(hunk, lines, expected, from, name));
}

/** The line from which the hunk is searched: the anchor itself, because the hunk may repeat it. */
function afterAnchors(hunk: Hunk, lines: readonly string[], done: number, name: string): number {
  let from = done;
  for (const [index, anchor] of hunk.anchors.entries()) {
    const after = index === 0 ? from : from + 1;
    const at = lines.findIndex((line, number) => number >= after && line.trim() === anchor);
    if (at === -1) {
      const where = after === 0 ? '' : ` after line ${after}`;
      throw new EditError(
        `${name} does not apply: its line '@@ ${anchor}' was not found${where}.${closestLine(lines, [anchor])}`,
      );
    }
    from = at;
  }
  return from;
}

function placeOfAddition(hunk: Hunk, lines: readonly string[], from: number, name: string): number {
  if (hunk.atEnd || lines.length === 0) return lines.length;
  if (hunk.anchors.length > 0) return from + 1;
  throw new EditError(
    `${name} only adds lines and does not say where: add lines that stay around them, or a line '@@ <line before>'.`,
  );
}

function ambiguous(name: string, found: readonly number[]): string {
  const shown = found.slice(0, 10).map((start) => start + 1);
  const more = found.length > shown.length ? ', …' : '';
  return `${name} fits ${found.length} places, at lines ${shown.join(', ')}${more}: add lines that stay around the change, or a line '@@ <line before>'.`;
}

function notFound(
  hunk: Hunk,
  lines: readonly string[],
  expected: readonly string[],
  from: number,
  name: string,
): string {
  const wanted = expected.slice(0, 6).map((line) => `  ${line.slice(0, 200)}`);
  const before = occurrences(lines, expected).find((start) => start < from);
  const reason =
    before !== undefined
      ? ` They stand at line ${before + 1}, before the place where this hunk may begin: hunks come in the order of the file.`
      : closestLine(lines, expected);
  const end = hunk.atEnd ? ' at the end of the file' : '';
  return `${name} does not apply: these lines were not found${end}:\n${wanted.join('\n')}\n${reason.trim()}`;
}

function trimmedEnd(line: string): string {
  return line.trimEnd();
}
