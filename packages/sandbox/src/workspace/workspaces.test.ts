import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Workspaces } from './workspaces.ts';
import { Staging } from './writing/staging.ts';

/** No process began at the start of the machine. */
const DEAD = '1-0-left';

let base: string;

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'talaria-workspaces-'));
});
afterEach(() => rm(base, { recursive: true, force: true }));

test('a start beside a living backend deletes nothing that is on its way into a workspace', async () => {
  const living = await Workspaces.open(base);
  await mkdir(living.rootDir);
  await using staged = await new Staging(living.stagingDir).file(Readable.from([Buffer.from('sent')]), {});
  await living.replace('t-run', async (dir) => {
    await writeFile(join(dir, 'restored'), 'whole');
    await (await Workspaces.open(base)).close();
  });
  expect(await readFile(join(living.at('t-run').dir, 'restored'), 'utf8')).toBe('whole');
  expect(await readFile(staged.path, 'utf8')).toBe('sent');
  expect(existsSync(living.rootDir)).toBe(true);
});

test('a start deletes what a dead process had on its way', async () => {
  const { stagingDir, rootDir } = await Workspaces.open(base);
  await mkdir(join(stagingDir, DEAD));
  await writeFile(join(stagingDir, DEAD, 'restored'), 'half');
  await writeFile(join(stagingDir, `${DEAD} too`), 'sent');
  await mkdir(join(rootDir, '..', `root-${DEAD}`));
  await Workspaces.open(base);
  expect(await readdir(stagingDir)).toEqual([]);
  expect(existsSync(join(rootDir, '..', `root-${DEAD}`))).toBe(false);
});
