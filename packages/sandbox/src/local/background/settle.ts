import type { BackgroundProcess } from './background-process.ts';

/** For a process that prints something at once: an error, a prompt, an answer to its input. */
const LONGEST_MS = 300;
/** After its output has paused for this long, it counts as complete. */
const PAUSE_MS = 50;

/**
 * Waits briefly until the process has ended or has printed something after its first `knownBytes`: it saves the model a
 * call to ask for that.
 */
export async function settle(
  process: BackgroundProcess,
  knownBytes: number,
  signal: AbortSignal,
): Promise<void> {
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const limit = setTimeout(end, LONGEST_MS);
  let pause: NodeJS.Timeout | undefined;
  const onOutput = () => {
    clearTimeout(pause);
    pause = setTimeout(end, PAUSE_MS);
  };
  const onAbort = () => end();
  const unlisten = process.output.listen(onOutput);
  if (process.output.totalBytes > knownBytes) onOutput();
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  await Promise.race([over, process.ended]);
  signal.removeEventListener('abort', onAbort);
  unlisten();
  clearTimeout(pause);
  clearTimeout(limit);
}
