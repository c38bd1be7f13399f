/** The files that differ between two checkpoints, with how many lines of each. */
import type { ChangedFile } from '@talaria/protocol';
import { mapAhead } from '../basics/map-ahead.ts';
import { type ComparedCheckpoints, changedFiles, type FileChange, partsOf } from './changed-files.ts';
import { type Difference, type DifferenceOptions, difference } from './compared-change.ts';
import { compareBudget, FILES_MAX, stepsFor } from './effort.ts';
import { gitMode } from './git-names.ts';
import { findRenames, type Renames } from './renames.ts';

const AT_ONCE = 4;

export interface DiffOptions extends Pick<DifferenceOptions, 'owner' | 'signal'> {
  /** The components of a path: only this file, or what is below this directory. All if there are none. */
  within: readonly string[];
}

export interface ChangeList {
  data: ChangedFile[];
  truncated: boolean;
}

type Counts = Pick<ChangedFile, 'additions' | 'deletions' | 'binary' | 'reason'>;

export async function listChanges(
  checkpoints: ComparedCheckpoints,
  { within, ...asked }: DiffOptions,
): Promise<ChangeList> {
  const all = changedFiles(checkpoints, within);
  const renames = findRenames(all);
  const listed = all.slice(0, FILES_MAX);
  const options = { maxSteps: stepsFor(listed.length), patch: false, ...asked };
  const mayCompare = compareBudget();
  const count = async (change: FileChange): Promise<Counts> => {
    if (renames.from.has(change.path) || renames.to.has(change.path)) return counted(0, 0);
    if (!mayCompare(change)) return uncounted('too_many');
    const found = await Promise.all(partsOf(change).map((part) => difference(checkpoints, part, options)));
    return found.map(toCounts).reduce(sum);
  };
  const data: ChangedFile[] = [];
  for await (const counts of mapAhead(listed, AT_ONCE, count)) {
    data.push(toChangedFile(listed[data.length]!, counts, renames));
  }
  return { data, truncated: all.length > listed.length };
}

function toChangedFile(change: FileChange, counts: Counts, renames: Renames): ChangedFile {
  const { before, after, isKnown } = change;
  const { path } = (after ?? before)!;
  if (!isKnown) return { path, status: 'modified', ...counts };
  const status = before === undefined ? 'added' : after === undefined ? 'deleted' : 'modified';
  const [mode, oldMode] = [gitMode((after ?? before)!), before && gitMode(before)];
  const [renamedFrom, renamedTo] = [renames.from.get(change.path), renames.to.get(change.path)];
  return {
    path,
    status,
    ...counts,
    mode,
    ...(oldMode === undefined || oldMode === mode ? {} : { old_mode: oldMode }),
    ...(renamedFrom === undefined ? {} : { renamed_from: renamedFrom.before!.path }),
    ...(renamedTo === undefined ? {} : { renamed_to: renamedTo.after!.path }),
  };
}

function toCounts(found: Difference): Counts {
  switch (found.kind) {
    case 'text':
      return counted(found.additions, found.deletions);
    case 'binary':
      return uncounted();
    case 'uncompared':
      return uncounted(found.reason);
  }
}

function sum(one: Counts, other: Counts): Counts {
  if (one.additions === null || one.deletions === null) return one;
  if (other.additions === null || other.deletions === null) return other;
  return counted(one.additions + other.additions, one.deletions + other.deletions);
}

function counted(additions: number, deletions: number): Counts {
  return { additions, deletions, binary: false };
}

function uncounted(reason?: Counts['reason']): Counts {
  return { additions: null, deletions: null, binary: true, ...(reason === undefined ? {} : { reason }) };
}
