/**
 * What the commands of a slot may use, and what a backend says about how it holds them to it.
 *
 * - A limit that was asked for is enforced or the backend does not start (`limit_unenforceable`); none is ignored.
 * - Whose use is added up depends on what enforces it, so a backend says so (`per`). Under a control group it is the
 *   slot: all its commands together.
 */
export interface SandboxLimits {
  /** Memory, files in /dev/shm included. A command that needs more is ended: its result has the failure `oom`. */
  memoryBytes?: number | undefined;
  /** Processes and threads at the same time. One more cannot be started. */
  processes?: number | undefined;
  /** Processors' worth of time; 0.5 is half of one. */
  cpus?: number | undefined;
  /** Of one file that a command writes. Going on writing ends it: `disk_full`. */
  fileSizeBytes?: number | undefined;
  /**
   * Disk space of a workspace and its /tmp, at least 4 KB for every file and directory. Going over it ends what runs in
   * the slot (`disk_full`); until it is below again commands can delete files but write none.
   */
  workspaceBytes?: number | undefined;
}

export type LimitName = keyof SandboxLimits;

export interface LimitStatus {
  limit: LimitName;
  value: number;
  by: 'cgroup v2' | 'cgroup v1' | 'rlimit' | 'measurement' | 'container' | 'nothing';
  /** Whose use counts against the value. */
  per: 'slot' | 'workspace' | 'command' | 'process' | 'file' | 'container';
  /** What holds, or why nothing does and how to fix it; a sentence for the log and `/health/detailed`. */
  description: string;
}
