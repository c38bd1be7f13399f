/** The changed lines of one file, as a unified diff tells them, each with its number in the file before and after. */
import type { DiffLine } from '../patch-lines.ts';

const PLACE = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** Skips the lines before the first hunk: they name the file, which the reader knows. */
export function unifiedLines(patch: string): DiffLine[] {
  const lines: DiffLine[] = [];
  let [before, after, beforeLeft, afterLeft] = [0, 0, 0, 0];
  for (const line of patch.replace(/\n$/, '').split('\n')) {
    const text = line.slice(1);
    // The counts of a place decide what belongs to it: a removed line may look like a header.
    if (beforeLeft > 0 || afterLeft > 0) {
      if (line.startsWith('+')) {
        lines.push({ kind: 'added', text, after: after++ });
        afterLeft--;
      } else if (line.startsWith('-')) {
        lines.push({ kind: 'removed', text, before: before++ });
        beforeLeft--;
      } else if (!line.startsWith('\\')) {
        lines.push({ kind: 'same', text, before: before++, after: after++ });
        beforeLeft--;
        afterLeft--;
      } else lines.push({ kind: 'place', text: line });
    } else if (line.startsWith('\\')) lines.push({ kind: 'place', text: line });
    else {
      const place = PLACE.exec(line);
      if (place === null) continue;
      [before, beforeLeft, after, afterLeft] = place.slice(1).map((number = '1') => Number(number)) as [
        number,
        number,
        number,
        number,
      ];
      lines.push({ kind: 'place', text: line });
    }
  }
  return lines;
}
