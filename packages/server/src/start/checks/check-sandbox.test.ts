import type { BackendStats } from '@talaria/sandbox';
import { expect, test } from 'vitest';
import { checkSandbox } from './check-sandbox.ts';

const STATS: BackendStats = {
  backend: 'docker',
  isolation: { kind: 'container', description: 'Docker.' },
  limits: [],
  slots: { available: 1, acquired: 0, executing: 2, releasing: 0, error: 0 },
  containers: { starting: 0, ready: 3, draining: 0, stopping: 0 },
};

test('a working sandbox says what it consists of', () => {
  expect(checkSandbox('docker', STATS)).toEqual({
    status: 'ok',
    detail: 'Docker.',
    backend: 'docker',
    hardening: {},
    limits: {},
    slots: STATS.slots,
    containers: STATS.containers,
  });
});

test('a sandbox without a system call filter is degraded, and says so', () => {
  const description = 'not filtered (why)';
  const kind = 'unshare' as const;
  const withFilter = (holds: boolean) =>
    checkSandbox('docker', {
      ...STATS,
      isolation: { kind, description: '', hardening: [{ name: 'system calls', holds, description }] },
    });
  expect(withFilter(false)).toMatchObject({ status: 'degraded', hardening: { 'system calls': description } });
  expect(withFilter(true).status).toBe('ok');
});

test('a sandbox without isolation is degraded, and one that gives no slots has failed, with the reason', () => {
  expect(checkSandbox('docker', { ...STATS, isolation: { kind: 'none', description: 'none.' } }).status).toBe(
    'degraded',
  );
  expect(checkSandbox('docker', { ...STATS, trouble: 'the daemon is gone' })).toMatchObject({
    status: 'failed',
    detail: expect.stringContaining('the daemon is gone'),
  });
});
