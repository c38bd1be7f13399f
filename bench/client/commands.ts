/** Runs commands that do nothing, in a sandbox or outside, and measures how long they take. */
import type { Slot, ToolBackend } from '../../packages/sandbox/src/backend.ts';
import { median } from '../statistics.ts';

const NOTHING = { command: 'true' } as const;

export async function runCommand(backend: ToolBackend, slot: Slot): Promise<void> {
  await runBatch(backend, [slot], 1);
}

/** Spread over the slots, all at once. */
export async function runBatch(backend: ToolBackend, slots: readonly Slot[], size: number): Promise<void> {
  const results = await backend.executeBatch(
    Array.from({ length: size }, (_, i) => [slots[i % slots.length]!, 'bash', NOTHING] as const),
  );
  const failed = results.find((result) => !result.success);
  if (failed) throw new Error(failed.error);
}

/** In milliseconds. */
export async function timeOf(action: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await action();
  return performance.now() - startedAt;
}

/** Measures the action `count` times, one after the other, and returns the median. */
export function medianTime(count: number, action: () => Promise<unknown>): Promise<number> {
  return medianTimeWide(1, count, action);
}

/** Measures the action `count` times in each of `width` lanes, which run at the same time, and returns the median. */
export async function medianTimeWide(
  width: number,
  count: number,
  action: () => Promise<unknown>,
): Promise<number> {
  const times: number[] = [];
  const lane = async () => {
    for (let i = 0; i < count; i++) times.push(await timeOf(action));
  };
  await Promise.all(Array.from({ length: width }, lane));
  return median(times);
}

/** How many of a group finish per second, when all start at once. */
export async function rateOf(size: number, all: () => Promise<unknown>): Promise<number> {
  return size / ((await timeOf(all)) / 1000);
}
