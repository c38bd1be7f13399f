/**
 * What has to be done in the directory to take the changes of a run, and what stands in the way. Nothing is changed yet.
 *
 * - A directory may become a file and a file a directory: what stands in the way of a change counts as gone if the plan
 *   removes it. A directory counts as gone if the plan removes every file in it.
 * - A link that leads out of the directory is not taken: programs that read through it would read something else.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ChangedFile } from '@talaria/client';
import { leadsOut } from '../../../setup/archives/entry-rules.ts';
import type { NotTaken } from '../not-taken.ts';
import { type Entry, NONE } from './entry.ts';
import type { LocalEntry, LocalFiles, Seen } from './local-files.ts';
import type { RunFiles } from './run-files.ts';
import { decide } from './three-way.ts';

export interface Change {
  readonly path: string;
  readonly action: 'write' | 'mode' | 'remove';
  /** What is there afterwards. */
  readonly entry: Entry;
  /** Where a file that is written is, or a link is to be made, before it is renamed. */
  readonly copy: string | undefined;
  /** What is there now; undefined if it is gone by the time of the change. */
  readonly seen: Seen | undefined;
  readonly isNew: boolean;
}

export interface Plan {
  readonly changes: readonly Change[];
  readonly conflicts: readonly NotTaken[];
  readonly leftOut: readonly NotTaken[];
  /** Paths that are as in the run already. */
  readonly done: number;
}

export interface PlanSources {
  readonly local: LocalFiles;
  readonly run: Pick<RunFiles, 'before' | 'after'>;
  /** Where a copy is put before it is renamed; undefined if no copy is wanted. */
  copyFor(path: string): string | undefined;
  onPlanned(): void;
}

/** Requests at the same time. */
const AT_ONCE = 6;

interface Looked {
  readonly path: string;
  readonly base: Entry;
  readonly ours: LocalEntry;
  readonly theirs: Entry;
  readonly copy: string | undefined;
}

export async function makePlan(files: readonly ChangedFile[], sources: PlanSources): Promise<Plan> {
  const looked = await inParallel(files, AT_ONCE, async (file) => {
    const found = await lookAt(file, sources);
    sources.onPlanned();
    return found;
  });
  const removed = removedBy(looked);
  const changes: Change[] = [];
  const conflicts: NotTaken[] = [];
  const leftOut: NotTaken[] = [];
  for (const one of looked) {
    const { path, base, theirs, copy } = one;
    if (theirs.type === 'symlink' && mayLeadOut(path, theirs.target)) {
      leftOut.push({ path, reason: 'a link that leads out of the directory' });
      continue;
    }
    const ours = await oursOf(one, removed, sources.local);
    if (typeof ours === 'string') {
      conflicts.push({ path, reason: ours });
      continue;
    }
    const decision = decide(base, ours.entry, theirs);
    if (decision.action === 'conflict') conflicts.push({ path, reason: decision.reason });
    else if (decision.action === 'remove')
      changes.push({ ...planned(one, ours), action: 'remove', entry: NONE });
    else if (decision.action !== 'nothing') {
      const { action, executable } = decision;
      const entry = theirs.type === 'file' ? { ...theirs, executable } : theirs;
      changes.push({ ...planned(one, ours), action, entry, copy });
    }
  }
  const done = looked.length - changes.length - conflicts.length - leftOut.length;
  return { changes, conflicts, leftOut, done };
}

/** Behind a name, `..` may lead anywhere: the name may be that of another link of the run. */
function mayLeadOut(path: string, target: string): boolean {
  const names = target.split('/').filter((name) => name !== '' && name !== '.');
  const first = names.findIndex((name) => name !== '..');
  return leadsOut(path, target) || (first >= 0 && names.includes('..', first));
}

async function lookAt(file: ChangedFile, { local, run, copyFor }: PlanSources): Promise<Looked> {
  const { path } = file;
  const ours = await local.look(path);
  const copy = copyFor(path);
  const theirs = await run.after(file, copy);
  const base = await run.before(file);
  return { path, base, ours, theirs, copy };
}

/** The paths that the plan removes, without those it cannot remove. */
function removedBy(looked: readonly Looked[]): ReadonlySet<string> {
  const removed = looked.filter(
    ({ base, ours, theirs }) =>
      theirs.type === 'none' &&
      ours.kind === 'entry' &&
      (ours.entry.type === 'none' || decide(base, ours.entry, theirs).action === 'remove'),
  );
  return new Set(removed.map(({ path }) => path));
}

interface Ours {
  readonly entry: Entry;
  readonly seen: Seen | undefined;
}

/** What is at the path after the removals of the plan, or a sentence about what stands in the way. */
async function oursOf(
  { path, ours, theirs }: Looked,
  removed: ReadonlySet<string>,
  local: LocalFiles,
): Promise<Ours | string> {
  const gone: Ours = { entry: NONE, seen: undefined };
  switch (ours.kind) {
    case 'entry':
      return ours;
    case 'special':
      return 'something is here that is neither a file nor a link';
    case 'blocked':
      if (theirs.type === 'none' || removed.has(ours.by)) return gone;
      return `${ours.by} is in the way: it is not a directory here`;
    case 'directory': {
      if (theirs.type === 'none') return gone;
      const left = await firstLeft(local.root, path, removed);
      return left === undefined ? gone : `a directory is in the way here, with ${left} in it`;
    }
  }
}

/** The first path in this directory that is no directory, and that the plan does not remove. */
async function firstLeft(
  root: string,
  directory: string,
  removed: ReadonlySet<string>,
): Promise<string | undefined> {
  const entries = await readdir(join(root, directory), { withFileTypes: true });
  for (const entry of entries) {
    const path = `${directory}/${entry.name}`;
    if (!entry.isDirectory() && !removed.has(path)) return path;
    const left = entry.isDirectory() ? await firstLeft(root, path, removed) : undefined;
    if (left !== undefined) return left;
  }
  return undefined;
}

function planned({ path }: Looked, { entry, seen }: Ours) {
  return { path, seen, copy: undefined, isNew: entry.type === 'none' };
}

async function inParallel<T, R>(
  list: readonly T[],
  atOnce: number,
  work: (each: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const left = list.entries();
  let failure: { error: unknown } | undefined;
  const worker = async (): Promise<void> => {
    try {
      for (const [index, each] of left) {
        if (failure !== undefined) return;
        results[index] = await work(each);
      }
    } catch (error) {
      failure ??= { error };
    }
  };
  // All of them have ended when the first failure is reported.
  await Promise.all(Array.from({ length: atOnce }, worker));
  if (failure !== undefined) throw failure.error;
  return results;
}
