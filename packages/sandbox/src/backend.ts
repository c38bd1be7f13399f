/**
 * The contract between an agent's tools and the place where they run.
 *
 * - A slot is an isolated workspace. One trajectory (for the server: one run) works in one slot, and
 *   acquiring again with the same trajectory id gives the same workspace, also after a restart of the process.
 * - `executeBatch` answers in the order of its requests. A request that fails, times out or names an unknown
 *   tool is a result with `success: false`. It never rejects the batch, and never spoils or delays another result:
 *   `onResult` gets each one as soon as it exists.
 * - Once a result is returned, no process of its command is alive, whether the command ended, timed out or was
 *   aborted. The exception is a background command: it lives until it ends, is killed, or its slot is released. After
 *   that no process of it is alive either.
 * - Nothing of the server reaches a command: it has a clean environment and, with isolation, sees only its own
 *   workspace.
 * - A whole output that a result names is a file beside the workspace, of the same lifetime. The tools that read, commands and
 *   `readArtifact` reach it at its path; no listing, archive, capture or snapshot has it, and no other slot reaches it.
 * - The holder of a slot can read files of its workspace (`readArtifact` and similar, limited in size and time). They fail with
 *   a `SandboxError`. Everything else that concerns files goes by trajectory, without a slot: `workspaces`, whose contract is
 *   trajectory-workspaces.ts.
 */
import type {
  ArchiveArtifactsOptions,
  ArtifactArchive,
  ArtifactContent,
  ArtifactListing,
  ListArtifactsOptions,
  ReadArtifactOptions,
} from './artifacts.ts';
import type { LimitStatus } from './limits.ts';
import type { TrajectoryWorkspaces } from './trajectory-workspaces.ts';

/**
 * available ─acquire→ acquired ─execute→ executing ─done→ acquired ─release→ releasing ─clean→ available
 * any state ─the container died, or cleaning failed→ error (replaced, never handed out again)
 *
 * A background process does not make a slot `executing`: it is free for the next call.
 */
export type SlotState = 'available' | 'acquired' | 'executing' | 'releasing' | 'error';

export interface Slot {
  readonly slotId: string;
  /** The place of the slot: a container's id, or `local`. */
  readonly containerId: string;
  /** The workspace as commands in the slot see it. */
  readonly workspaceDir: string;
  readonly state: SlotState;
  readonly trajectoryId: string | undefined;
}

/**
 * Why a call has no result of its own:
 * - `timeout`, `aborted`: it was ended, by its deadline or by the caller.
 * - `oom`, `disk_full`: it was ended, or failed, because of the limit on memory, or on the size of a file or the
 *   workspace.
 * - `process_limit`: it could not be started, because the processes of the slot have reached their limit.
 * - `gone`: the slot was released or its container died; acquire again.
 * - `backend_down`: the backend itself does not work at the moment.
 * - `invalid_request`: this call can never work.
 */
export type FailureReason =
  | 'timeout'
  | 'aborted'
  | 'oom'
  | 'disk_full'
  | 'process_limit'
  | 'gone'
  | 'backend_down'
  | 'invalid_request';

export type LimitFailure = Extract<FailureReason, 'oom' | 'disk_full' | 'process_limit'>;

/** For a background process: `killed` by a call or a limit, `timed_out` by its own timeout, otherwise `exited`. */
export type ProcessStatus = 'running' | 'exited' | 'killed' | 'timed_out';

export interface ProcessDescription {
  id: string;
  /** Its first characters. */
  command: string;
  status: ProcessStatus;
  exit_code?: number;
  signal?: string;
  /** The limit that ended it, or kept it from starting. */
  failure?: LimitFailure;
  started_at: string;
  duration_s: number;
  output_bytes: number;
  /** The file with its whole output, as commands see it, if it could be stored. */
  log_path?: string;
}

