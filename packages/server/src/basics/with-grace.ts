/** Settles with the work, or with the signal's reason once the grace after an abort is over. */
export async function withGrace<T>(work: Promise<T>, signal: AbortSignal, graceMs: number): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  let timer: NodeJS.Timeout | undefined;
  const start = (): void => {
    timer = setTimeout(() => aborted.reject(signal.reason), graceMs);
  };
  if (signal.aborted) start();
  else signal.addEventListener('abort', start, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', start);
    // The loser of the race may still reject; that is expected and not reported.
    work.catch(() => {});
  }
}
