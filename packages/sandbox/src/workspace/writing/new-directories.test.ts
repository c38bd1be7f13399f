/** What commands see while the server makes files and directories beside them. */
import { once } from 'node:events';
import { chownSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { replaceFile } from './staged-file.ts';

const OWNER = 2_000_000;
const DIRECTORIES = 100;

/** Looks at each directory from the moment at which it is there. */
const WATCHER = `
const { lstatSync } = require('node:fs');
const { parentPort, workerData: { root, count } } = require('node:worker_threads');
parentPort.postMessage('looks');
const owners = new Set();
for (let i = 0; i < count; ) {
  const found = lstatSync(root + '/d' + i, { throwIfNoEntry: false });
  if (found === undefined) continue;
  owners.add(found.uid);
  i += 1;
}
parentPort.postMessage([...owners]);
`;

let root: string;
let stagingDir: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'talaria-path-'));
  stagingDir = await mkdtemp(join(tmpdir(), 'talaria-staging-'));
});
afterEach(async () => {
  for (const dir of [root, stagingDir]) await rm(dir, { recursive: true });
});

const isRoot = process.getuid?.() === 0;

test.skipIf(!isRoot)(
  `a new directory belongs to the user of the commands as soon as it is there${isRoot ? '' : ' (skipped: only root gives directories away)'}`,
  async () => {
    chownSync(root, OWNER, OWNER);
    const watcher = new Worker(WATCHER, { eval: true, workerData: { root, count: DIRECTORIES } });
    await once(watcher, 'message');
    const owners = once(watcher, 'message');
    for (let i = 0; i < DIRECTORIES; i++) await replaceFile(root, [`d${i}`, 'file'], 'text', { stagingDir });
    expect(await owners).toEqual([[OWNER]]);
    await watcher.terminate();
  },
);

test('files that are written into the same new directory at the same time are all there', async () => {
  const names = Array.from({ length: 20 }, (_, i) => `f${i}`);
  await Promise.all(names.map((name) => replaceFile(root, ['a', 'b', name], name, { stagingDir })));
  const found = await readdir(join(root, 'a', 'b'));
  expect(found.sort()).toEqual(names.sort());
  expect([await readdir(root), await readdir(stagingDir)]).toEqual([['a'], []]);
  expect(await readFile(join(root, 'a', 'b', 'f7'), 'utf8')).toBe('f7');
});
