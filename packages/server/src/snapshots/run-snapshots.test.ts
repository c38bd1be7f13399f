/** On a real backend, with a store in memory that counts calls. The journal's contract tests the store itself. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Slot } from '@talaria/sandbox';
import { LocalBackend } from '@talaria/sandbox/local';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Log } from '../basics/log.ts';
import { type Lease, LeaseLostError } from '../journal/journal.ts';
import type { StoredSnapshot, WorkspaceSnapshots } from '../journal/workspace-snapshots.ts';
import type { Report } from '../telemetry/facts.ts';
import { RunSnapshots } from './run-snapshots.ts';

const MAX_BYTES = 10_000;

let dir: string;
let backend: LocalBackend;
let slot: Slot;
let lease: Lease;
let store: CountingStore;
let said: string[];
let outcomes: string[];
let count = 0;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'talaria-snapshots-'));
  backend = new LocalBackend({ workspacesDir: dir, isolation: 'none' });
  await backend.start();
});
afterAll(async () => {
  await backend.stop({ purge: true });
  rmSync(dir, { recursive: true });
});
beforeEach(async () => {
  lease = { runId: `run_${count++}`, epoch: 1 };
  store = new CountingStore();
  said = [];
  outcomes = [];
  slot = await backend.acquire(lease.runId);
});

class CountingStore implements WorkspaceSnapshots {
  stored: (StoredSnapshot & { content: Buffer }) | undefined;
  stores = 0;
  failure: Error | undefined;

  async store(_: Lease, pos: number, snapshot: AsyncIterable<Uint8Array>): Promise<StoredSnapshot> {
    if (this.failure) throw this.failure;
    const chunks: Uint8Array[] = [];
    for await (const chunk of snapshot) chunks.push(chunk);
    const content = Buffer.concat(chunks);
    this.stored = { snapshotId: String(this.stores++), pos, bytes: content.length, content };
    return this.stored;
  }

  async confirm(_: Lease, snapshotId: string, pos: number): Promise<boolean> {
    if (this.stored?.snapshotId !== snapshotId) return false;
    this.stored.pos = pos;
    return true;
  }

  async find() {
    return this.stored;
  }

  async *read() {
    yield this.stored!.content;
  }

  async remove() {
    this.stored = undefined;
  }
}

function snapshotsOf(run = lease): RunSnapshots {
  const note = (_: object, text: string) => said.push(text);
  const report: Report = (fact) => {
    if (fact.fact === 'workspace.snapshot') outcomes.push(fact.outcome);
  };
  const log = { info: () => {}, warn: note, error: note } as unknown as Log;
  return new RunSnapshots(run, { backend, snapshots: store, maxBytes: MAX_BYTES, log, report });
}

async function bash(command: string): Promise<string> {
  const [result] = await backend.executeBatch([[slot, 'bash', { command }]]);
  return result!.output;
}

test('unchanged files are not stored again, only their position is', async () => {
  const snapshots = snapshotsOf();
  await bash('echo one > file');
  await snapshots.keep(3);
  expect(store).toMatchObject({ stores: 1, stored: { pos: 3 } });
  await bash('cat file');
  await snapshots.keep(8);
  expect(store).toMatchObject({ stores: 1, stored: { pos: 8 } });
  await bash('echo two > file');
  await snapshots.keep(12);
  expect(store).toMatchObject({ stores: 2, stored: { pos: 12 } });
  expect(outcomes).toEqual(['stored', 'unchanged', 'stored']);
});

test('a run without a workspace has nothing to save', async () => {
  await snapshotsOf({ runId: 'run_none', epoch: 1 }).keep(1);
  expect(store.stores).toBe(0);
  expect(await snapshotsOf().restore()).toBeUndefined();
});

test('the next owner gets the files, with their position', async () => {
  await bash('echo one > file; mkfifo pipe');
  await snapshotsOf().keep(5);
  const next = { runId: `${lease.runId}_elsewhere`, epoch: 2 };
  expect(await snapshotsOf(next).restore()).toEqual({ pos: 5, omitted: 1 });
  slot = await backend.acquire(next.runId);
  expect(await bash('ls; cat file')).toBe('file\none\n');
});

test('a workspace that is too large leaves the snapshot before, and is logged once', async () => {
  const snapshots = snapshotsOf();
  await bash('echo one > file');
  await snapshots.keep(3);
  await bash(`head -c ${MAX_BYTES} /dev/zero > large`);
  await snapshots.keep(5);
  await snapshots.keep(7);
  expect(store).toMatchObject({ stores: 1, stored: { pos: 3 } });
  expect(said).toEqual([expect.stringContaining('too large')]);
  expect(outcomes).toEqual(['stored', 'too_large', 'too_large']);
  await bash('rm large; echo two > file');
  await snapshots.keep(9);
  expect(store).toMatchObject({ stores: 2, stored: { pos: 9 } });
});

test('a failure is logged and fails nothing, except the loss of the lease', async () => {
  const snapshots = snapshotsOf();
  await bash('echo one > file');
  store.failure = new Error('no room');
  await snapshots.keep(3);
  expect(said).toEqual([expect.stringContaining('could not be kept')]);
  store.failure = new LeaseLostError(lease.runId);
  await expect(snapshots.keep(3)).rejects.toThrow(LeaseLostError);
});

test('an aborted snapshot is not logged as failed', async () => {
  await bash('echo one > file');
  const reason = new Error('stopped');
  await expect(snapshotsOf().keep(3, AbortSignal.abort(reason))).rejects.toBe(reason);
  expect(said).toEqual([]);
});

test('a damaged snapshot counts as none, and is logged', async () => {
  await bash('echo one > file');
  await snapshotsOf().keep(3);
  store.stored!.content = store.stored!.content.subarray(1);
  const next = { runId: `${lease.runId}_elsewhere`, epoch: 2 };
  expect(await snapshotsOf(next).restore()).toBeUndefined();
  expect(said).toEqual([expect.stringContaining('could not be restored')]);
  expect(outcomes).toEqual(['stored', 'unusable']);
  expect(await backend.openWorkspace(next.runId)).toBeUndefined();
});
