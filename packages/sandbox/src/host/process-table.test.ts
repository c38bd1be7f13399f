import { expect, test } from 'vitest';
import { listPids, readProcesses } from './process-table.ts';

test('processes are listed by their numbers in ascending order', () => {
  const pids = listPids();
  expect(pids).toContain(process.pid);
  expect(pids).toEqual(pids.toSorted((one, other) => one - other));
  const read = readProcesses().map(({ pid }) => pid);
  expect(read).toEqual(read.toSorted((one, other) => one - other));
});
