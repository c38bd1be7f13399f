/**
 * Stateful commands of a workspace run one after the other, in the order of their calls: each starts from what the one
 * before it left. A call that gives up waiting is as if it had never been.
 */
const last = new Map<string, Promise<void>>();

export interface ShellTurn extends Disposable {}

export interface Patience {
  timeoutMs: number;
  signal: AbortSignal;
}

export async function takeShellTurn(
  key: string,
  patience: Patience,
): Promise<ShellTurn | 'timeout' | 'aborted'> {
  const before = last.get(key) ?? Promise.resolve();
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const mine = before.then(() => over);
  last.set(key, mine);
  void mine.then(() => {
    if (last.get(key) === mine) last.delete(key);
  });
  const came = await waitFor(before, patience);
  if (came === 'done') return { [Symbol.dispose]: end };
  end();
  return came;
}

async function waitFor(before: Promise<void>, { timeoutMs, signal }: Patience) {
  let timer: NodeJS.Timeout | undefined;
  let onAbort = (): void => {};
  try {
    return await Promise.race([
      before.then(() => 'done' as const),
      new Promise<'timeout'>((resolve) => {
        timer = setTimeout(resolve, timeoutMs, 'timeout');
      }),
      new Promise<'aborted'>((resolve) => {
        onAbort = () => resolve('aborted');
        if (signal.aborted) onAbort();
        signal.addEventListener('abort', onAbort, { once: true });
      }),
    ]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
}
