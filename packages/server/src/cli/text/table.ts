/**
 * Rows under headings, each column as wide as its widest cell. The last one takes the rest of the terminal and is cut
 * to fit; without a terminal nothing is cut.
 */
import { fit, padTo, widthOf } from './width.ts';

export interface Cell {
  /** Safe to show, without escape sequences. */
  readonly text: string;
  readonly paint?: ((text: string) => string) | undefined;
}

const GAP = 2;

export function table(headings: readonly string[], rows: readonly Cell[][], columns: number): string {
  const all = [headings.map((text): Cell => ({ text })), ...rows];
  const last = headings.length - 1;
  const widths = headings.map((_, column) => Math.max(...all.map((row) => widthOf(row[column]!.text))));
  const left = columns - widths.slice(0, last).reduce((sum, width) => sum + width + GAP, 0);
  return all
    .map((row) =>
      row
        .map(({ text, paint = plain }, column) => {
          if (column === last) return paint(fit(text, Math.max(left, 10)));
          return paint(text) + padTo('', widths[column]! + GAP - widthOf(text));
        })
        .join('')
        .trimEnd(),
    )
    .join('\n');
}

function plain(text: string): string {
  return text;
}
