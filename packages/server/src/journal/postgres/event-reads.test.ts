import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { EventReads } from './event-reads.ts';

it('the reads of one turn go together, and so do those that wait for a connection', async () => {
  const asked: string[][] = [];
  const answered = Promise.withResolvers<void>();
  const reads = new EventReads(async (_, [runIds]) => {
    asked.push(runIds as string[]);
    await answered.promise;
    return [];
  });
  const ask = (runIds: readonly string[]) =>
    Promise.allSettled(runIds.map((runId) => reads.read(runId, -1, 1, 1)));

  const asking = [ask(['a', 'b'])];
  for (const runId of ['c', 'd', 'e', 'f', 'g']) {
    await turn();
    asking.push(ask([runId]));
  }
  await turn();
  expect(asked).toEqual([['a', 'b'], ['c'], ['d'], ['e']]);
  answered.resolve();
  await Promise.all(asking);
  expect(asked.slice(4)).toEqual([['f', 'g']]);
});
