/** Compares two texts line by line. */
import { diffLines } from 'diff';
import type { DiffLine } from './patch-lines.ts';

export function compareTexts(before: string, after: string): DiffLine[] {
  return diffLines(before, after).flatMap(({ value, added, removed }) => {
    const kind = added ? 'added' : removed ? 'removed' : 'same';
    return value
      .replace(/\n$/, '')
      .split('\n')
      .map((text) => ({ kind, text }) as const);
  });
}
