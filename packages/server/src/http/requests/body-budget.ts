/**
 * Limits how many bytes of request bodies the server holds at once: bodies being received, and bodies that no route has
 * read yet. Each body has a limit of its own, but many unfinished ones together could use up the memory.
 *
 * A body is charged before it is read, with the length that its request declares, or with the maximum. So a refused
 * body has cost nothing, and the timeout for requests ends a slow sender.
 */
import { TalariaError } from '@talaria/protocol';

/** By then other bodies will have been read, unless the load stays as high. */
const RETRY_AFTER_S = 1;

export interface BodyBudgetOptions {
  maxBytes: number;
  /** Less than all of it if several keys share the server, so that no key blocks the others. */
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

  /** Throws `too_many_bodies` or `server_busy` when there is no room for this many bytes. */
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

/** The charge for one body. The first `release` gives it back; further ones do nothing. */
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

/** A body as routes get it. Taking its bytes removes them here: a response may take hours, and does not need them. */
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
