import { linkSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FILE_BYTES, findDiskUsage } from './disk-usage.ts';

function directory(): string {
  const dir = mkdtempSync(join(tmpdir(), 'talaria-limits-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}

test('files without content take space, each once however many names it has', async () => {
  const usage = await findDiskUsage();
  const dir = directory();
  for (let index = 0; index < 500; index++) writeFileSync(join(dir, `file${index}`), '');
  for (let index = 0; index < 500; index++) linkSync(join(dir, 'file0'), join(dir, `name${index}`));
  const used = await usage([dir]);
  expect(used).toBeGreaterThanOrEqual(500 * FILE_BYTES);
  expect(used).toBeLessThan(600 * FILE_BYTES);
});

test('files with content take only their blocks, in several directories together', async () => {
  const usage = await findDiskUsage();
  const dirs = [directory(), directory()];
  const before = await usage(dirs);
  for (const dir of dirs) writeFileSync(join(dir, 'file'), Buffer.alloc(1_000_000, 'x'));
  const grown = (await usage(dirs)) - before;
  expect(grown).toBeGreaterThanOrEqual(2_000_000 - 2 * FILE_BYTES);
  expect(grown).toBeLessThan(2_000_000 + 10 * FILE_BYTES);
});
