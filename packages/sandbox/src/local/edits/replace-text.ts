/**
 * Replaces a piece of a text by another. The piece has to occur exactly, and only once unless all occurrences are
 * meant. The one exception: in a text whose lines all end with CRLF, an LF matches a line end of the text.
 */
import { closestLine, quoteLines } from './closest-line.ts';
import { EditError } from './edit-error.ts';
import { occurrences } from './occurrences.ts';
import { lineNumbers, splitLines, usesCrLf } from './text-lines.ts';

const SHOWN_PLACES = 10;

interface Replacement {
  oldString: string;
  newString: string;
  replaceAll: boolean;
}

export interface Replaced {
  text: string;
  /** The line numbers before the change at which replaced pieces began. */
  lines: number[];
}

export function replaceText(text: string, wanted: Replacement): Replaced {
  if (wanted.oldString === '') throw new EditError('old_string is empty; it should be the text to replace.');
  if (wanted.oldString === wanted.newString) {
    throw new EditError('old_string and new_string are the same, so there is nothing to change.');
  }
  const { oldString, newString } = inLineEndsOf(text, wanted);
  const found = occurrences(text, oldString);
  if (found.length === 0) throw new EditError(notFound(text, oldString));
  // Overlapping ones count: nobody can tell which of them is meant.
  if (found.length > 1 && !wanted.replaceAll) throw new EditError(severalFound(lineNumbers(text, found)));
  const places = apart(found, oldString.length);
  const pieces: string[] = [];
  let end = 0;
  for (const place of places) {
    pieces.push(text.slice(end, place), newString);
    end = place + oldString.length;
  }
  return { text: pieces.join('') + text.slice(end), lines: lineNumbers(text, places) };
}

function inLineEndsOf(text: string, { oldString, newString }: Replacement) {
  if (!usesCrLf(text) || oldString.includes('\r') || !`${oldString}${newString}`.includes('\n')) {
    return { oldString, newString };
  }
  const convert = (piece: string) => piece.replaceAll(/\r?\n/g, '\r\n');
  return { oldString: convert(oldString), newString: convert(newString) };
}

/** If places overlap, keeps only the first, as `replaceAll` of a string does. */
function apart(places: readonly number[], length: number): number[] {
  const kept: number[] = [];
  for (const place of places) if (place >= (kept.at(-1) ?? -length) + length) kept.push(place);
  return kept;
}

function notFound(text: string, oldString: string): string {
  const { lines } = splitLines(text);
  const wanted = splitLines(oldString).lines;
  const trimmed = wanted.map((line) => line.trim());
  const loosely = occurrences(
    lines.map((line) => line.trim()),
    trimmed,
  );
  if (loosely.length > 0 && trimmed.some((line) => line !== '')) {
    const place = loosely[0] as number;
    return `old_string was not found. Line ${place + 1} differs from it only in white space:\n${quoteLines(lines, place, wanted.length)}`;
  }
  return `old_string was not found.${closestLine(lines, wanted)}`;
}

function severalFound(lines: readonly number[]): string {
  const shown = lines.slice(0, SHOWN_PLACES).join(', ');
  const more = lines.length > SHOWN_PLACES ? ', …' : '';
  return `old_string was found ${lines.length} times, in lines ${shown}${more}. Add text around it until it is unique, or set replace_all.`;
}
