/**
 * How long something on this machine has waited for a processor, so that a test which has to bound a time can leave out
 * what a busy machine added to it. 0 where the system does not tell.
 */
import { readFileSync } from 'node:fs';

/** Begins to count; the answer is in milliseconds since then. */
export function processorWaits(): () => number {
  const before = totalMs();
  return () => totalMs() - before;
}

function totalMs(): number {
  try {
    return Number(/^some .*total=(\d+)$/m.exec(readFileSync('/proc/pressure/cpu', 'utf8'))?.[1] ?? 0) / 1000;
  } catch {
    return 0;
  }
}
