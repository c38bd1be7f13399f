/** Checks of schemas leave the main thread free, and the keys that ask for them take turns. */
import { expect, test } from 'vitest';
import { schemaProblem, toolProblem, valueProblem } from './schema-thread.ts';

/** Looking through it takes as long as a check may take. */
const COSTLY = {
  type: 'object',
  properties: Object.fromEntries(
    Array.from({ length: 4000 }, (_, i) => [
      `p${i}`,
      { type: 'string', pattern: `^(a|b){1,${i % 50}}x${i}$` },
    ]),
  ),
};

test('a schema is checked off the main thread', async () => {
  await schemaProblem('key', {});
  const [main, all] = [process.threadCpuUsage(), process.cpuUsage()];
  for (let i = 0; i < 5; i++) await schemaProblem('key', COSTLY);
  expect(process.threadCpuUsage(main).user).toBeLessThan(process.cpuUsage(all).user / 2);
});

test('one check of another key comes before the rest of a key that asked for many', async () => {
  const ended: string[] = [];
  const ask = (owner: string, schema: Record<string, unknown>) =>
    schemaProblem(owner, schema).then(() => ended.push(owner));
  await Promise.all([
    ...Array.from({ length: 6 }, () => ask('many', COSTLY)),
    ask('other', { type: 'string' }),
  ]);
  expect(ended.indexOf('other')).toBeLessThanOrEqual(1);
});

test('problems are told as on the main thread', async () => {
  expect(await schemaProblem('key', { type: 'strng' })).toContain('/type must be equal');
  expect(await toolProblem('key', [{ name: 'f', parameters: { type: 'array' } }])).toContain("of 'f'");
  expect(await valueProblem('key', { type: 'string' }, 7)).toContain('string');
  expect(await valueProblem('key', { type: 'string' }, 'x')).toBeUndefined();
});

test('a value that cannot be handed to the thread is a problem, and the next check works', async () => {
  let deep: unknown = 1;
  for (let i = 0; i < 100_000; i++) deep = [deep];
  expect(await valueProblem('key', { type: 'string' }, deep)).toContain('could not be checked');
  expect(await valueProblem('key', { type: 'string' }, 'x')).toBeUndefined();
});
