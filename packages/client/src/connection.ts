/**
 * A response whose body has not been read yet. The end of the body, a failure, `close` or the caller's signal ends the
 * request and removes the listener from the signal.
 */
import { after } from './abort.ts';
import { ConnectionError, TimeoutError } from './errors.ts';

export class Connection {
  readonly response: Response;
  readonly #abort: AbortController;
  readonly #release: () => void;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;

  constructor(response: Response, abort: AbortController, release: () => void) {
    this.response = response;
    this.#abort = abort;
    this.#release = release;
  }

  /** The next bytes; undefined at the end. Silence for longer than `idleMs` counts as a lost connection. */
  async read(idleMs: number): Promise<Uint8Array | undefined> {
    const cancel = after(idleMs, () => {
      this.#abort.abort(new TimeoutError(`Nothing came from the server for ${idleMs} ms`));
    });
    try {
      this.#reader ??= this.response.body?.getReader();
      const next = await this.#reader?.read();
      if (next?.done === false) return next.value;
      this.#release();
      return undefined;
    } catch (error) {
      this.#release();
      throw toFailure(error, this.#abort.signal);
    } finally {
      cancel();
    }
  }

  /** All of the body. */
  async bytes(): Promise<Uint8Array> {
    try {
      return new Uint8Array(await this.response.arrayBuffer());
    } catch (error) {
      throw toFailure(error, this.#abort.signal);
    } finally {
      this.#release();
    }
  }

  close(): void {
    this.#release();
    this.#abort.abort();
  }
}

/** Turns the error of a failed fetch or read into the one to throw: the caller aborted, or the connection failed. */
export function toFailure(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  return new ConnectionError(`The connection failed: ${reasonOf(error)}`, { cause: error });
}

/** Node says only "fetch failed" and puts the reason into `cause`, sometimes into the causes of that. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof AggregateError && cause.errors.length > 0) return reasonOf(cause.errors[0]);
  return cause instanceof Error ? reasonOf(cause) : error.message;
}
