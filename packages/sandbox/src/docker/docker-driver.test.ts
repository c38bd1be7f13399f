import { expect, test } from 'vitest';
import { limitsOf } from './docker-driver.ts';

test('the daemon tells which limits its containers hold, and of the others why not', () => {
  const limits = limitsOf({ NCPU: 2, MemoryLimit: true, PidsLimit: false });
  const reason = expect.stringContaining('docker info');
  expect(limits).toEqual({ memoryBytes: true, processes: reason, cpus: reason });
});
