/**
 * How many bytes of request bodies the server holds at once: those being received, and those no route has read yet. Each
 * body is bounded by itself, but many unfinished ones together could take all the memory there is.
 *
 * A body is charged before it is read, with the length its request declares, or with the largest there may be. So what is
 * refused has cost nothing, and a slow sender is ended by the timeout for requests.
 */
import { TalariaError } from '@talaria/protocol';

/** By then others will have been read, unless this goes on. */
const RETRY_AFTER_S = 1;

export interface BodyBudgetOptions {
  maxBytes: number;
  /** Less than all of it where several keys share the server: none keeps the others out. */
  maxBytesPerOwner: number;
}

export class BodyBudget {
  readonly #options: BodyBudgetOptions;
  readonly #byOwner = new Map<string, number>();
  #total = 0;

  constructor(options: BodyBudgetOptions) {
    this.#options = options;
  }

  get held(): number {
    return this.#total;
  }

  /** Throws `too_many_bodies` or `server_busy` when there is no room for so many bytes. */
  charge(owner: string, bytes: number): BodyCharge {
    const { maxBytes, maxBytesPerOwner } = this.#options;
    const own = (this.#byOwner.get(owner) ?? 0) + bytes;
    if (own > maxBytesPerOwner) throw new TalariaError('too_many_bodies', { retryAfterS: RETRY_AFTER_S });
    if (this.#total + bytes > maxBytes) throw new TalariaError('server_busy', { retryAfterS: RETRY_AFTER_S });
    this.#change(owner, bytes);
    return new BodyCharge(bytes, (freed) => this.#change(owner, -freed));
  }

  #change(owner: string, by: number): void {
    this.#total += by;
    const own = (this.#byOwner.get(owner) ?? 0) + by;
    if (own === 0) this.#byOwner.delete(owner);
    else this.#byOwner.set(owner, own);
  }
}

/** Given back once, whoever does it first. */
export class BodyCharge {
  #bytes: number;
  readonly #free: (bytes: number) => void;

  constructor(bytes: number, free: (bytes: number) => void) {
    this.#bytes = bytes;
    this.#free = free;
  }

  release(): void {
    const bytes = this.#bytes;
    this.#bytes = 0;
    if (bytes > 0) this.#free(bytes);
  }
}

/** A body as routes are given it. Who takes its bytes has them alone: an answer may take hours, and does not need them. */
export class RequestBody {
  #bytes: Uint8Array;
  readonly #charge: BodyCharge | undefined;

  constructor(bytes: Uint8Array, charge?: BodyCharge) {
    this.#bytes = bytes;
    this.#charge = charge;
  }

  get length(): number {
    return this.#bytes.length;
  }

  take(): Uint8Array {
    const bytes = this.#bytes;
    this.#bytes = new Uint8Array();
    this.#charge?.release();
    return bytes;
  }
}
