/**
 * The limits that a command gets before it begins: the control groups it enters and its rlimits.
 *
 * A process enters a group by writing 0 to the group's `cgroup.procs`. The sandbox has no cgroup file system, so the
 * server opens those files and passes them down, and the first shell inside writes to them and closes them before the
 * command begins. The kernel checks the permission of the process that opened the file.
 */
import type { Rlimits } from './rlimits.ts';

export interface LaunchLimits {
  /** Descriptors of the `cgroup.procs` of its groups, open for writing. */
  entrances: readonly number[];
  rlimits: Rlimits;
}

export const NO_LIMITS: LaunchLimits = { entrances: [], rlimits: {} };

/** The launched program finds its entrances from here on, after the three usual ones and the script. */
const FIRST_ENTRANCE = 4;

/** The descriptor of a pipe for errors, which follows them. */
export function errorsDescriptor({ entrances }: LaunchLimits): number {
  return FIRST_ENTRANCE + entrances.length;
}

/** For the first shell of the sandbox. If it cannot enter, it ends, so that nothing runs without its limits. */
export function renderEntry({ entrances }: LaunchLimits): string {
  if (entrances.length === 0) return '';
  const descriptors = entrances.map((_, index) => FIRST_ENTRANCE + index);
  const enter = descriptors.map((fd) => `echo 0 >&${fd}`).join(' && ');
  const close = descriptors.map((fd) => `${fd}>&-`).join(' ');
  return `${enter} && exec ${close} || { echo "sandbox: cannot enter its control group" >&2; exit 125; }; `;
}
