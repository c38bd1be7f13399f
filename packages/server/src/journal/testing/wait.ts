import { vi } from 'vitest';

/** Waits until `condition` no longer throws, as long as a busy machine may need. */
export function waitFor<T>(condition: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(condition, { timeout: 20_000, interval: 2 });
}
