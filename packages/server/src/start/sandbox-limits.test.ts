import { expect, test } from 'vitest';
import { load } from '../config/testing/load.ts';
import { configuredLimits, limitsInBrief, unenforceable, unenforcedLimits } from './sandbox-limits.ts';

const MB = 1024 * 1024;

test('defaults may hold, explicit limits must, and 0 means no limit', () => {
  const env = {
    TALARIA_SANDBOX_MEMORY_MB: '256',
    TALARIA_SANDBOX_CPUS: '1.5',
    TALARIA_SANDBOX_WORKSPACE_MB: '0',
  };
  expect(configuredLimits(load({ env }).config)).toEqual({
    limits: { memoryBytes: 256 * MB, cpus: 1.5 },
    preferredLimits: { processes: 1024, fileSizeBytes: 10_240 * MB },
  });
});

test('a default that is set explicitly must hold', () => {
  const { limits } = configuredLimits(load({ argv: ['--sandbox-processes', '1024'] }).config);
  expect(limits).toEqual({ processes: 1024 });
});

test('a limit that does not hold is named by its setting, or as a warning', () => {
  const missing = {
    limit: 'cpus',
    value: 2,
    by: 'nothing',
    per: 'slot',
    description: '2 processors, not enforced (no control group: why)',
  } as const;
  const held = {
    limit: 'memoryBytes',
    value: 64 * MB,
    by: 'cgroup v2',
    per: 'slot',
    description: '64 MB …',
  } as const;
  expect(unenforceable([missing]).problems).toEqual([
    'TALARIA_SANDBOX_CPUS is a limit that this machine cannot enforce: 2 processors, not enforced (no control group: why); allowed: 0 for no limit',
  ]);
  expect(unenforcedLimits([missing, held])).toEqual([
    'limit on processor time: 2 processors, not enforced (no control group: why)',
  ]);
  expect(limitsInBrief([missing, held])).toBe('64 MB of memory per run');
  expect(limitsInBrief([missing])).toBe('none');
});
