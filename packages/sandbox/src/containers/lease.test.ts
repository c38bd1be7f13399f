import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { holdLease, isLeaseHeld } from './lease.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'talaria-lease-'));
});
afterEach(() => rm(dir, { recursive: true }));

test('a lease is held until it is released, wherever its directory moves', async () => {
  const [here, there] = [join(dir, 'here'), join(dir, 'there')];
  await mkdir(here);
  const lease = await holdLease(join(here, 'lease'));
  expect(await isLeaseHeld(join(here, 'lease'))).toBe(true);
  await rename(here, there);
  expect(await isLeaseHeld(join(here, 'lease'))).toBe(false);
  expect(await isLeaseHeld(join(there, 'lease'))).toBe(true);
  await lease.release();
  expect(await isLeaseHeld(join(there, 'lease'))).toBe(false);
});

test('a lease that was never held, or is something else, is not held', async () => {
  await writeFile(join(dir, 'file'), '');
  expect(await isLeaseHeld(join(dir, 'missing'))).toBe(false);
  expect(await isLeaseHeld(join(dir, 'no/such/directory'))).toBe(false);
  expect(await isLeaseHeld(join(dir, 'file'))).toBe(false);
});

test('works with a path longer than a socket may have', async () => {
  const deep = join(dir, 'x'.repeat(100), 'y'.repeat(100));
  await mkdir(deep, { recursive: true });
  const lease = await holdLease(join(deep, 'lease'));
  expect(await isLeaseHeld(join(deep, 'lease'))).toBe(true);
  await lease.release();
});

test('a stopped process still holds it, a killed one does not', async () => {
  const path = join(dir, 'lease');
  const module = new URL('./lease.ts', import.meta.url).pathname;
  const program = `
    import { holdLease } from ${JSON.stringify(module)};
    await holdLease(${JSON.stringify(path)});
    console.log('held');
    setInterval(() => {}, 1000);
  `;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  child.kill('SIGSTOP');
  for (let look = 0; look < 20; look++) expect(await isLeaseHeld(path)).toBe(true);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await isLeaseHeld(path)).toBe(false);
});
