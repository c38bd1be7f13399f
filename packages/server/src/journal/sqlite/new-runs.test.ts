/** What the journal knows about new runs without a read must be what a read would find. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { JournalFixture } from '../journal.contract.ts';
import type { Journal } from '../journal.ts';
import { claimedRun, completed, createRun, delta, LEASE_MS, names, TestClock } from '../testing/records.ts';
import { openTempJournal } from './testing/temp-journal.ts';

const clock = new TestClock();
let fixture: JournalFixture;
let journal: Journal;

beforeEach(async () => {
  fixture = await openTempJournal({ now: clock.now });
  journal = fixture.journal;
});

afterEach(() => fixture.dispose());

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

it('the events of a new run are there from the first one on', async () => {
  const claim = await claimedRun(journal);
  expect(await journal.readEvents(claim.runId, -1, 10)).toEqual([]);
  await journal.append(claim, [delta()]);
  expect(names(await journal.readEvents(claim.runId, -1, 10))).toEqual(['message.delta']);
  await journal.append(claim, [completed()]);
  expect(names(await journal.readEvents(claim.runId, -1, 10))).toEqual(['message.delta', 'run.completed']);
});

it('the events of a run that was stopped before anybody claimed it are there', async () => {
  const runId = await createRun(journal);
  await journal.post(runId, { kind: 'stop' });
  expect(names(await journal.readEvents(runId, -1, 10))).toContain('run.cancelled');
});
