/**
 * Groups the calls of many callers into few batches.
 *
 * The first call to a container is sent at the end of its turn of the event loop: a lone call does not wait. Then a
 * window opens, and the calls that come within it are sent together when it closes. So a single caller has no delay,
 * and a thousand callers cost one batch per window instead of one round trip each.
 *
 * A batch holds calls to one container with one timeout, because both belong to the batch. Each call gets its result as
 * soon as the backend has it, and its signal ends only that call.
 */
import type { ExecuteOptions, ExecutionRequest, ExecutionResult } from '../backend.ts';
import { aborted } from '../not-run.ts';

export type ExecuteBatch = (
  requests: readonly ExecutionRequest[],
  options: ExecuteOptions,
) => Promise<ExecutionResult[]>;

interface Call {
  request: ExecutionRequest;
  timeoutS: number | undefined;
  resolve(result: ExecutionResult): void;
  reject(error: unknown): void;
}

export class CallBatcher {
  readonly #executeBatch: ExecuteBatch;
  readonly #windowMs: number;
  /** Calls that wait for their window, by container; a container without an entry has no open window. */
  readonly #windows = new Map<string, Call[]>();

  /** A window of 0 ms collects only the calls of one turn of the event loop. */
  constructor(executeBatch: ExecuteBatch, windowMs: number) {
    this.#executeBatch = executeBatch;
    this.#windowMs = windowMs;
  }

  send(request: ExecutionRequest, timeoutS: number | undefined): Promise<ExecutionResult> {
    const { promise, resolve, reject } = Promise.withResolvers<ExecutionResult>();
    const call = { request, timeoutS, resolve, reject };
    const [{ containerId }] = request;
    const gathered = this.#windows.get(containerId);
    if (gathered) gathered.push(call);
    else {
      this.#windows.set(containerId, [call]);
      setImmediate(() => this.#flush(containerId));
    }
    return promise;
  }

  #flush(containerId: string): void {
    const calls = this.#windows.get(containerId) ?? [];
    if (calls.length === 0 || this.#windowMs === 0) this.#windows.delete(containerId);
    else {
      this.#windows.set(containerId, []);
      setTimeout(() => this.#flush(containerId), this.#windowMs);
    }
    const wanted = calls.filter((call) => {
      const [slot, , , options] = call.request;
      if (options?.signal?.aborted) call.resolve(aborted(slot.slotId));
      return !options?.signal?.aborted;
    });
    for (const [timeoutS, group] of Map.groupBy(wanted, (call) => call.timeoutS))
      this.#execute(group, timeoutS);
  }

  #execute(calls: readonly Call[], timeoutS: number | undefined): void {
    const settle = (result: ExecutionResult, index: number) => calls[index]?.resolve(result);
    this.#executeBatch(
      calls.map(({ request }) => request),
      { timeoutS, onResult: settle },
    ).then(
      (results) => results.forEach(settle),
      (error: unknown) => {
        for (const call of calls) call.reject(error);
      },
    );
  }
}
