/** Settles with the work, or with the signal's reason once the grace after an abort is over. */
export async function withGrace<T>(work: Promise<T>, signal: AbortSignal, graceMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const aborted = new Promise<never>((_, reject) => {
    const start = (): void => {
      timer = setTimeout(() => reject(signal.reason), graceMs);
    };
    if (signal.aborted) start();
    else signal.addEventListener('abort', start, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    clearTimeout(timer);
    // The loser of the race may still reject; that is expected and not reported.
    work.catch(() => {});
    aborted.catch(() => {});
  }
}
