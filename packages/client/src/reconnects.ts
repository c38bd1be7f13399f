/** When to connect again after a connection was lost, and when to give up. */
import { sleep } from './abort.ts';
import type { APIError, ConnectionError } from './errors.ts';
import { backoffMs, retryAfterMs } from './retry.ts';
import type { RequestOptions } from './transport.ts';

/** The state of the connection a stream reads from. */
export type ConnectionChange =
  /** For the first time, or again. */
  | { state: 'open' }
  /** The stream reconnects in `retryInMs`. This is attempt number `attempt` since the last event. */
  | { state: 'lost'; attempt: number; retryInMs: number; error: ConnectionError | APIError };

export interface ReconnectOptions {
  /** For how long it tries to reconnect. */
  reconnectMs: number;
  /** The pause before the next attempt, after this many failed ones. */
  waitMs(retries: number): number;
  onConnection?: ((change: ConnectionChange) => void) | undefined;
  signal: AbortSignal | undefined;
}

/** How a stream deals with its connections. */
export interface ReconnectingOptions extends RequestOptions {
  /** Milliseconds of silence after which a connection counts as lost. Servers send a keepalive every 10 to 30 s. */
  stallTimeout?: number | undefined;
  /** For how many milliseconds a lost stream tries to reconnect; 0 means never, `Infinity` forever. */
  reconnectTimeout?: number | undefined;
  /** Is called when the stream connects, when it loses its connection, and when it reconnects. */
  onConnection?: ((change: ConnectionChange) => void) | undefined;
}

const STALL_MS = 45_000;
/** How long a client keeps trying to reach a server that is being restarted or moved. */
export const RECONNECT_MS = 300_000;
const [RECONNECT_FIRST_MS, RECONNECT_LAST_MS] = [100, 10_000];

/** The options with their defaults, apart from those of each request. */
export function reconnecting<T extends ReconnectingOptions>({
  stallTimeout = STALL_MS,
  reconnectTimeout = RECONNECT_MS,
  onConnection,
  ...request
}: T) {
  return {
    stallMs: stallTimeout,
    reconnectMs: reconnectTimeout,
    waitMs: (retries: number) => backoffMs(retries, RECONNECT_FIRST_MS, RECONNECT_LAST_MS),
    onConnection,
    request,
  };
}

/** A connection that lived this long worked, even if it brought nothing. */
const LASTING_MS = 10_000;

/** The longest pause, whatever the server asks for: it may be back sooner, and its answer may be damaged. */
const WAIT_MAX_MS = 60_000;

export class Reconnects {
  readonly #options: ReconnectOptions;
  #retries = 0;
  #retryMs = 0;
  #openedAt = Number.POSITIVE_INFINITY;
  #goodAt = performance.now();

  constructor(options: ReconnectOptions) {
    this.#options = options;
  }

  /** The server's answer has begun. */
  opened(): void {
    this.#openedAt = performance.now();
  }

  /** The server asks for a pause of at least this length, in its stream. */
  asked(ms: number): void {
    this.#retryMs = ms;
  }

  /** Waits before the next attempt; false when the time for attempts is over. `progress`: something was received. */
  async wait(failure: ConnectionError | APIError, progress: boolean): Promise<boolean> {
    const { reconnectMs, waitMs, onConnection, signal } = this.#options;
    if (progress || performance.now() - this.#openedAt > LASTING_MS) {
      this.#retries = 0;
      this.#goodAt = performance.now();
    }
    this.#openedAt = Number.POSITIVE_INFINITY;
    const askedMs = Math.max(this.#retryMs, retryAfterMs(failure) ?? waitMs(this.#retries));
    const delayMs = Math.min(askedMs, WAIT_MAX_MS);
    if (performance.now() + delayMs - this.#goodAt > reconnectMs) return false;
    this.#retries++;
    onConnection?.({ state: 'lost', attempt: this.#retries, retryInMs: delayMs, error: failure });
    await sleep(delayMs, signal);
    return true;
  }
}
