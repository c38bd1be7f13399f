/** What the journal knows about new runs without a read must be what a read would find. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  claimedRun,
  completed,
  counting,
  createRun,
  delta,
  LEASE_MS,
  names,
  newRun,
  TestClock,
} from '../testing/records.ts';
import { SqliteReader } from './reader.ts';
import { SqliteJournal } from './sqlite-journal.ts';
import { KEPT_THREADS } from './testing/kept-threads.ts';
import { type TempDirectory, tempDirectory } from './testing/temp-journal.ts';

const clock = new TestClock();
let directory: TempDirectory;
let path: string;
let journal: SqliteJournal;

beforeEach(async () => {
  directory = tempDirectory();
  path = join(directory.path, 'talaria.db');
  journal = await SqliteJournal.open({ path, now: clock.now, threads: KEPT_THREADS });
});

afterEach(async () => {
  await journal.close();
  directory[Symbol.dispose]();
});

it('the log that the first claim brings is the stored one', async () => {
  const { runId } = await claimedRun(journal, { request: { prompt: 'prüfe 🚀', session_named: false } });
  const brought = await journal.readLog(runId, -1);
  expect(names(brought)).toEqual(['run.accepted', 'run.claimed']);
  expect(await journal.readLog(runId, -1)).toEqual(brought);
});

it('the log has what was posted before the claim, and in the same commit after it', async () => {
  const runId = await createRun(journal);
  // Asked for in the same turn, so that they are one commit.
  const claiming = journal.claim('worker', LEASE_MS, 1);
  const stopping = journal.post(runId, { kind: 'stop' });
  await claiming;
  expect(names(await journal.readLog(runId, -1))).toContain('stop.requested');
  await stopping;
});

it('the log of a run that is claimed again before anybody has read it has both claims', async () => {
  const { runId } = await claimedRun(journal);
  clock.advance(LEASE_MS);
  await journal.claim('another', LEASE_MS, 1);
  expect(names(await journal.readLog(runId, -1))).toEqual(['run.accepted', 'run.claimed', 'run.claimed']);
});

it('a run that was handed back before anybody has read its log has that in it', async () => {
  const claim = await claimedRun(journal);
  await journal.release(claim);
  expect(names(await journal.readLog(claim.runId, -1))).toContain('run.released');
});

it('a run is at any time as it is stored', async () => {
  const stored = new SqliteReader(path);
  const statuses: (string | undefined)[] = [];
  const look = async (runId: string): Promise<void> => {
    const run = await journal.getRun(runId);
    expect(run).toEqual(stored.getRun(runId));
    statuses.push(run?.state.status);
  };
  const runId = await createRun(journal);
  await look(runId);
  const [claim] = await journal.claim('worker', LEASE_MS, 1);
  await look(runId);
  await journal.append(claim!, [delta()]);
  await look(runId);
  clock.advance(LEASE_MS);
  const [again] = await journal.claim('another', LEASE_MS, 1);
  await look(runId);
  await journal.append(again!, [completed()]);
  await look(runId);
  expect(statuses).toEqual(['started', 'running', 'running', 'running', 'completed']);
  stored.close();
});

it('the events of a new run are there from the first one on', async () => {
  const claim = await claimedRun(journal);
  expect(await journal.readEvents(claim.runId, -1, 10)).toEqual([]);
  await journal.append(claim, [delta()]);
  expect(names(await journal.readEvents(claim.runId, -1, 10))).toEqual(['message.delta']);
  await journal.append(claim, [completed()]);
  expect(names(await journal.readEvents(claim.runId, -1, 10))).toEqual(['message.delta', 'run.completed']);
});

it('a later read never returns an older state, also while the commit is not reported yet', async () => {
  const stored = new SqliteReader(path);
  for (const _ of counting(5)) {
    const claim = await claimedRun(journal);
    const beside = await claimedRun(journal);
    const stopped = await createRun(journal);
    let reported = false;
    // A large commit is visible for a while before it is reported: SQLite copies it into the database file.
    const appending = Promise.all([
      journal.append(claim, [delta(), completed()]),
      journal.post(stopped, { kind: 'stop' }),
      journal.append(beside, [delta('x'.repeat(4_000_000))]),
    ]).finally(() => {
      reported = true;
    });
    while (!reported) {
      for (const runId of [claim.runId, stopped]) {
        const { nextSeq } = stored.getRun(runId)!;
        expect((await journal.getRun(runId))!.nextSeq).toBeGreaterThanOrEqual(nextSeq);
        expect((await journal.readEvents(runId, -1, 10)).length).toBeGreaterThanOrEqual(nextSeq);
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    await appending;
    await journal.append(beside, [completed()]);
  }
  stored.close();
});

it('a run that was refused is not there', async () => {
  const run = newRun();
  expect(await journal.createRun(run, { maxQueued: 0, ownerShare: 0 })).toMatchObject({ kind: 'queue_full' });
  await expect(journal.readEvents(run.runId, -1, 10)).rejects.toMatchObject({ code: 'run_not_found' });
});

it('the events of a run that was stopped before anybody claimed it are there', async () => {
  const runId = await createRun(journal);
  await journal.post(runId, { kind: 'stop' });
  expect(names(await journal.readEvents(runId, -1, 10))).toContain('run.cancelled');
});
