/** Two versions of a file, compared line by line. A content with a zero byte is not text. */
import { compareLines } from './compare-lines.ts';
import { lineCount, numberLines, type TextLines, toLines } from './text-lines.ts';
import { unifiedHunks } from './unified-hunks.ts';

export interface ContentPair {
  before: Uint8Array;
  after: Uint8Array;
}

export interface ComparedText {
  additions: number;
  deletions: number;
  /** How many steps the comparison took (compare-lines.ts). */
  steps: number;
  /** In the unified format. */
  hunks: string;
}

/** `hunks`: whether they are wanted, or only how many lines they have. Undefined if one of them is not text. */
export function compareContents(
  { before, after }: ContentPair,
  { maxSteps, hunks }: { maxSteps: number; hunks: boolean },
): ComparedText | undefined {
  if (before.includes(0) || after.includes(0)) return undefined;
  const [old, now] = [linesOf(before), linesOf(after)];
  const changes =
    lineCount(old) === 0 || lineCount(now) === 0
      ? {
          removed: new Uint8Array(lineCount(old)).fill(1),
          added: new Uint8Array(lineCount(now)).fill(1),
          steps: 0,
        }
      : compareLines(...numberLines(old, now), maxSteps);
  return {
    additions: countOf(changes.added),
    deletions: countOf(changes.removed),
    steps: changes.steps,
    hunks: hunks ? unifiedHunks(old, now, changes) : '',
  };
}

function linesOf({ buffer, byteOffset, byteLength }: Uint8Array): TextLines {
  return toLines(Buffer.from(buffer, byteOffset, byteLength).toString('latin1'));
}

function countOf(marks: Uint8Array): number {
  let count = 0;
  for (const mark of marks) count += mark;
  return count;
}
