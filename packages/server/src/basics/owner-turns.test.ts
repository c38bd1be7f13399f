import { expect, test } from 'vitest';
import { OwnerTurns } from './owner-turns.ts';

interface Begun {
  name: string;
  end(): void;
}

/** Work that ends when the test says so; `begun` has it in the order in which it began. */
function pieces(max: number) {
  const turns = new OwnerTurns(max);
  const begun: Begun[] = [];
  const add = (name: string, size = 1): Promise<void> =>
    turns.run(name[0]!, size, () => new Promise<void>((end) => void begun.push({ name, end })));
  return { add, begun, names: () => begun.map(({ name }) => name) };
}

test('the work of an owner waits for no more than what runs already, however much another has', async () => {
  const { add, begun, names } = pieces(2);
  const all = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'c1'].map((name) => add(name));
  for (let i = 0; i < all.length; i++) {
    await expect.poll(() => begun.length).toBeGreaterThan(i);
    begun[i]!.end();
  }
  await Promise.all(all);
  expect(names()).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4', 'a5']);
});

test('the smallest piece of an owner comes first', async () => {
  const { add, begun, names } = pieces(1);
  const all = [add('a1', 5), add('a2', 9), add('a3', 2), add('a4', 2)];
  for (let i = 0; i < all.length; i++) {
    await expect.poll(() => begun.length).toBeGreaterThan(i);
    begun[i]!.end();
  }
  await Promise.all(all);
  expect(names()).toEqual(['a1', 'a3', 'a4', 'a2']);
});

test('a piece that fails gives its place back', async () => {
  const turns = new OwnerTurns(1);
  const failed = turns.run('a', 1, () => Promise.reject(new Error('failed')));
  await expect(failed).rejects.toThrow('failed');
  expect(await turns.run('a', 1, async () => 'next')).toBe('next');
});
