/**
 * Waits for a condition, never for a time; `check` returns the awaited value, or undefined or false. The longer it
 * waits, the less often it checks: most checks are requests, and the machine is busy with the awaited work.
 */
import { setTimeout as delay } from 'node:timers/promises';

const PAUSE_MIN_MS = 5;
const PAUSE_MAX_MS = 50;

export async function waitFor<T>(
  what: string,
  check: () => T | undefined | false | Promise<T | undefined | false>,
  limitMs = 100_000,
): Promise<T> {
  const deadline = performance.now() + limitMs;
  for (let pause = PAUSE_MIN_MS; ; pause = Math.min(pause * 1.25, PAUSE_MAX_MS)) {
    const value = await check();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > deadline) throw new Error(`Waited ${limitMs} ms in vain for ${what}`);
    await delay(pause);
  }
}
