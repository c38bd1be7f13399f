/** Time for the pool; a test has a clock that it moves by hand. */
export interface Clock {
  nowMs(): number;
  /** Calls back once. The returned function prevents that. */
  after(ms: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  nowMs: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

/** Resolves after the time, or as soon as the signal aborts. */
export function delay(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const finish = () => {
      cancel();
      signal.removeEventListener('abort', finish);
      resolve();
    };
    const cancel = clock.after(ms, finish);
    signal.addEventListener('abort', finish, { once: true });
  });
}
