/** Waiting and giving up. Signals outlive requests, so what listens to one is taken off it again. */

/** Aborts the controller with the signal, for the same reason; returns how to let go of the signal. */
export function abortWith(signal: AbortSignal | undefined, controller: AbortController): () => void {
  if (signal === undefined) return () => {};
  const abort = (): void => controller.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort);
  return () => signal.removeEventListener('abort', abort);
}

export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** A timer longer than this would fire at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** Calls after a while unless the result is called first; 0 and Infinity are never. */
export function after(ms: number, call: () => void): () => void {
  if (!(ms > 0 && ms < Number.POSITIVE_INFINITY)) return () => {};
  const timer = setTimeout(call, Math.min(ms, TIMER_MAX_MS));
  return () => clearTimeout(timer);
}
