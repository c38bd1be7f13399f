import { expect, test } from 'vitest';
import { limitsOf } from './docker-driver.ts';

test('the daemon reports which limits its containers enforce, and why not for the others', () => {
  const limits = limitsOf({ NCPU: 2, MemoryLimit: true, PidsLimit: false });
  const reason = expect.stringContaining('docker info');
  expect(limits).toEqual({ memoryBytes: true, processes: reason, cpus: reason });
});
