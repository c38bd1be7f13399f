/** Counts and hashes the bytes that a driver is given, and stops at a limit or at a signal. */
import { createHash } from 'node:crypto';
import { BlobTooLargeError, type BlobWrite } from './blob-store.ts';

export class MeasuredBytes implements AsyncIterable<Uint8Array> {
  size = 0;
  readonly #bytes: AsyncIterable<Uint8Array>;
  readonly #maxBytes: number;
  readonly #signal: AbortSignal | undefined;
  readonly #hash = createHash('sha256');

  constructor(bytes: AsyncIterable<Uint8Array>, { maxBytes = Number.POSITIVE_INFINITY, signal }: BlobWrite) {
    this.#bytes = bytes;
    this.#maxBytes = maxBytes;
    this.#signal = signal;
  }

  /** In hex; call it once, at the end. */
  sha256(): string {
    return this.#hash.digest('hex');
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void> {
    for await (const piece of untilAborted(this.#bytes, this.#signal)) {
      this.size += piece.length;
      if (this.size > this.#maxBytes) throw new BlobTooLargeError(this.#maxBytes);
      this.#hash.update(piece);
      yield piece;
    }
  }
}

async function* untilAborted(
  bytes: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void> {
  if (signal === undefined) {
    yield* bytes;
    return;
  }
  // Not a race with one promise for all pieces: that promise would keep every piece in memory until the end.
  let fail: (reason: unknown) => void = () => {};
  const abort = (): void => fail(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  const iterator = bytes[Symbol.asyncIterator]();
  try {
    for (;;) {
      signal.throwIfAborted();
      const { done, value } = await new Promise<IteratorResult<Uint8Array>>((resolve, reject) => {
        fail = reject;
        iterator.next().then(resolve, reject);
      });
      if (done === true) return;
      yield value;
    }
  } finally {
    signal.removeEventListener('abort', abort);
    // Nobody waits for it: a generator that never gives its next piece does not end either.
    void Promise.resolve(iterator.return?.()).catch(() => {});
  }
}
