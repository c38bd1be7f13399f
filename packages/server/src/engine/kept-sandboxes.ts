/**
 * The runs of this server that wait for somebody outside and keep their sandbox, because something runs there in the
 * background. Their worker stays, with the lease and the slot, but they have no place among the runs at work.
 *
 * Both bounds keep slots from piling up with runs that nobody answers. When there are too many, the one that has waited
 * longest gives its sandbox up; its background processes end, and the model is told when the run continues.
 *
 * A run that was answered takes a place before any run that could be claimed: it holds a slot already.
 */

/** Background work that nobody came back to within this time is not worth a slot any more. */
const KEPT_MS = 3_600_000;

export interface KeptSandboxesOptions {
  /** How many may be kept. */
  max: number;
  /** Whether another run may be at work now. */
  hasRoom(): boolean;
  /** Called when a run has left its place. */
  onPlace(): void;
}

export class KeptSandboxes {
  readonly #options: KeptSandboxesOptions;
  /** In the order in which their runs began to wait. */
  readonly #kept = new Set<KeptSandbox>();
  #closed = false;

  constructor(options: KeptSandboxesOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** Undefined if no other sandbox may be kept. */
  begin(): KeptSandbox | undefined {
    const { max, onPlace } = this.#options;
    if (this.#closed || max === 0) return undefined;
    if (this.#kept.size >= max) {
      const oldest = [...this.#kept].find(({ isReturning }) => !isReturning);
      if (oldest === undefined) return undefined;
      oldest.give();
    }
    const kept: KeptSandbox = new KeptSandbox({
      hasRoom: this.#options.hasRoom,
      leave: () => this.#kept.delete(kept),
    });
    this.#kept.add(kept);
    onPlace();
    return kept;
  }

  /** Gives places to runs that were answered, as far as there is room. */
  admit(): void {
    for (const kept of this.#kept) {
      if (!this.#options.hasRoom()) return;
      kept.enter();
    }
  }

  /** Gives all of them up, for the end of the server. */
  close(): void {
    this.#closed = true;
    for (const kept of this.#kept) kept.give();
  }
}

interface KeptSandboxOptions {
  hasRoom(): boolean;
  /** From now on the run counts among those at work. */
  leave(): void;
}

export class KeptSandbox {
  readonly #options: KeptSandboxOptions;
  readonly #given = Promise.withResolvers<void>();
  readonly #timer: NodeJS.Timeout;
  #enter: (() => void) | undefined;
  isGiven = false;

  constructor(options: KeptSandboxOptions) {
    this.#options = options;
    this.#timer = setTimeout(() => this.give(), KEPT_MS);
  }

  /** Resolves when the sandbox has to be given up. */
  get given(): Promise<void> {
    return this.#given.promise;
  }

  /** Whether the run was answered and waits for a place. */
  get isReturning(): boolean {
    return this.#enter !== undefined;
  }

  give(): void {
    this.isGiven = true;
    this.#given.resolve();
    this.#leave();
  }

  /** Gives the run a place if it waits for one. */
  enter(): void {
    if (this.isReturning) this.#leave();
  }

  /** The run waits no longer. Resolves when it has a place; at once if the signal is aborted. */
  async end(signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.isGiven || this.#options.hasRoom()) return this.#leave();
    const entered = Promise.withResolvers<void>();
    this.#enter = entered.resolve;
    const leave = () => this.#leave();
    signal.addEventListener('abort', leave, { once: true });
    await entered.promise;
    signal.removeEventListener('abort', leave);
  }

  #leave(): void {
    clearTimeout(this.#timer);
    this.#options.leave();
    this.#enter?.();
    this.#enter = undefined;
  }
}
