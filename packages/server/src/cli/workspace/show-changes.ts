/** At the end of a run that was given a directory: what changed, and how to take it, if it is not there already. */
import type { Talaria } from '@talaria/client';
import type { Style } from '../style.ts';
import { safeLine } from '../text/safe-text.ts';
import { shellWord } from '../text/shell-word.ts';
import { statLines } from './diff/diff-stat.ts';

/** A long list is not read. */
const SHOWN_MAX = 20;

export async function changeLines(
  client: Talaria,
  runId: string,
  directory: string | undefined,
  style: Style,
): Promise<string[]> {
  try {
    const diff = await client.runs.diff(runId);
    const lines = statLines(diff, style);
    if (diff.data.length === 0) return lines;
    const hidden = diff.data.length - SHOWN_MAX;
    const shown = hidden <= 0 ? lines : [...lines.slice(0, SHOWN_MAX), `  and ${hidden} more`, lines.at(-1)!];
    const see = `See it: talaria diff ${runId}`;
    if (directory === undefined) return [...shown, see];
    const into = directory === '.' ? '' : ` --dir ${shellWord(directory)}`;
    return [...shown, see, `Take it: talaria apply ${runId}${into}`];
  } catch (error) {
    return [`What changed could not be read: ${safeLine((error as Error).message)}`];
  }
}
