import { expect, test } from 'vitest';
import { compareInThread } from './line-thread.ts';

/** Two megabytes that differ in most lines. */
const LINES = 60_000;
const large = (from: number) =>
  new TextEncoder().encode(Array.from({ length: LINES }, (_, i) => `${from + i * 7} of ${i}\n`).join(''));

test('the small comparison of a key waits for no more than two of a key that asks for many', async () => {
  const ended: string[] = [];
  const compare = async (name: string, before: Uint8Array, after: Uint8Array) => {
    const read = async () => ({ before: before.slice(), after: after.slice() });
    const owner = { name, size: before.length + after.length };
    await compareInThread(owner, read, { maxSteps: 2 ** 18, patch: false });
    ended.push(name);
  };
  const [one, other, small] = [large(1), large(2), new TextEncoder().encode('a\n')];
  await Promise.all([
    ...Array.from({ length: 12 }, () => compare('many', one, other)),
    compare('other', small, small),
  ]);
  expect(ended.indexOf('other')).toBeLessThanOrEqual(2);
});
