/** A checkpoint is read like the workspace it was taken of. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Slot } from '@talaria/sandbox';
import { LocalBackend } from '@talaria/sandbox/local';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  callsOf,
  describeWorkspaceReader,
  readThrough,
} from '../../../sandbox/src/contract/workspace-reader.contract.ts';
import { CheckpointReader } from './checkpoint-reader.ts';
import { StoredTrees } from './testing/stored-trees.ts';

const TRAJECTORY = 'the run';

let directory: string;
let backend: LocalBackend;
let slot: Slot;
let trees: StoredTrees;
/** A capture takes a while: the files are read again only after they have changed. */
let captured: Promise<CheckpointReader> | undefined;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'talaria-checkpoint-test-'));
  backend = new LocalBackend({ workspacesDir: directory, isolation: 'none' });
  await backend.start();
  trees = new StoredTrees();
});
afterAll(async () => {
  trees[Symbol.dispose]();
  await backend.stop({ purge: true });
  await rm(directory, { recursive: true, force: true });
});
beforeEach(async () => {
  slot = await backend.acquire(TRAJECTORY);
});
afterEach(() => backend.release(slot, { resetWorkspace: true }));

const files = readThrough({
  async run(command) {
    captured = undefined;
    const [result] = await backend.executeBatch([[slot, 'bash', { command }]]);
    expect(result, result?.error).toMatchObject({ success: true });
  },
  reader() {
    captured ??= trees.capture(backend.workspaces, TRAJECTORY).then((taken) => new CheckpointReader(taken));
    return captured;
  },
  workspaceDir: () => '/workspace',
  hasSpecialFiles: false,
  // The backends show in `npm test` how archives are made and paths are checked.
  sameEverywhere: { tags: ['soak'] },
});
beforeEach(() => {
  captured = undefined;
});

describeWorkspaceReader(files);

describe('what a checkpoint does not hold', () => {
  test.each([
    ['a FIFO', 'mkfifo x', 'x', /^x was not kept in this checkpoint: it was a FIFO/],
    ['a large file', 'truncate -s 2000 x', 'x', /: it was too large\.$/],
    [
      'a file in a directory that is ignored',
      'mkdir -p a/ignored; touch a/ignored/x',
      'a/ignored/x',
      /a rule/,
    ],
  ])('%s is named as not kept, with the reason, by every call', async (_, command, path, message) => {
    await files.run(command);
    const limits = { maxFileBytes: 1000, ignore: ['ignored'] };
    const reader = new CheckpointReader(await trees.capture(backend.workspaces, TRAJECTORY, { limits }));
    const calls = callsOf(readThrough({ ...files, reader: async () => reader }));
    for (const [name, call] of calls) {
      await expect(call(path), name).rejects.toMatchObject({ code: 'artifact_not_found', message });
    }
  });

  test('a path may be one of those that are only counted', async () => {
    const reader = new CheckpointReader(
      await trees.write([{ path: 'a', content: 'x' }], { omitted: [{ path: 'b', reason: 'too_many' }] }),
    );
    await expect(reader.open('c')).rejects.toMatchObject({
      code: 'artifact_not_found',
      message: 'c does not exist in this checkpoint, or was not kept in it.',
    });
    const whole = new CheckpointReader(await trees.write([]));
    await expect(whole.open('c')).rejects.toMatchObject({ message: 'c does not exist in this checkpoint.' });
  });
});
