/** The changed files of a run, a line each, and how much it is altogether. */
import type { ChangedFile, RunDiff } from '@talaria/client';
import type { Style } from '../../style.ts';
import { shownPath } from '../../text/shown-path.ts';
import { changeMark } from '../change-mark.ts';

export function statLines({ data, truncated }: Pick<RunDiff, 'data' | 'truncated'>, style: Style): string[] {
  if (data.length === 0) return ['No file changed'];
  const width = Math.max(...data.map((file) => linesOf(file).length));
  const lines = data.map((file) => {
    const mark = changeMark(file.status, style);
    return `${mark} ${linesOf(file).padEnd(width)}  ${shownPath(file.path)}${otherName(file)}`;
  });
  return [...lines, total(data, truncated)];
}

/** The other name of a renamed file; empty for other files. */
function otherName({ renamed_from, renamed_to }: ChangedFile): string {
  if (renamed_from !== undefined) return ` (was ${shownPath(renamed_from)})`;
  return renamed_to === undefined ? '' : ` (now ${shownPath(renamed_to)})`;
}

function linesOf(file: ChangedFile): string {
  // Why it was not compared matters more than that it was not.
  if (file.reason !== undefined) return file.reason.replaceAll('_', ' ');
  if (file.binary) return 'binary';
  const [additions, deletions] = [file.additions ?? 0, file.deletions ?? 0];
  const parts = [additions > 0 ? `+${additions}` : '', deletions > 0 ? `-${deletions}` : ''];
  return parts.filter((part) => part !== '').join(' ');
}

function total(files: readonly ChangedFile[], isCut: boolean): string {
  const sum = (name: 'additions' | 'deletions') =>
    files.reduce((lines, { [name]: more }) => lines + (more ?? 0), 0);
  const count = `${files.length} ${files.length === 1 ? 'file' : 'files'}`;
  return `${isCut ? 'More than ' : ''}${count} changed, +${sum('additions')} -${sum('deletions')}`;
}
