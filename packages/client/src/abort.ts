/** Abort signals and timers. A signal outlives a request, so every listener is removed when its request ends. */

/** Aborts the controller when the signal aborts, with the same reason. Returns a function that removes the listener. */
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

/** setTimeout fires at once for a longer delay. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** Calls back after `ms`, unless the returned function is called first. 0 and Infinity mean never. */
export function after(ms: number, call: () => void): () => void {
  if (!(ms > 0 && ms < Number.POSITIVE_INFINITY)) return () => {};
  const timer = setTimeout(call, Math.min(ms, TIMER_MAX_MS));
  return () => clearTimeout(timer);
}
