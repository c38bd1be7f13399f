/** Waits for a condition, never for a time; `check` returns what was waited for, or undefined or false. */
import { setTimeout as delay } from 'node:timers/promises';

export async function waitFor<T>(
  what: string,
  check: () => T | undefined | false | Promise<T | undefined | false>,
  limitMs = 50_000,
): Promise<T> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const value = await check();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > deadline) throw new Error(`Waited ${limitMs} ms in vain for ${what}`);
    await delay(10);
  }
}
