/** The messages between the journal and its writer thread. */
import { type ApiErrorCode, TalariaError } from '@talaria/protocol';
import { LeaseLostError, type QueueDepth, UnseenPostError } from '../journal.ts';
import type { SqliteWriter } from './writer.ts';

/** What the writer has put into a class of its own. */
type Part = 'sessions' | 'conversations' | 'outbox' | 'responses' | 'jobs';

/** Operations of `SqliteWriter`, and of its parts as `<part>.<operation>`. */
export type WriteOp =
  | 'createRun'
  | 'append'
  | 'post'
  | 'claim'
  | 'renew'
  | 'release'
  | 'expired'
  | 'evict'
  | 'probe'
  | `sessions.${'create' | 'update' | 'fork' | 'delete' | 'sweep'}`
  | `conversations.${'create' | 'describe' | 'add'}`
  | `outbox.${'claim' | 'settle'}`
  | `responses.${'addNext' | 'delete' | 'keep'}`
  | `jobs.${'create' | 'update' | 'delete'}`;

/** The arguments of an operation, and when it was asked for by the store's clock. */
export interface WriteRequest {
  id: number;
  op: WriteOp;
  args: unknown[];
  now: number;
}

export type WriteResponse = { id: number; value: unknown } | { id: number; error: WriteFailure };

export interface WriteFailure {
  name: string;
  message: string;
  code?: ApiErrorCode;
  param?: string | null;
}

/** `depth` is the queue as of that commit: whoever wants to know it does not have to wait for the disk. */
export type FromWriter =
  | { type: 'ready'; depth: QueueDepth }
  | { type: 'failed'; message: string }
  | { type: 'done'; responses: WriteResponse[]; depth: QueueDepth; commit: CommitMeasure };

export interface CommitMeasure {
  durationMs: number;
  /** Zero where it failed. */
  records: number;
  failed: boolean;
}

export type ToWriter = { type: 'write'; requests: WriteRequest[] } | { type: 'close' };

export function perform(writer: SqliteWriter, { op, args, now }: WriteRequest): unknown {
  const [name, part] = op.split('.').reverse() as [string, Part?];
  const holder = part === undefined ? writer : writer[part];
  const operation = (holder as unknown as Record<string, (...values: unknown[]) => unknown>)[name]!;
  return operation.call(holder, ...args, now);
}

export function toFailure(error: unknown): WriteFailure {
  if (error instanceof TalariaError) {
    const { name, message, code, param } = error;
    return { name, message, code, param };
  }
  if (error instanceof Error) return { name: error.name, message: error.message };
  return { name: 'Error', message: String(error) };
}

/** The error the caller sees; anything that is not a refusal of ours is a store that did not take the write. */
export function fromFailure(failure: WriteFailure, runId: string): Error {
  if (failure.name === 'LeaseLostError') return new LeaseLostError(runId);
  if (failure.name === 'UnseenPostError') return new UnseenPostError(runId);
  if (failure.code !== undefined) {
    const { code, message, param } = failure;
    return new TalariaError(code, { message, ...(param == null ? {} : { param }) });
  }
  return new TalariaError('store_unavailable', { cause: new Error(failure.message) });
}
