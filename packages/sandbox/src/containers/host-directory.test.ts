import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { HostDirectory } from './host-directory.ts';

test('instances that end meanwhile disturb neither a sweep nor their own end', async () => {
  const base = await mkdtemp(join(tmpdir(), 'talaria-host-test-'));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  const living = await HostDirectory.open(base, 'process');
  const comeAndGo = async () => {
    for (let i = 0; i < 50; i++) await (await HostDirectory.open(base, 'process')).close();
  };
  let left = 3;
  const others = Array.from({ length: left }, () => comeAndGo().finally(() => left--));
  const sweep = async () => {
    while (left > 0) for (const instance of await living.abandoned()) await instance.remove();
  };
  const outcomes = await Promise.allSettled([sweep(), ...others]);
  expect(outcomes).toEqual(outcomes.map(() => ({ status: 'fulfilled', value: undefined })));
  expect(await living.abandoned()).toEqual([]);
  await living.close();
});
