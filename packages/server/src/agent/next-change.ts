import { type AgentRun, Handover } from './agent-run.ts';

/** Resolves at the next post or after the timeout; throws when the run ends or is handed over. */
export async function nextChange(run: AgentRun, timeoutMs: number): Promise<void> {
  const done = new AbortController();
  const interrupted = AbortSignal.any([run.signal, run.draining]);
  let timer: NodeJS.Timeout | undefined;
  try {
    interrupted.throwIfAborted();
    await Promise.race([
      run.nextPost(),
      new Promise<void>((resolve) => {
        timer = setTimeout(resolve, Math.min(timeoutMs, 2 ** 31 - 1));
      }),
      new Promise<void>((resolve) => {
        interrupted.addEventListener('abort', () => resolve(), { once: true, signal: done.signal });
      }),
    ]);
  } catch {
    // Thrown below, with its reason.
  } finally {
    clearTimeout(timer);
    done.abort();
  }
  run.signal.throwIfAborted();
  if (run.draining.aborted) throw new Handover();
}
