/** At the end of a run: what changed, and how to take it. */
import { NotFoundError, type Talaria } from '@talaria/client';
import type { Style } from '../style.ts';
import { nextCommand } from '../text/next-command.ts';
import { safeLine } from '../text/safe-text.ts';
import { shellWord } from '../text/shell-word.ts';
import { statLines } from './diff/diff-stat.ts';

/** A long list is not read. */
const SHOWN_MAX = 20;
/** The most runs in a line of forks of forks. */
const LINE_MAX = 10;

export interface ShownChanges {
  client: Talaria;
  /** Where the changes could be taken to; undefined if they are there already. */
  directory: string | undefined;
  /** The flag that named the server. */
  server: string | undefined;
  style: Style;
}

export async function changeLines(
  runId: string,
  { client, directory, server, style }: ShownChanges,
): Promise<string[]> {
  try {
    const diff = await client.runs.diff(runId);
    const lines = statLines(diff, style);
    if (diff.data.length === 0) return lines;
    const hidden = diff.data.length - SHOWN_MAX;
    const shown = hidden <= 0 ? lines : [...lines.slice(0, SHOWN_MAX), `  and ${hidden} more`, lines.at(-1)!];
    const see = `See it: ${nextCommand(`diff ${runId}`, server)}`;
    if (directory === undefined) return [...shown, see];
    const into = directory === '.' ? '' : ` --dir ${shellWord(directory)}`;
    const parts = await lineOf(client, runId);
    const takes = parts.map((part) => nextCommand(`apply ${part}${into}`, server));
    return [...shown, see, `Take it: ${takes.join(' && ')}`];
  } catch (error) {
    return [`What changed could not be read: ${safeLine((error as Error).message)}`];
  }
}

/** The run as `apply` takes it, after what it was forked from: each has changed only what came after its beginning. */
async function lineOf(client: Talaria, runId: string): Promise<string[]> {
  const line = [shellWord(runId)];
  let { forked_from: source } = await client.runs.get(runId);
  while (source !== undefined && line.length < LINE_MAX) {
    const { run_id, seq } = source;
    const older = await client.runs.get(run_id).catch(asGone);
    // The changes of a deleted run can no longer be applied.
    if (older === undefined) break;
    line.unshift(`${shellWord(run_id)} --to ${Number(seq)}`);
    source = older.forked_from;
  }
  return line;
}

function asGone(error: unknown): undefined {
  if (!(error instanceof NotFoundError)) throw error;
}
