/**
 * What a backend and the sandbox server inside a container say to each other: lines of JSON (frames.ts) over a socket
 * that nobody else reaches. One connection is one call, its first line says which.
 *
 *   attach    The owner's hold on the server. Answered with `Attached`, then every `Ping` with a `Pong`. When this
 *             connection ends the server ends, and with it the container: so what a backend started dies with it.
 *   open      A slot for a trajectory, whose workspace lies there by now or is new. Answered with `Opened` or `Failed`.
 *   close     Ends what runs in a slot and gives it up. Answered with `Closed` or `Failed`.
 *   execute   Followed by `count` lines of `ToolCall`. Each result comes as soon as it is there, so a slow call holds up
 *             no other. `Abort` ends one of the calls, which is answered like every other when nothing is left of it.
 *             Closing the connection ends all of them.
 *
 * Neither side believes the other: every line is checked before it is used. What a container sends is data made by
 * commands that nobody trusts.
 */
import type { ExecutionMetadata, FailureReason, Isolation } from '../backend.ts';
import { ProtocolError } from './frames.ts';

/** A file's content in a call is the largest thing that is sent. */
export const MAX_FRAME_BYTES = 32 * 1024 * 1024;

export type Call =
  | { call: 'attach' }
  | { call: 'open'; trajectoryId: string }
  | { call: 'close'; slotId: string }
  | { call: 'execute'; count: number; timeoutS?: number | undefined };

export interface ToolCall {
  index: number;
  slotId: string;
  tool: string;
  /** Whatever the caller gave; the tool checks it. */
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
  isolation: Isolation;
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
      return { call, count: integer(rest.count), timeoutS: optional(rest.timeoutS, number) };
    default:
      throw new ProtocolError('a connection begins with an unknown call');
  }
}

export function parseToolCall(frame: unknown): ToolCall | Abort {
  const { abort, index, slotId, tool, args } = object(frame);
  if (abort !== undefined) return { abort: integer(abort) };
  return { index: integer(index), slotId: string(slotId), tool: string(tool), args };
}

export function parsePing(frame: unknown): Ping {
  return { ping: integer(object(frame).ping) };
}

export function parsePong(frame: unknown): Pong {
  return { pong: integer(object(frame).pong) };
}

export function parseAttached(frame: unknown): Attached {
  const { kind, description } = object(object(frame).isolation);
  return { isolation: { kind: oneOf(kind, ISOLATIONS), description: string(description) } };
}

export function parseOpened(frame: unknown): Opened | Failed {
  const { failed, slotId, workspaceDir } = object(frame);
  if (failed !== undefined) return { failed: string(failed) };
  return { slotId: string(slotId), workspaceDir: string(workspaceDir) };
}

export function parseClosed(frame: unknown): Closed | Failed {
  const { failed, closed } = object(frame);
  if (failed !== undefined) return { failed: string(failed) };
  if (closed !== true) throw new ProtocolError('an answer to close says neither yes nor no');
  return { closed };
}

export function parseToolResult(frame: unknown): ToolResult {
  const { index, success, output, error, executionId, metadata } = object(frame);
  return {
    index: integer(index),
    success: boolean(success),
    output: string(output),
    error: string(error),
    executionId: string(executionId),
    metadata: parseMetadata(metadata),
  };
}

const ISOLATIONS = ['bubblewrap', 'unshare', 'none'] as const satisfies Isolation['kind'][];

const FAILURES = {
  timeout: true,
  aborted: true,
  oom: true,
  disk_full: true,
  gone: true,
  backend_down: true,
  invalid_request: true,
} satisfies Record<FailureReason, true>;

/** One check per key, so that a key added to the contract is an error here until it is checked too. */
const METADATA: { [Key in keyof ExecutionMetadata]-?: (value: unknown) => ExecutionMetadata[Key] } = {
  exit_code: (value) => optional(value, integer),
  signal: (value) => optional(value, string),
  duration_s: number,
  timed_out: boolean,
  truncated: boolean,
  total_bytes: (value) => optional(value, integer),
  full_output_path: (value) => optional(value, string),
  failure: (value) => optional(value, (given) => oneOf(given, Object.keys(FAILURES) as FailureReason[])),
};

function parseMetadata(value: unknown): ExecutionMetadata {
  const given = object(value);
  const checked = Object.entries(METADATA)
    .map(([key, check]) => [key, check(given[key])] as const)
    .filter(([, content]) => content !== undefined);
  return Object.fromEntries(checked) as unknown as ExecutionMetadata;
}

function object(value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw new ProtocolError('a line holds something else than an object');
}

function string(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new ProtocolError('a text is missing');
}

function boolean(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw new ProtocolError('a yes or no is missing');
}

function number(value: unknown): number {
  if (typeof value === 'number') return value;
  throw new ProtocolError('a number is missing');
}

function integer(value: unknown): number {
  if (Number.isSafeInteger(value)) return value as number;
  throw new ProtocolError('a whole number is missing');
}

function oneOf<T extends string>(value: unknown, allowed: readonly T[]): T {
  if (allowed.includes(value as T)) return value as T;
  throw new ProtocolError('a word is none of those that are known');
}

function optional<T>(value: unknown, check: (value: unknown) => T): T | undefined {
  return value === undefined || value === null ? undefined : check(value);
}
