/** How long ended runs are kept: their own retention, keeping, what they take on a disk, and who goes first. */
import { expect, it } from 'vitest';
import type { Subject } from '../journal.contract.ts';
import type { NewRun } from '../journal.ts';
import { SETTLED_MS } from '../kept-runs.ts';
import {
  checkpointed,
  checkpointOf,
  claimedRun,
  completed,
  createRun,
  delta,
  evictExpired,
  finishedRun,
  LEASE_MS,
} from '../testing/records.ts';
import { waitFor } from '../testing/wait.ts';

const HOUR_MS = 3600 * 1000;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;
const SERVER = 'server_a';
const NOT_FOUND = { code: 'run_not_found' };

export function keptRunsContract(subject: Subject): void {
  const { itTimed } = subject;
  const due = (retentionMs = WEEK_MS) => subject.journal.kept.expired(retentionMs, 100);
  const keep = (runId: string, kept = true, retentionMs = WEEK_MS) =>
    subject.journal.kept.keep(runId, kept, retentionMs);
  const shown = async (runId: string) => {
    const { kept, expiresAt, evictedFor, updatedAt } = (await subject.journal.heads.get(runId))!;
    return { kept, expiresAt, evictedFor, updatedAt };
  };
  /** An ended run whose files are on the server. */
  async function runWithFiles(bytes?: number, overrides: Partial<NewRun> = {}): Promise<string> {
    const { journal } = subject;
    const claim = await claimedRun(journal, overrides);
    await journal.peers?.workspaces.place(claim, SERVER);
    await journal.append(claim, [completed()]);
    if (bytes !== undefined) await journal.kept.measured(SERVER, [{ runId: claim.runId, bytes }]);
    return claim.runId;
  }

  itTimed('a run is due when its own retention is over, whatever that of the server is', async () => {
    const { journal, clock } = subject;
    const short = await finishedRun(journal, { retentionMs: HOUR_MS });
    const long = await finishedRun(journal, { retentionMs: 2 * WEEK_MS });
    const usual = await finishedRun(journal);
    expect((await shown(short)).expiresAt).toBe(clock.now() + HOUR_MS);
    expect((await shown(usual)).expiresAt).toBeNull();
    clock.advance(HOUR_MS - 1);
    expect(await due()).toEqual([]);
    clock.advance(1);
    expect(await due()).toEqual([short]);
    clock.advance(WEEK_MS);
    expect((await due()).sort()).toEqual([short, usual].sort());
    expect(await due(100 * WEEK_MS)).toEqual([short]);
    clock.advance(WEEK_MS);
    expect((await due()).sort()).toEqual([short, usual, long].sort());
  });

  itTimed('a kept run is not due, and is not evicted even when it is named', async () => {
    const { journal, clock } = subject;
    const kept = await finishedRun(journal, {}, delta(), completed('out'));
    const own = await finishedRun(journal, { retentionMs: HOUR_MS });
    await keep(kept);
    await keep(own);
    expect(await shown(kept)).toMatchObject({ kept: true });
    clock.advance(100 * WEEK_MS);
    expect(await due()).toEqual([]);
    await journal.evict([kept, own], { headRetentionMs: 0 });
    const reopened = await subject.reopen();
    expect((await reopened.getRun(kept))?.state.output).toBe('out');
    expect(await reopened.readEvents(kept, -1, 10)).toHaveLength(2);
    expect(await reopened.getRun(own)).toMatchObject({ kept: true });
  });

  itTimed('an unfinished run can be kept, and stays so when it ends', async () => {
    const { journal, clock } = subject;
    const waiting = await createRun(journal);
    await keep(waiting);
    expect(await journal.getRun(waiting)).toMatchObject({ kept: true });
    const [claim] = await journal.claim('worker', LEASE_MS, 1);
    expect(claim).toMatchObject({ runId: waiting, run: { kept: true } });
    await journal.append(claim!, [completed()]);
    clock.advance(2 * WEEK_MS);
    expect(await due()).toEqual([]);
    const other = await createRun(journal);
    await keep(other);
    await keep(other, false);
    expect(await journal.getRun(other)).toMatchObject({ kept: false, expiresAt: null });
  });

  itTimed('a run that is kept no longer has its usual time, and a day at least', async () => {
    const { journal, clock } = subject;
    const [early, late] = [await finishedRun(journal), await finishedRun(journal)];
    for (const runId of [early, late]) await keep(runId);
    clock.advance(DAY_MS);
    await keep(early, false);
    expect((await shown(early)).expiresAt).toBeNull();
    clock.advance(3 * WEEK_MS);
    await keep(late, false);
    expect((await shown(late)).expiresAt).toBe(clock.now() + DAY_MS);
    expect(await due()).toEqual([early]);
    clock.advance(DAY_MS - 1);
    // To say it twice changes nothing.
    await keep(late, false);
    expect(await due()).toEqual([early]);
    clock.advance(1);
    expect((await due()).sort()).toEqual([early, late].sort());
  });

  itTimed('where runs are kept for less than a day, that is what a run has left', async () => {
    const { journal, clock } = subject;
    const own = await finishedRun(journal, { retentionMs: HOUR_MS });
    const usual = await finishedRun(journal);
    for (const runId of [own, usual]) await keep(runId, true, 2 * HOUR_MS);
    clock.advance(WEEK_MS);
    for (const runId of [own, usual]) await keep(runId, false, 2 * HOUR_MS);
    clock.advance(HOUR_MS);
    expect(await due(2 * HOUR_MS)).toEqual([own]);
    clock.advance(HOUR_MS);
    expect((await due(2 * HOUR_MS)).sort()).toEqual([own, usual].sort());
  });

  itTimed('what is due cannot be kept any more: its files may be going', async () => {
    const { journal, clock } = subject;
    const runId = await finishedRun(journal);
    const own = await finishedRun(journal, { retentionMs: HOUR_MS });
    clock.advance(WEEK_MS);
    for (const each of [runId, own]) {
      await expect(keep(each)).rejects.toMatchObject(NOT_FOUND);
      await expect(keep(each, false)).rejects.toMatchObject(NOT_FOUND);
    }
    expect((await due()).sort()).toEqual([runId, own].sort());
    // A longer retention from now on makes the one without its own good again.
    await keep(runId, true, 2 * WEEK_MS);
    expect(await due(WEEK_MS)).toEqual([own]);
    await evictExpired(journal, WEEK_MS, 10);
    await expect(keep(own)).rejects.toMatchObject(NOT_FOUND);
    await expect(keep('run_unknown')).rejects.toMatchObject(NOT_FOUND);
  });

  it('keeping is a change, for whoever watches and for whoever comes back, and leaves the time of the end alone', async () => {
    const { journal } = subject;
    const [ended, waiting] = [await finishedRun(journal), await createRun(journal)];
    const before = await shown(ended);
    const place = await journal.changes.now();
    let woken = 0;
    const unwatch = journal.changes.watch(() => woken++);
    await keep(ended);
    await keep(waiting);
    await waitFor(() => expect(woken).toBeGreaterThan(0));
    unwatch();
    const { changed, place: next } = await journal.changes.read(['ada'], place);
    const runs = await journal.changes.runs(
      changed.map(({ ordinal }) => ordinal),
      1_000_000,
    );
    expect(runs.map(({ runId, kept }) => ({ runId, kept }))).toEqual([
      { runId: ended, kept: true },
      { runId: waiting, kept: true },
    ]);
    await keep(ended);
    expect((await journal.changes.read(['ada'], next)).changed).toEqual([]);
    expect(await shown(ended)).toEqual({ ...before, kept: true });
    expect((await journal.listRuns({ owner: 'ada', limit: 10 })).runs.map(({ kept }) => kept)).toEqual([
      true,
      true,
    ]);
  });

  itTimed('files are measured once, some time after the end of their run', async () => {
    const { journal, clock } = subject;
    const claim = await claimedRun(journal);
    await journal.peers?.workspaces.place(claim, SERVER);
    expect(await journal.kept.unmeasured(SERVER, 10)).toEqual([]);
    await journal.append(claim, [completed()]);
    const others = [await runWithFiles(), await runWithFiles()];
    expect(await journal.kept.unmeasured(SERVER, 10)).toEqual([]);
    clock.advance(SETTLED_MS);
    expect((await journal.kept.unmeasured(SERVER, 10)).sort()).toEqual([claim.runId, ...others].sort());
    expect(await journal.kept.unmeasured(SERVER, 2)).toHaveLength(2);
    const before = await journal.kept.used(SERVER);
    await journal.kept.measured(SERVER, [
      { runId: claim.runId, bytes: 5_000_000_000 },
      { runId: others[0]!, bytes: 70_000 },
      { runId: 'run_unknown', bytes: 1 },
    ]);
    const used = await journal.kept.used(SERVER);
    expect(used - before).toBeGreaterThanOrEqual(5_000_070_000);
    expect(used - before).toBeLessThan(5_000_080_000);
    const reopened = await subject.reopen();
    expect(await reopened.kept.unmeasured(SERVER, 10)).toEqual([others[1]]);
    expect(await reopened.kept.used(SERVER)).toBe(used);
    await evictExpired(reopened, 0, 10);
    expect(await reopened.kept.used(SERVER)).toBe(0);
  });

  itTimed('files that have changed are measured again, and count by the new measure', async () => {
    const { journal, clock } = subject;
    const changed = await runWithFiles(1_000_000);
    clock.advance(1_000);
    const other = await runWithFiles(2_000_000);
    clock.advance(SETTLED_MS);
    const before = await journal.kept.used(SERVER);
    await journal.kept.outdated(SERVER, changed);
    await journal.kept.outdated(SERVER, 'run_unknown');
    expect(await journal.kept.unmeasured(SERVER, 10)).toEqual([changed]);
    await journal.kept.measured(SERVER, [{ runId: changed, bytes: 5_000_000 }]);
    expect(await journal.kept.used(SERVER)).toBe(before + 4_000_000);
    expect(await journal.kept.giveUp(SERVER, 5_000_000, 10)).toBe(1);
    expect(await due()).toEqual([changed]);
    await journal.kept.outdated(SERVER, changed);
    await journal.kept.outdated(SERVER, other);
    await evictExpired(journal, 0, 10);
    expect(await journal.kept.used(SERVER)).toBe(0);
  });

  it('what a run has in the store counts where the store is on the same disk', async () => {
    const { journal } = subject;
    const text = 'x'.repeat(100_000);
    const claim = await claimedRun(journal);
    await journal.append(claim, [
      checkpointed({ ...checkpointOf(0), stored_bytes: 3_000_000 }),
      checkpointed({ ...checkpointOf(1), stored_bytes: 4_000_000 }),
      delta(text),
      completed(text),
    ]);
    await journal.kept.measured(SERVER, [{ runId: claim.runId, bytes: 0 }]);
    const used = await journal.kept.used(SERVER);
    if (journal.peers !== undefined) expect(used).toBe(0);
    else {
      expect(used).toBeGreaterThan(4_200_000);
      expect(used).toBeLessThan(4_400_000);
    }
  });

  itTimed(
    'for room the runs that ended first go, as many as it takes, and never one that is kept',
    async () => {
      const { journal, clock } = subject;
      const runs: string[] = [];
      // Its own retention makes none go earlier or later.
      for (const retentionMs of [WEEK_MS, undefined, HOUR_MS, undefined, undefined]) {
        runs.push(await runWithFiles(10_000_000, { retentionMs }));
        clock.advance(1_000);
      }
      await keep(runs[1]!);
      await claimedRun(journal);
      const before = await journal.kept.used(SERVER);
      expect(await journal.kept.giveUp(SERVER, 15_000_000, 10)).toBe(2);
      // They count no more, so that a workspace that cannot be deleted makes no other run go.
      expect(before - (await journal.kept.used(SERVER))).toBeGreaterThanOrEqual(20_000_000);
      const reopened = await subject.reopen();
      expect((await reopened.kept.expired(WEEK_MS, 10)).sort()).toEqual([runs[0], runs[2]].sort());
      await expect(reopened.kept.keep(runs[0]!, true, WEEK_MS)).rejects.toMatchObject(NOT_FOUND);
      expect(await evictExpired(reopened, WEEK_MS, 10)).toHaveLength(2);
      expect((await reopened.listRuns({ owner: 'ada', limit: 10 })).runs).toMatchObject([
        {},
        { runId: runs[4], evictedFor: null },
        { runId: runs[3] },
        { runId: runs[2], evicted: true, evictedFor: 'room' },
        { runId: runs[1], kept: true },
        { runId: runs[0], evicted: true, evictedFor: 'room' },
      ]);
      expect(await reopened.kept.giveUp(SERVER, 100_000_000, 1)).toBe(1);
      expect(await reopened.kept.giveUp(SERVER, 100_000_000, 10)).toBe(1);
      expect(await reopened.kept.giveUp(SERVER, 100_000_000, 10)).toBe(0);
      await evictExpired(reopened, WEEK_MS, 10);
      expect(await reopened.getRun(runs[1]!)).toMatchObject({ kept: true });
    },
  );

  itTimed('a server on a shared store knows its own files only', async () => {
    const { journal, clock } = subject;
    if (journal.peers === undefined) return;
    const here = await runWithFiles(1_000);
    const claim = await claimedRun(journal);
    await journal.peers.workspaces.place(claim, 'server_b');
    await journal.append(claim, [completed()]);
    clock.advance(SETTLED_MS);
    expect(await journal.kept.unmeasured('server_b', 10)).toEqual([claim.runId]);
    expect(await journal.kept.unmeasured(SERVER, 10)).toEqual([]);
    await journal.kept.measured('server_b', [{ runId: claim.runId, bytes: 7 }]);
    expect(await journal.kept.used('server_b')).toBe(7);
    expect(await journal.kept.used(SERVER)).toBe(1_000);
    expect(await journal.kept.giveUp('server_b', 1_000_000, 10)).toBe(1);
    expect(await due()).toEqual([claim.runId]);
    expect(await journal.kept.giveUp(SERVER, 1, 10)).toBe(1);
    expect((await due()).sort()).toEqual([claim.runId, here].sort());
  });
}
