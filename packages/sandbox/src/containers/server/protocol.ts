/**
 * The protocol between a backend and the sandbox server inside a container: lines of JSON (frames.ts) over a socket
 * that nobody else can reach. One connection is one call; its first line says which.
 *
 *   attach    The owner's hold on the server. Answered with `Attached`, then every `Ping` with a `Pong`. When this
 *             connection ends the server ends, and with it the container: so what a backend started dies with it.
 *   open      A slot for a trajectory, whose workspace is already there or is new. Answered with `Opened` or `Failed`.
 *   close     Ends what runs in a slot and gives it up. Answered with `Closed` or `Failed`.
 *   execute   Followed by `count` lines of `ToolCall`. Each result comes as soon as it is there, so a slow call holds up
 *             no other. `Abort` ends one of the calls, which is answered like every other when nothing is left of it.
 *             Closing the connection ends all of them.
 *
 * workspace-calls.ts has the calls about a workspace in a container.
 *
 * Neither side trusts the other: every line is checked before it is used. What a container sends is data made by
 * untrusted commands.
 */
import type {
  BackendIsolation,
  ExecutionMetadata,
  FailureReason,
  HardeningStatus,
  LimitFailure,
  ProcessDescription,
  ProcessStatus,
} from '../../backend.ts';
import type { LimitStatus } from '../../limits.ts';
import { boolean, integer, listOf, number, object, oneOf, optional, shape, string } from './checks.ts';
import { ProtocolError } from './frames.ts';
import { parseWorkspaceCall, type WorkspaceCall } from './workspace-calls.ts';

/** A file's content in a call is the largest message. */
export const MAX_FRAME_BYTES = 32 * 1024 * 1024;

export type Call =
  | { call: 'attach' }
  | { call: 'open'; trajectoryId: string }
  | { call: 'close'; slotId: string }
  | { call: 'execute'; count: number; timeoutS?: number | undefined }
  | WorkspaceCall;

export interface ToolCall {
  index: number;
  slotId: string;
  tool: string;
  /** Anything the caller gave; the tool checks it. */
  args: unknown;
}

export interface Abort {
  /** The index of the call. */
  abort: number;
}

export interface Ping {
  ping: number;
}

export interface Pong {
  pong: number;
}

export interface Attached {
  isolation: BackendIsolation;
  limits: readonly LimitStatus[];
}

export interface Opened {
  slotId: string;
  workspaceDir: string;
}

export interface Closed {
  closed: true;
}

export interface Failed {
  failed: string;
}

export interface ToolResult {
  index: number;
  success: boolean;
  output: string;
  error: string;
  executionId: string;
  metadata: ExecutionMetadata;
}

export function parseCall(frame: unknown): Call {
  const { call, ...rest } = object(frame);
  switch (call) {
    case 'attach':
      return { call };
    case 'open':
      return { call, trajectoryId: string(rest.trajectoryId) };
    case 'close':
      return { call, slotId: string(rest.slotId) };
    case 'execute':
      return { call, count: integer(rest.count), timeoutS: optional(number)(rest.timeoutS) };
    default:
      return parseWorkspaceCall(frame);
  }
}

export function parseToolCall(frame: unknown): ToolCall | Abort {
  return 'abort' in object(frame) ? parseAbort(frame) : parseNewToolCall(frame);
}

export function parseOpened(frame: unknown): Opened | Failed {
  return 'failed' in object(frame) ? parseFailed(frame) : parseSuccess(frame);
}

export function parseClosed(frame: unknown): Closed | Failed {
  if ('failed' in object(frame)) return parseFailed(frame);
  if (object(frame).closed === true) return { closed: true };
  throw new ProtocolError('expected `closed: true` or `failed` in the answer to close, got neither');
}

const parseAbort = shape<Abort>({ abort: integer });
const parseNewToolCall = shape<ToolCall>({
  index: integer,
  slotId: string,
  tool: string,
  args: (value) => value,
});
const parseFailed = shape<Failed>({ failed: string });
const parseSuccess = shape<Opened>({ slotId: string, workspaceDir: string });

export const parsePing = shape<Ping>({ ping: integer });
export const parsePong = shape<Pong>({ pong: integer });

const parseLimit = shape<LimitStatus>({
  limit: oneOf<LimitStatus['limit']>({
    memoryBytes: true,
    processes: true,
    cpus: true,
    fileSizeBytes: true,
    workspaceBytes: true,
  }),
  value: number,
  by: oneOf<LimitStatus['by']>({
    'cgroup v2': true,
    'cgroup v1': true,
    rlimit: true,
    measurement: true,
    container: true,
    nothing: true,
  }),
  per: oneOf<LimitStatus['per']>({
    slot: true,
    workspace: true,
    command: true,
    process: true,
    file: true,
    container: true,
  }),
  description: string,
});

const parseHardening = shape<HardeningStatus>({
  name: oneOf<HardeningStatus['name']>({ 'system calls': true, 'kernel users': true }),
  holds: boolean,
  description: string,
});

export const parseAttached = shape<Attached>({
  isolation: shape<BackendIsolation>({
    kind: oneOf<BackendIsolation['kind']>({ bubblewrap: true, unshare: true, container: true, none: true }),
    description: string,
    hardening: optional(listOf(parseHardening)),
  }),
  limits: listOf(parseLimit),
});

const parseProcess = shape<ProcessDescription>({
  id: string,
  command: string,
  status: oneOf<ProcessStatus>({ running: true, exited: true, killed: true, timed_out: true }),
  exit_code: optional(integer),
  signal: optional(string),
  failure: optional(oneOf<LimitFailure>({ oom: true, disk_full: true, process_limit: true })),
  started_at: string,
  duration_s: number,
  output_bytes: integer,
  log_path: optional(string),
});

export const parseToolResult = shape<ToolResult>({
  index: integer,
  success: boolean,
  output: string,
  error: string,
  executionId: string,
  metadata: shape<ExecutionMetadata>({
    exit_code: optional(integer),
    signal: optional(string),
    duration_s: number,
    timed_out: boolean,
    truncated: boolean,
    total_bytes: optional(integer),
    full_output_path: optional(string),
    failure: optional(
      oneOf<FailureReason>({
        timeout: true,
        aborted: true,
        oom: true,
        disk_full: true,
        process_limit: true,
        gone: true,
        backend_down: true,
        invalid_request: true,
      }),
    ),
    sandboxed: optional(boolean),
    network_isolated: optional(boolean),
    stateful: optional(boolean),
    pane_width: optional(integer),
    pane_height: optional(integer),
    stream_offset: optional(integer),
    screen: optional(shape({ columns: integer, rows: integer, alternate: boolean, entire: boolean })),
    files_after_loss: optional(oneOf<'kept' | 'reverted'>({ kept: true, reverted: true })),
    process: optional(parseProcess),
    processes: optional(listOf(parseProcess)),
  }),
});
