/** The files of a diff, as a list shows them. A rename is one entry; an entry without lines says why. */
import type { ChangedFile } from '@talaria/client';

export interface FileChange {
  path: string;
  /** Only for a renamed file: its path before. */
  oldPath: string | undefined;
  kind: 'added' | 'modified' | 'deleted' | 'renamed';
  additions: number | undefined;
  deletions: number | undefined;
  /** Why there are no lines to show. */
  why: string | undefined;
}

const REASONS: Record<NonNullable<ChangedFile['reason']>, string> = {
  too_large: 'It has more than 2 MB, and was not compared line by line.',
  too_many: 'Too much changed before it: it was not compared line by line. Ask for less.',
  not_kept: 'The server did not keep this file at one of the two points.',
};

export function changesOf(files: readonly ChangedFile[]): FileChange[] {
  return files
    .filter(({ renamed_to }) => renamed_to === undefined)
    .map((file) => ({
      path: file.path,
      oldPath: file.renamed_from,
      kind: file.renamed_from === undefined ? file.status : 'renamed',
      additions: file.additions ?? undefined,
      deletions: file.deletions ?? undefined,
      why: whyNoLines(file),
    }));
}

function whyNoLines({
  binary,
  reason,
  renamed_from,
  mode,
  old_mode,
  additions,
  deletions,
}: ChangedFile): string | undefined {
  if (reason !== undefined) return REASONS[reason] ?? `It was not compared: ${reason}.`;
  if (binary) return 'This file is not text.';
  if (renamed_from !== undefined) return `It was ${renamed_from}; its content is the same.`;
  if ((additions ?? 0) + (deletions ?? 0) > 0) return undefined;
  if (old_mode !== undefined) return `Its mode changed from ${old_mode} to ${mode}; its content is the same.`;
  return 'It is empty.';
}

export function totalOf(changes: readonly FileChange[]): { added: number; removed: number } {
  return {
    added: changes.reduce((sum, { additions = 0 }) => sum + additions, 0),
    removed: changes.reduce((sum, { deletions = 0 }) => sum + deletions, 0),
  };
}