export interface ExecutionMetadata {
  exit_code?: number;
  /** The signal that ended the command, from its exit code of 128 and more, on every backend. */
  signal?: string;
  duration_s: number;
  timed_out: boolean;
  truncated: boolean;
  /** Size of the whole output in bytes, even if `output` holds only its head and tail. */
  total_bytes?: number;
  /** The file with the whole output, as commands see it, if the output was truncated and could be stored. */
  full_output_path?: string;
  failure?: FailureReason;
  /** Of a command: something isolates it from the machine. */
  sandboxed?: boolean;
  /** Of a command: it has no network. */
  network_isolated?: boolean;
  /** Of a command in the terminal of its slot. */
  stateful?: boolean;
  /** The size of the terminal that was started, in columns and rows. */
  pane_width?: number;
  pane_height?: number;
  /** How many bytes of its recording were streamed. */
  stream_offset?: number;
  /** The output is what a terminal printed: a screen has to be made of it (terminal/screen-thread.ts). Callers never see this. */
  screen?: { columns: number; rows: number; alternate: boolean; entire: boolean };
  /**
   * Present if the slot was lost with its container; acquire again. `kept`: the files of its workspace are as the calls left
   * them. `reverted`: they are as they were when the slot was acquired, because they were in the container.
   */
  files_after_loss?: 'kept' | 'reverted';
  /** The background process that the call was about, in its state at the end of the call. */
  process?: ProcessDescription;
  /** All known processes of the slot, oldest first. */
  processes?: readonly ProcessDescription[];
}

export interface ExecutionResult {
  /** The tool did its work. A command that exits with a code other than 0 has `success: false`. */
  success: boolean;
  output: string;
  /** What went wrong, as text for the model; empty on success. */
  error: string;
  executionId: string;
  slotId: string;
  metadata: ExecutionMetadata;
}

export type ExecutionRequest = readonly [
  slot: Slot,
  tool: string,
  args: Readonly<Record<string, unknown>>,
  options?: RequestOptions,
];

export interface RequestOptions {
  /** Aborting kills only this request; its result has the failure `aborted`. */
  signal?: AbortSignal | undefined;
}

export interface ExecuteOptions {
  timeoutS?: number | undefined;
  /** Aborting kills what the batch still runs; those results have the failure `aborted`. */
  signal?: AbortSignal | undefined;
  /** Called once for each request as soon as it is done, whatever the other requests still do. */
  onResult?: ((result: ExecutionResult, index: number) => void) | undefined;
}

export interface AcquireOptions {
  /** Aborting gives up the wait for a slot: the call rejects with the signal's reason and holds nothing. */
  signal?: AbortSignal | undefined;
}

/** What isolates a command from the host, as found at start. */
export interface Isolation {
  kind: 'bubblewrap' | 'unshare' | 'none';
  /** One sentence for the log and `/health/detailed`. */
  description: string;
}

/** A second line of defence behind the isolation; each one is in place, or is reported as missing. */
export interface HardeningStatus {
  name: 'system calls' | 'kernel users';
  holds: boolean;
  /** In a few words: what is in place, or what is missing and why. */
  description: string;
}

export interface BackendIsolation {
  /** `container`: only a separate container isolates a slot from the host and from others. */
  kind: Isolation['kind'] | 'container';
  description: string;
  /** Absent if a backend has nothing to report. */
  hardening?: readonly HardeningStatus[];
}

export interface BackendStats {
  backend: string;
  isolation: BackendIsolation;
  /** The status of each requested limit on what commands may use; empty until the start. */
  limits: readonly LimitStatus[];
  slots: Record<SlotState, number>;
  /** For a backend that has containers. */
  containers?: Record<ContainerPhase, number>;
  /** Why no slot is available at the moment; undefined while there is one, or no reason is known. */
  trouble?: string | undefined;
}

export type ContainerPhase = 'starting' | 'ready' | 'draining' | 'stopping';

export interface ToolBackend {
  readonly defaultTimeoutS: number;
  start(): Promise<void>;
  /** Kills what runs. `purge` also deletes every workspace. */
  stop(options?: { purge?: boolean }): Promise<void>;
  acquire(trajectoryId?: string, options?: AcquireOptions): Promise<Slot>;
  /** Gives the slot back. The workspace stays for a later acquire of its trajectory unless it is reset. */
  release(slot: Slot, options?: { resetWorkspace?: boolean }): Promise<void>;
  executeBatch(requests: readonly ExecutionRequest[], options?: ExecuteOptions): Promise<ExecutionResult[]>;
  readArtifact(slot: Slot, path: string, options?: ReadArtifactOptions): Promise<ArtifactContent>;
  listArtifacts(slot: Slot, path?: string, options?: ListArtifactsOptions): Promise<ArtifactListing>;
  archiveArtifacts(slot: Slot, path?: string, options?: ArchiveArtifactsOptions): Promise<ArtifactArchive>;
  stats(): BackendStats;
  /** The same workspaces by trajectory, with or without a slot. */
  readonly workspaces: TrajectoryWorkspaces;
}
