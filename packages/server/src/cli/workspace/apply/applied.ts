/** What `talaria apply` has done or would do, for people and for programs. */
import type { Terminal } from '../../terminal.ts';
import { nextCommand } from '../../text/next-command.ts';
import { shownPath } from '../../text/shown-path.ts';
import { type ChangeKind, changeMark } from '../change-mark.ts';
import { leftOutLines } from '../not-taken.ts';
import type { Change, Plan } from './plan.ts';

export interface Applied {
  readonly runId: string;
  readonly directory: string;
  /** The flag that named the server. */
  readonly server: string | undefined;
  readonly isDry: boolean;
  /** Because of conflicts. */
  readonly isRefused: boolean;
  readonly plan: Plan;
}

export function printApplied(
  { runId, directory, server, isDry, isRefused, plan }: Applied,
  terminal: Terminal,
): void {
  const { changes, conflicts, leftOut, done } = plan;
  for (const line of leftOutLines(leftOut)) terminal.err(line);
  for (const { path, reason } of conflicts) {
    terminal.err(`${terminal.stderr.style.bad('!')} ${shownPath(path)}: ${reason}`);
  }
  if (isRefused) {
    terminal.err(
      `Nothing was applied. --keep-mine takes the rest; ${nextCommand(`diff ${runId}`, server)} shows what the run changed`,
    );
    return;
  }
  for (const change of changes) {
    terminal.out(`${changeMark(kindOf(change), terminal.stdout.style)} ${shownPath(change.path)}`);
  }
  const taken = `${changes.length} ${changes.length === 1 ? 'file' : 'files'}`;
  const already = done === 0 ? '' : `; ${done} ${done === 1 ? 'was' : 'were'} as in the run already`;
  terminal.out(`${isDry ? 'Would change' : 'Changed'} ${taken} in ${shownPath(directory)}${already}`);
}

export function appliedJson({ runId, directory, isDry, isRefused, plan }: Applied): object {
  const { changes, conflicts, leftOut, done } = plan;
  const applied = changes.map((change) => ({ path: change.path, change: kindOf(change) }));
  return {
    run_id: runId,
    directory,
    dry_run: isDry,
    applied: isRefused ? [] : applied,
    unchanged: done,
    conflicts,
    left_out: leftOut,
  };
}

function kindOf({ action, isNew }: Change): ChangeKind {
  if (action === 'remove') return 'deleted';
  return isNew ? 'added' : 'modified';
}
