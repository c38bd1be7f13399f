/**
 * Decides about one path, from what it was when the run began (`base`), what it is in the run (`theirs`) and what it is
 * in the directory (`ours`).
 *
 * - What is already as in the run stays: so a repeated `apply` changes nothing, and an interrupted one is completed.
 * - What the run has left as it was stays, whatever it is here.
 * - What nobody has changed here is taken from the run.
 * - Everything else is a conflict.
 *
 * Whether a file can be executed is decided apart from its content: a change of one side does not conflict with a change
 * of the other side's content.
 */
import { type Entry, isSameContent } from './entry.ts';

export type Decision =
  | { readonly action: 'nothing' }
  | { readonly action: 'write' | 'mode'; readonly executable: boolean }
  | { readonly action: 'remove' }
  | { readonly action: 'conflict'; readonly reason: string };

export function decide(base: Entry, ours: Entry, theirs: Entry): Decision {
  const executable = mergedExecutable(base, ours, theirs);
  if (isSameContent(ours, theirs) || isSameContent(base, theirs)) {
    const isMode = ours.type === 'file' && ours.executable !== executable;
    return isMode ? { action: 'mode', executable } : { action: 'nothing' };
  }
  if (!isSameContent(ours, base)) return { action: 'conflict', reason: reasonOf(base, ours, theirs) };
  return theirs.type === 'none' ? { action: 'remove' } : { action: 'write', executable };
}

function mergedExecutable(base: Entry, ours: Entry, theirs: Entry): boolean {
  if (theirs.type !== 'file') return false;
  if (ours.type !== 'file') return theirs.executable;
  const isOurs = base.type !== 'file' || base.executable !== ours.executable;
  return isOurs ? ours.executable : theirs.executable;
}

function reasonOf(base: Entry, ours: Entry, theirs: Entry): string {
  if (base.type === 'none') return 'the run added it, and there is another one here';
  if (ours.type === 'none') return 'the run changed it, and it was deleted here';
  if (theirs.type === 'none') return 'the run deleted it, and it was changed here';
  return 'the run changed it, and it was changed here, too';
}
