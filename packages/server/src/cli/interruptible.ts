/** Work that Ctrl-C ends early: it gets a signal, so that it can leave things in order. */

/** The reason of the signal. */
export class Interrupted extends Error {}

export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interrupted = new AbortController();
  const onInterrupt = (): void => interrupted.abort(new Interrupted());
  process.once('SIGINT', onInterrupt);
  try {
    return await work(interrupted.signal);
  } finally {
    process.off('SIGINT', onInterrupt);
  }
}
