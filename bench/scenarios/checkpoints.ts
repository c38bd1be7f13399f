/**
 * Checkpoints: how long a run waits after a step that changed nothing, some files or all files of a large workspace, and after one in
 * a small workspace; and how long another run waits that begins with these files.
 *
 * Fair because the floors do the part that cannot be left out: an `lstat` of every file in the same process, and `cp -a` of the same
 * tree. Files and blobs are on the same disk. A checkpoint takes until its record is appended.
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LocalBackend } from '@talaria/sandbox/local';
import {
  type CheckpointLimits,
  CheckpointMaker,
} from '../../packages/server/src/checkpoints/checkpoint-maker.ts';
import {
  type Checkpoint,
  type CheckpointRecord,
  isMissed,
} from '../../packages/server/src/journal/checkpoints.ts';
import { SqliteJournal } from '../../packages/server/src/journal/sqlite/sqlite-journal.ts';
import { claimedRun } from '../../packages/server/src/journal/testing/records.ts';
import { noReport } from '../../packages/server/src/telemetry/facts.ts';
import type { Row } from '../rows.ts';
import type { Stage } from '../stage.ts';
import { alternate } from '../statistics.ts';

const ROUNDS = 7;
const FILES = 10_000;
const FILE_BYTES = 2_000;
const CHANGED = 10;
const SMALL_STEPS = 20;
const MEGABYTE = 1_000_000;
const LIMITS: CheckpointLimits = { maxBytes: 1e12, maxFileBytes: 1e12, ignore: [] };
const log = { debug() {}, info() {}, warn() {}, error() {} };

export async function checkpoints(stage: Stage): Promise<Row[]> {
  await using opened = new AsyncDisposableStack();
  const directory = stage.directory();
  const workspacesDir = join(directory, 'workspaces');
  const backend = new LocalBackend({ workspacesDir });
  await backend.start();
  opened.defer(() => backend.stop());
  const journal = await SqliteJournal.open({ path: join(directory, 'talaria.db') });
  opened.defer(() => journal.close());
  const { blobs } = journal;
  const made = (runId: string, last?: Checkpoint) =>
    new CheckpointMaker(runId, last, {
      workspaces: backend.workspaces,
      blobs,
      limits: LIMITS,
      log,
      report: noReport,
    });
  const workspace = async (runId: string): Promise<string> => {
    await backend.release(await backend.acquire(runId));
    return join(workspacesDir, `t-${runId}`);
  };

  let upto = 0;
  /** Makes and records the checkpoints of a new run, one with each call. */
  const openRun = async () => {
    const claim = await claimedRun(journal);
    const maker = made(claim.runId);
    const step = async (): Promise<Checkpoint> => {
      const { record, blobs } = (await maker.make(upto++, 'worked'))!;
      await journal.append(claim, [{ event: 'workspace.checkpointed', private: record }], { blobs });
      return kept(record);
    };
    return { dir: await workspace(claim.runId), step };
  };

  const { dir: large, step: ofLarge } = await openRun();
  for (let i = 0; i < FILES; i++) {
    const parent = join(large, `directory-${i % 100}`);
    mkdirSync(parent, { recursive: true });
    writeFileSync(join(parent, `file-${i}`), randomBytes(FILE_BYTES));
  }
  const first = await ofLarge();
  const change = (count: number): void => {
    for (let i = 0; i < count; i++) {
      writeFileSync(join(large, `directory-${i % 100}`, `file-${i}`), randomBytes(FILE_BYTES));
    }
  };
  const looking = await alternate(ROUNDS, {
    floor: () => duration(async () => lstatAll(large)),
    unchanged: () => duration(ofLarge),
    changed: () => {
      change(CHANGED);
      return duration(ofLarge);
    },
  });

  const { dir: small, step: ofSmall } = await openRun();
  const steps = await alternate(ROUNDS, {
    small: async () => {
      let total = 0;
      for (let i = 0; i < SMALL_STEPS; i++) {
        writeFileSync(join(small, `file-${i % 5}`), randomBytes(200));
        total += await duration(ofSmall);
      }
      return total / SMALL_STEPS;
    },
  });

  let copies = 0;
  const restoring = await alternate(ROUNDS, {
    floor: () => rate(async () => execFileSync('cp', ['-a', large, join(directory, `copy-${copies++}`)])),
    ours: () => rate(() => made(`copy-${copies++}`).restore(first)),
  });
  const note = `${FILES} files of ${FILE_BYTES} bytes`;
  return [
    {
      what: 'checkpoint, nothing changed',
      unit: 'ms',
      better: 'less',
      ours: looking.unchanged,
      floor: { name: 'lstat of every file', rounds: looking.floor },
      aim: { of: 'ratio', atMost: 2 },
      note,
    },
    {
      what: `checkpoint, ${CHANGED} files changed: added time`,
      unit: 'ms',
      better: 'less',
      ours: looking.changed.map((ms, i) => ms - looking.unchanged[i]!),
      aim: { of: 'ours', atMost: 5 },
      note,
    },
    {
      what: 'checkpoint of a small workspace',
      unit: 'ms',
      better: 'less',
      ours: steps.small,
      aim: { of: 'ours', atMost: 3 },
      note: '5 files, one of them changed',
    },
    {
      what: 'checkpoint, restored',
      unit: 'MB/s',
      better: 'more',
      ours: restoring.ours,
      floor: { name: 'cp -a', rounds: restoring.floor },
      aim: { of: 'ratio', atLeast: 0.5 },
      note,
    },
  ];
}

function kept(record: CheckpointRecord): Checkpoint {
  if (isMissed(record)) throw new Error('The checkpoint was not made');
  return record;
}

function lstatAll(directory: string): void {
  for (const { name, parentPath } of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    lstatSync(join(parentPath, name));
  }
}

async function duration(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** In megabytes of content a second. */
async function rate(work: () => Promise<unknown>): Promise<number> {
  return (FILES * FILE_BYTES) / MEGABYTE / ((await duration(work)) / 1000);
}
