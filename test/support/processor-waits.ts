/**
 * How long something on this machine has waited for a processor, so that a test that bounds a time can subtract what a
 * busy machine added. 0 if the system does not report it.
 */
import { readFileSync } from 'node:fs';

/** Starts counting; the result is in milliseconds since then. */
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
