/** Waiting for something that may take longer than one wants to wait. */
export interface Patience {
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** Returns which came first. The awaited work continues in any case; it must not reject. */
export async function waitWithin(
  work: Promise<unknown>,
  { timeoutMs, signal }: Patience,
): Promise<'done' | 'timeout' | 'aborted'> {
  const { promise: over, resolve: end } = Promise.withResolvers<'timeout' | 'aborted'>();
  const timer = setTimeout(end, timeoutMs, 'timeout');
  const onAbort = () => end('aborted');
  if (signal?.aborted) onAbort();
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work.then(() => 'done' as const), over]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}
