/** Changes of lines in the unified format, as `git diff` writes them: changes that are close together share a hunk. */
import type { LineChanges } from './compare-lines.ts';
import { lineAt, lineCount, type TextLines } from './text-lines.ts';

const CONTEXT_LINES = 3;
const NO_NEWLINE = '\n\\ No newline at end of file\n';

/** Lines from `old` up to `oldEnd` become those from `now` up to `nowEnd`. */
interface Change {
  old: number;
  oldEnd: number;
  now: number;
  nowEnd: number;
}

export function unifiedHunks(
  before: TextLines,
  after: TextLines,
  changes: Pick<LineChanges, 'removed' | 'added'>,
): string {
  let text = '';
  for (const hunk of hunksOf([...changedStretches(changes)])) text += hunkText(hunk, before, after);
  return text;
}

function* changedStretches({ removed, added }: Pick<LineChanges, 'removed' | 'added'>): Generator<Change> {
  for (let [old, now] = [0, 0]; old < removed.length || now < added.length; ) {
    let [oldEnd, nowEnd] = [old, now];
    while (removed[oldEnd] === 1) oldEnd++;
    while (added[nowEnd] === 1) nowEnd++;
    if (oldEnd > old || nowEnd > now) yield { old, oldEnd, now, nowEnd };
    // The line after it is in both.
    [old, now] = [oldEnd + 1, nowEnd + 1];
  }
}

/** Puts changes whose contexts would touch into one hunk. */
function hunksOf(changes: readonly Change[]): Change[][] {
  const hunks: Change[][] = [];
  for (const change of changes) {
    const last = hunks.at(-1);
    const previous = last?.at(-1);
    if (previous !== undefined && change.old - previous.oldEnd <= 2 * CONTEXT_LINES) last!.push(change);
    else hunks.push([change]);
  }
  return hunks;
}

function hunkText(changes: readonly Change[], before: TextLines, after: TextLines): string {
  const first = changes[0]!;
  const last = changes.at(-1)!;
  const lead = Math.min(CONTEXT_LINES, first.old);
  const [old, now] = [first.old - lead, first.now - lead];
  const trail = Math.min(CONTEXT_LINES, lineCount(before) - last.oldEnd);
  let body = '';
  let at = old;
  for (const change of changes) {
    body += marked(' ', before, at, change.old);
    body += marked('-', before, change.old, change.oldEnd);
    body += marked('+', after, change.now, change.nowEnd);
    at = change.oldEnd;
  }
  body += marked(' ', before, at, last.oldEnd + trail);
  const oldCount = last.oldEnd + trail - old;
  const nowCount = last.nowEnd + trail - now;
  return `@@ -${range(old, oldCount)} +${range(now, nowCount)} @@\n${body}`;
}

/** A range without lines is named by the line before it. */
function range(start: number, count: number): string {
  if (count === 1) return `${start + 1}`;
  return `${count === 0 ? start : start + 1},${count}`;
}

function marked(mark: string, lines: TextLines, start: number, end: number): string {
  let text = '';
  for (let index = start; index < end; index++) {
    const line = lineAt(lines, index);
    text += mark + (line.endsWith('\n') ? line : line + NO_NEWLINE);
  }
  return text;
}
