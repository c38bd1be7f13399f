import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ContainerDirectory } from '../containers/container-directory.ts';
import type { ContainerRequest } from '../containers/container-driver.ts';
import { SERVER_KILLED } from '../containers/first-process.ts';
import { firstProcess, sandboxParams } from './sandbox-params.ts';

const REQUEST: ContainerRequest = {
  ...{ name: 'talaria-1', labels: {}, nested: false, slots: 1, allowNetwork: false, limits: {}, backend: {} },
  directory: new ContainerDirectory('/nowhere'),
};
const SETTINGS = { regions: [], cpus: 1, memoryMb: 512, lifetimeS: 60 };

test('if nothing isolates commands in a sandbox, its writable directories count against the disk limit', () => {
  const backendOf = (request: ContainerRequest) =>
    JSON.parse(sandboxParams(request, SETTINGS).command?.at(-1) ?? '').backend;
  expect(backendOf(REQUEST).writableDirs).toEqual(expect.arrayContaining(['/talaria/workspaces', '/tmp']));
  expect(backendOf({ ...REQUEST, nested: true })).not.toHaveProperty('writableDirs');
});

test.each([
  ['of version 2', 'low 0\noom 1\noom_kill 1\noom_group_kill 0\n', SERVER_KILLED],
  ['of version 1', 'oom_kill_disable 0\nunder_oom 0\noom_kill 2\n', SERVER_KILLED],
  ['that count none', 'oom 0\noom_kill 0\n', 1],
  ['that are missing', undefined, 1],
])('a server that was killed ran out of memory only if the kernel says so: counters %s', (_, text, code) => {
  const dir = mkdtempSync(join(tmpdir(), 'talaria-first-process-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const counters = [join(dir, 'missing'), join(dir, 'counters')];
  if (text !== undefined) writeFileSync(counters[1]!, text);
  const endsWith = (script: string) => {
    const [shell = '', ...words] = [...firstProcess(counters), '/bin/sh', '-c', script];
    return spawnSync(shell, words).status;
  };
  expect(endsWith('kill -KILL $$')).toBe(code);
  expect(endsWith('exit 3')).toBe(1);
});
