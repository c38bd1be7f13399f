/**
 * The limits of the commands of a slot, and the report of a backend on how it enforces them.
 *
 * - A requested limit is enforced, or the backend does not start (`limit_unenforceable`); none is ignored.
 * - What is counted together depends on the mechanism, so a backend reports it (`per`). Under a control group it is the
 *   slot: all its commands together.
 */
export interface SandboxLimits {
  /** Memory, files in /dev/shm included. A command that needs more is ended: its result has the failure `oom`. */
  memoryBytes?: number | undefined;
  /** Processes and threads at the same time. One more cannot be started. */
  processes?: number | undefined;
  /** Processors' worth of time; 0.5 is half of one. */
  cpus?: number | undefined;
  /** The size of one file that a command writes. Writing more ends the command: `disk_full`. */
  fileSizeBytes?: number | undefined;
  /**
   * Disk space of a workspace and its /tmp, at least 4 KB for every file and directory. Exceeding it ends what runs in
   * the slot (`disk_full`); until it is below again commands can delete files but write none.
   */
  workspaceBytes?: number | undefined;
}

export type LimitName = keyof SandboxLimits;

export interface LimitStatus {
  limit: LimitName;
  value: number;
  by: 'cgroup v2' | 'cgroup v1' | 'rlimit' | 'measurement' | 'container' | 'nothing';
  /** The scope that is counted together against the value. */
  per: 'slot' | 'workspace' | 'command' | 'process' | 'file' | 'container';
  /** A sentence for the log and `/health/detailed`: what enforces the limit, or why nothing does and how to fix it. */
  description: string;
}
