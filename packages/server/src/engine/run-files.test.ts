/** The files of a run whose container dies after its last call, on a container that is a process. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Slot } from '@talaria/sandbox';
import { ContainerBackend } from '@talaria/sandbox/containers';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { ProcessDriver } from '../../../sandbox/src/containers/testing/process-driver.ts';
import { Progress } from '../agent/progress.ts';
import type { Log } from '../basics/log.ts';
import { DirectoryBlobs } from '../blobs/directory-blobs.ts';
import { CheckpointMaker } from '../checkpoints/checkpoint-maker.ts';
import { LostSlots } from '../checkpoints/lost-slots.ts';
import type { AppendOptions } from '../journal/journal.ts';
import type { LogRecord, NewRecord } from '../journal/records.ts';
import { noReport } from '../telemetry/facts.ts';
import { FilesOfRun, type FilesOfRunOptions, type RunWorkspaceFiles } from './run-files.ts';

const RUN = 'run_1';
const log: Log = { debug() {}, info() {}, warn() {}, error() {} };

let driver: ProcessDriver;
let backend: ContainerBackend;
let slot: Slot;
let progress: Progress;
let records: NewRecord[];
let files: FilesOfRun;
let workspace: RunWorkspaceFiles;

beforeEach(async () => {
  const dir = await mkdtemp(join(tmpdir(), 'talaria-run-files-'));
  driver = new ProcessDriver({ dir: join(dir, 'driver'), workspacesOn: 'container' });
  backend = new ContainerBackend(driver, { workspacesDir: join(dir, 'workspaces'), warmSlots: 0 });
  onTestFinished(async () => {
    await backend.stop({ purge: true });
    await rm(dir, { recursive: true });
  });
  await backend.start();
  const blobs = new DirectoryBlobs({ path: join(dir, 'blobs') });
  const limits = { maxBytes: 1e9, maxFileBytes: 1e9, ignore: [] };
  const checkpoints = new CheckpointMaker(RUN, undefined, {
    workspaces: backend.workspaces,
    blobs,
    limits,
    log,
    report: noReport,
  });
  const lostSlots = new LostSlots({ release: () => backend.release(slot), checkpoints });
  workspace = {
    isUsedBy: () => true,
    prepare: async () => {},
    mount: async () => {},
    recover: async () => ({ kind: 'here' }),
    checkpoint: (...given) => checkpoints.make(...given),
    isReverted: () => backend.workspaces.isReverted(RUN),
    restoreLast: () => lostSlots.restore(),
    blobsOf: (checkpoint) => checkpoints.blobsOf(checkpoint),
  };
  [progress, records] = [new Progress(), []];
  const append = async (appended: NewRecord[], options: AppendOptions = {}) => {
    for (const blob of options.blobs ?? [])
      if ('bytes' in blob) await blobs.put(blob.blobId, one(blob.bytes));
    for (const record of appended) progress.apply({ ...record, pos: records.push(record) } as LogRecord);
  };
  const lastPos = () => records.length;
  files = new FilesOfRun({
    progress: () => progress,
    lastPos,
    append,
  } as Partial<FilesOfRunOptions> as FilesOfRunOptions);
  slot = await backend.acquire(RUN);
  await call('echo saved > note');
  await backend.release(slot);
  slot = await backend.acquire(RUN);
});

async function* one(bytes: Uint8Array) {
  yield bytes;
}

/** A call with an outcome on record. */
async function call(command: string): Promise<void> {
  await backend.executeBatch([[slot, 'bash', { command }]]);
  const pos = records.push({ event: 'run.noticed', private: { text: command } });
  progress.outcomes.push({ pos, seq: pos, tool: 'bash', toolCallId: `call_${pos}` });
}

async function loseContainer(): Promise<void> {
  await driver.crash(slot.containerId);
  await expect.poll(() => backend.workspaces.isReverted(RUN)).toBe(true);
}

async function note(): Promise<string> {
  const reader = await backend.workspaces.open(RUN);
  await using file = await reader!.open('note');
  return text(file.stream());
}

test('are those of the last checkpoint if that has all that its calls did, and nothing is recorded as missed', async () => {
  await call('echo new >> note');
  await files.keep(workspace);
  const before = [...records];
  await loseContainer();
  // As at a handover.
  await files.keep(workspace);
  expect(await note()).toBe('saved\n');
  await files.keepLast(workspace);
  expect(records).toEqual(before);
  expect(await note()).toBe('saved\nnew\n');
  expect(files.takeRestored()).toMatchObject({ kind: 'restored', lost: 'sandbox' });
  expect(files.takeRestored()).toEqual({ kind: 'here' });
});

test('are missed at the end if a call has ended since the last checkpoint', async () => {
  await call('echo new >> note');
  await files.keep(workspace);
  await call('echo newer >> note');
  await loseContainer();
  await files.keepLast(workspace);
  expect(records.at(-1)).toMatchObject({ event: 'workspace.checkpointed', private: { missed: 'failed' } });
  expect(await note()).toBe('saved\nnew\n');
});
