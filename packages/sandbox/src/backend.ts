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
 * - Files can be taken out of a workspace by whoever holds its slot (`readArtifact` and its like, limited in size and
 *   time) and by trajectory (`openWorkspace`, streamed), which needs no slot; artifacts.ts says what holds for both.
 *   They fail with a `SandboxError`.
 * - A workspace can be taken along to another machine as a snapshot; snapshots.ts says what it holds.
 */
import type { Readable } from 'node:stream';
import type {
  ArchiveArtifactsOptions,
  ArtifactArchive,
  ArtifactContent,
  ArtifactListing,
  ListArtifactsOptions,
  ReadArtifactOptions,
  WorkspaceReader,
} from './artifacts.ts';
import type { LimitStatus } from './limits.ts';
import type {
  RestoredWorkspace,
  RestoreOptions,
  SnapshotOptions,
  SurveyOptions,
  WorkspaceSurvey,
} from './snapshots.ts';

/**
 * available ─acquire→ acquired ─execute→ executing ─done→ acquired ─release→ releasing ─clean→ available
 * any state ─the container died, or cleaning failed→ error (replaced, never handed out again)
 *
 * A process in the background makes no slot `executing`: it is free for the next call.
 */
export type SlotState = 'available' | 'acquired' | 'executing' | 'releasing' | 'error';

export interface Slot {
  readonly slotId: string;
  /** Where the slot lives: a container's id, or `local`. */
  readonly containerId: string;
  /** The workspace as commands in the slot see it. */
  readonly workspaceDir: string;
  readonly state: SlotState;
  readonly trajectoryId: string | undefined;
}

/**
 * Why a call has no result of its own making:
 * - `timeout`, `aborted`: it was ended, by its deadline or by the caller.
 * - `oom`, `disk_full`: it was ended, or hindered, by the limit on memory, or on the size of a file or the workspace.
 * - `gone`: the slot was released or its container died; acquire again.
 * - `backend_down`: the backend itself does not work at present.
 * - `invalid_request`: the call can never work as it is.
 */
export type FailureReason =
  | 'timeout'
  | 'aborted'
  | 'oom'
  | 'disk_full'
  | 'gone'
  | 'backend_down'
  | 'invalid_request';

/** Of a process in the background: `killed` by a call or a limit, `timed_out` by its own timeout, otherwise `exited`. */
export type ProcessStatus = 'running' | 'exited' | 'killed' | 'timed_out';

export interface ProcessDescription {
  id: string;
  /** Its first characters. */
  command: string;
  status: ProcessStatus;
  exit_code?: number;
  signal?: string;
  /** The limit that ended it. */
  failure?: Extract<FailureReason, 'oom' | 'disk_full'>;
  started_at: string;
  duration_s: number;
  output_bytes: number;
  /** Where its whole output lies in the workspace, if it could be kept. */
  log_path?: string;
}

export interface ExecutionMetadata {
  exit_code?: number;
  /** The signal that ended the command, by its exit code of 128 and more, on every backend. */
  signal?: string;
  duration_s: number;
  timed_out: boolean;
  truncated: boolean;
  /** Size of the whole output in bytes, also when `output` holds only its head and tail. */
  total_bytes?: number;
  /** Where the whole output lies in the workspace when it was truncated. */
  full_output_path?: string;
  failure?: FailureReason;
  /** The background process that the call was about, as it stood at its end. */
  process?: ProcessDescription;
  /** All that the slot knows of, the oldest first. */
  processes?: readonly ProcessDescription[];
}

export interface ExecutionResult {
  /** The tool did what it was asked. A command that exits with another code than 0 has `success: false`. */
  success: boolean;
  output: string;
  /** What went wrong, in words for the model; empty on success. */
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
  /** Aborting kills this request alone; its result has the failure `aborted`. */
  signal?: AbortSignal | undefined;
}

export interface ExecuteOptions {
  timeoutS?: number | undefined;
  /** Aborting kills what the batch still runs; those results have the failure `aborted`. */
  signal?: AbortSignal | undefined;
  /** Called once for each request as soon as it is done, whatever the others of the batch still do. */
  onResult?: ((result: ExecutionResult, index: number) => void) | undefined;
}

export interface AcquireOptions {
  /** Aborting gives up the wait for a slot: the call rejects with the signal's reason and holds nothing. */
  signal?: AbortSignal | undefined;
}

/** What keeps a command from the host, as found at start. */
export interface Isolation {
  kind: 'bubblewrap' | 'unshare' | 'none';
  /** One sentence for the log and `/health/detailed`. */
  description: string;
}

/** Something that stands behind the isolation, for the case that it is overcome; each is there or is told to be missing. */
export interface HardeningStatus {
  name: 'system calls' | 'kernel users';
  holds: boolean;
  /** What there is, or what is missing and why, in a few words. */
  description: string;
}

export interface BackendIsolation {
  /** `container`: nothing but a container of its own keeps a slot from the host and from others. */
  kind: Isolation['kind'] | 'container';
  description: string;
  /** Absent where a backend has none to tell about. */
  hardening?: readonly HardeningStatus[];
}

export interface BackendStats {
  backend: string;
  isolation: BackendIsolation;
  /** What commands may use, each limit that was asked for; empty until the start. */
  limits: readonly LimitStatus[];
  slots: Record<SlotState, number>;
  /** Of a backend that has any. */
  containers?: Record<ContainerPhase, number>;
  /** Why no slot can be had at present; undefined while one can, or nothing has been heard of a reason. */
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
  /** Deletes the workspace of a trajectory that no slot holds; does nothing where there is none. */
  discard(trajectoryId: string): Promise<void>;
  readArtifact(slot: Slot, path: string, options?: ReadArtifactOptions): Promise<ArtifactContent>;
  listArtifacts(slot: Slot, path?: string, options?: ListArtifactsOptions): Promise<ArtifactListing>;
  archiveArtifacts(slot: Slot, path?: string, options?: ArchiveArtifactsOptions): Promise<ArtifactArchive>;
  /** The workspace of a trajectory, from its first acquire until it is discarded or reset; undefined where there is none. */
  openWorkspace(trajectoryId: string): Promise<WorkspaceReader | undefined>;
  /** What the workspace of a trajectory amounts to, found without reading a file; undefined where there is none. */
  surveyWorkspace(trajectoryId: string, options?: SurveyOptions): Promise<WorkspaceSurvey | undefined>;
  /** The workspace of a trajectory as a stream of bytes; undefined where there is none. */
  snapshotWorkspace(trajectoryId: string, options?: SnapshotOptions): Promise<Readable | undefined>;
  /** Makes the workspace of a trajectory that no slot holds from a snapshot, in the place of whatever it had. */
  restoreWorkspace(
    trajectoryId: string,
    snapshot: AsyncIterable<Uint8Array>,
    options?: RestoreOptions,
  ): Promise<RestoredWorkspace>;
  /** The trajectories that have a workspace, in no order; those whose ids a directory's name cannot hold are left out. */
  listWorkspaces(): Promise<string[]>;
  stats(): BackendStats;
}
