/** The messages between the journal and its writer thread. */
import { type ApiErrorCode, TalariaError } from '@talaria/protocol';
import { LeaseLostError, type QueueDepth, UnseenPostError } from '../journal.ts';
import type { SqliteWriter } from './writer.ts';

/** The parts of the writer that are classes of their own. */
const PARTS = [
  'sessions',
  'conversations',
  'outbox',
  'responses',
  'jobs',
  'approvals',
  'contents',
  'files',
  'heads',
  'kept',
  'smallBlobs',
] as const;
type Part = (typeof PARTS)[number];

/**
 * The operations that the thread can be asked for: those of `SqliteWriter` and of its parts, asynchronous and without
 * `now`, their last parameter, which the store's clock fills in. The compiler sees through it to the operations
 * themselves.
 */
export type Writes = Asked<SqliteWriter> & { readonly [P in Part]: Asked<SqliteWriter[P]> };

type Operation = (...args: never[]) => unknown;
type OperationName<T> = { [N in keyof T]: T[N] extends Operation ? N : never }[keyof T];
type Untimed<A> = A extends [...infer Given, number] ? Given : A;
type Asked<T, Names extends keyof T = OperationName<T>> = {
  readonly [N in Names]: T[N] extends (...args: infer A) => infer R
    ? (...args: Untimed<A>) => Promise<Awaited<R>>
    : never;
};

/** An operation, its arguments, and the store's time of the call. */
export interface WriteRequest {
  id: number;
  part: Part | undefined;
  operation: string;
  args: unknown[];
  now: number;
}

export type Ask = (request: Pick<WriteRequest, 'part' | 'operation' | 'args'>) => Promise<unknown>;

/** Turns calls of operations into requests. The types say which exist, so no name is checked here. */
export function writesThrough(ask: Ask): Writes {
  const operationsOf = (part?: Part): object =>
    new Proxy(
      {},
      {
        get:
          (_, operation: string) =>
          (...args: unknown[]) =>
            ask({ part, operation, args }),
      },
    );
  const parts = new Map<string | symbol, object>(PARTS.map((part) => [part, operationsOf(part)]));
  const own = operationsOf();
  return new Proxy(own, { get: (_, name) => parts.get(name) ?? Reflect.get(own, name) }) as Writes;
}

export type WriteResponse = { id: number; value: unknown } | { id: number; error: WriteFailure };

export interface WriteFailure {
  name: string;
  message: string;
  /** Which run a lost lease or an unseen post is about. */
  runId?: string;
  code?: ApiErrorCode;
  param?: string | null;
}

/**
 * `depth` is the queue at that commit: callers do not have to wait for the disk to know it. `mark` is the one that the
 * next change will get.
 */
export type FromWriter =
  | { type: 'ready'; depth: QueueDepth; mark: number }
  | { type: 'failed'; message: string }
  | { type: 'closed' }
  | { type: 'done'; responses: WriteResponse[]; depth: QueueDepth; mark: number; commit: CommitMeasure };

export interface CommitMeasure {
  durationMs: number;
  /** Zero if it failed. */
  records: number;
  failed: boolean;
}

export type ToWriter =
  | { type: 'open'; path: string }
  | { type: 'write'; requests: WriteRequest[] }
  | { type: 'close' };

export function perform(writer: SqliteWriter, { part, operation, args, now }: WriteRequest): unknown {
  const holder = part === undefined ? writer : writer[part];
  const perform: unknown = Reflect.get(holder, operation);
  if (typeof perform !== 'function') throw new Error(`The writer has no operation ${operation}`);
  return perform.call(holder, ...args, now);
}

export function toFailure(error: unknown): WriteFailure {
  if (error instanceof TalariaError) {
    const { name, message, code, param } = error;
    return { name, message, code, param };
  }
  if (error instanceof LeaseLostError || error instanceof UnseenPostError) {
    const { name, message, runId } = error;
    return { name, message, runId };
  }
  if (error instanceof Error) return { name: error.name, message: error.message };
  return { name: 'Error', message: String(error) };
}

/**
 * The error that the caller sees; anything that is not our own refusal means that the store did not accept the write.
 */
export function fromFailure(failure: WriteFailure): Error {
  const { runId = '' } = failure;
  if (failure.name === 'LeaseLostError') return new LeaseLostError(runId);
  if (failure.name === 'UnseenPostError') return new UnseenPostError(runId);
  if (failure.code !== undefined) {
    const { code, message, param } = failure;
    return new TalariaError(code, { message, ...(param == null ? {} : { param }) });
  }
  return new TalariaError('store_unavailable', { cause: new Error(failure.message) });
}
