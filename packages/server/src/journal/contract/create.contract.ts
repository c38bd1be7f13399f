/** Creating runs: what is stored, idempotency, the limit of the queue. */
import { createRunId } from '@talaria/protocol';
import { describe, expect, it } from 'vitest';
import type { Subject } from '../journal.contract.ts';
import type { CreateOutcome, NewRun } from '../journal.ts';
import { INITIAL_STATE } from '../run-state.ts';
import {
  claimedRun,
  completed,
  counting,
  createRun,
  evictExpired,
  failed,
  finishedRun,
  LEASE_MS,
  NO_LIMIT,
  newRun,
} from '../testing/records.ts';

const DAY_MS = 24 * 3600 * 1000;

export function createContract(subject: Subject): void {
  const { itTimed } = subject;
  const list = async () => (await subject.journal.listRuns({ owner: 'ada', limit: 100 })).runs;
  const keyed = (fields: Partial<NewRun> = {}, key = 'k', bodyHash = 'body') =>
    newRun({ ...fields, idempotency: { key, bodyHash } });
  const create = (run: NewRun, maxQueued = NO_LIMIT.maxQueued, ownerShare = 0): Promise<CreateOutcome> =>
    subject.journal.createRun(run, { maxQueued, ownerShare });

  it("keeps the run's trace with its state", async () => {
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const run = newRun({ request: { prompt: 'do it', session_named: false, traceparent } });
    await create(run);
    expect((await subject.journal.getRun(run.runId))?.state).toEqual({ ...INITIAL_STATE, traceparent });
    const [claim] = await subject.journal.claim('w', LEASE_MS, 1);
    expect(claim?.run.state.traceparent).toBe(traceparent);
  });

  it('keeps with its state which event of which run it was forked from', async () => {
    const from = { run_id: createRunId(), seq: 4 };
    const run = newRun({
      request: { prompt: 'do it', session_named: false, forked_from: { ...from, pos: 9 } },
    });
    await create(run);
    expect((await subject.journal.getRun(run.runId))?.state).toEqual({ ...INITIAL_STATE, forked_from: from });
    expect(await subject.journal.readLog(run.runId, -1)).toMatchObject([
      { private: { forked_from: { ...from, pos: 9 } } },
    ]);
  });

  it('stores the run with its request, without an event or an owner', async () => {
    const run = newRun({
      sessionId: 's',
      request: {
        prompt: 'do it',
        instructions: 'fast',
        history: [{ role: 'user', content: 'a' }],
        session_named: true,
      },
    });

    expect(await create(run)).toEqual({ kind: 'created' });

    const stored = await subject.journal.getRun(run.runId);
    expect(stored).toMatchObject({ runId: run.runId, owner: 'ada', sessionId: 's', nextSeq: 0 });
    expect(stored?.state).toEqual(INITIAL_STATE);
    expect(stored?.updatedAt).toBe(stored?.createdAt);
    expect(await subject.journal.readEvents(run.runId, -1, 10)).toEqual([]);
    expect(await subject.journal.readLog(run.runId, -1)).toEqual([
      { event: 'run.accepted', private: run.request, pos: 0, seq: null, at: stored?.createdAt },
    ]);
  });

  itTimed("takes its time from the store's clock", async () => {
    const run = await subject.journal.getRun(await createRun(subject.journal));
    expect(run?.createdAt).toBe(subject.clock.now());
  });

  it('gives later runs greater ordinals, also after a restart and after eviction', async () => {
    const { journal } = subject;
    const first = await journal.getRun(await finishedRun(journal));
    await evictExpired(journal, 0, 10);
    const reopened = await subject.reopen();
    const second = await reopened.getRun(await createRun(reopened));
    expect(second!.ordinal).toBeGreaterThan(first!.ordinal);
  });

  it('creates one run for twenty concurrent requests with one key', async () => {
    const runs = counting(20).map(() => keyed());

    const outcomes = await Promise.all(runs.map((run) => create(run)));

    const stored = await list();
    expect(stored).toHaveLength(1);
    const runId = stored[0]!.runId;
    expect(outcomes.filter(({ kind }) => kind === 'created')).toHaveLength(1);
    expect(outcomes.filter(({ kind }) => kind === 'replayed')).toEqual(
      counting(19).map(() => ({ kind: 'replayed', runId, status: 'started' })),
    );
    expect(runs[outcomes.findIndex(({ kind }) => kind === 'created')]?.runId).toBe(runId);
  });

  it('refuses a key that was used with another body, and stores nothing', async () => {
    await create(keyed());
    const other = keyed({}, 'k', 'other body');
    expect(await create(other)).toEqual({ kind: 'conflict' });
    expect(await subject.journal.getRun(other.runId)).toBeUndefined();
    expect(await list()).toHaveLength(1);
  });

  it('keeps the keys of different owners apart', async () => {
    expect(await create(keyed({ owner: 'ada' }))).toEqual({ kind: 'created' });
    expect(await create(keyed({ owner: 'bob' }, 'k', 'other body'))).toEqual({ kind: 'created' });
  });

  it('creates a run per request without a key', async () => {
    await Promise.all(counting(3).map(() => create(newRun())));
    expect(await list()).toHaveLength(3);
  });

  it('replays with the present status of the run', async () => {
    const first = keyed();
    await create(first);
    const [claim] = await subject.journal.claim('w', LEASE_MS, 1);
    expect(await create(keyed())).toEqual({ kind: 'replayed', runId: first.runId, status: 'running' });
    await subject.journal.append(claim!, [completed()]);
    expect(await create(keyed())).toEqual({ kind: 'replayed', runId: first.runId, status: 'completed' });
  });

  it('replays and detects conflicts also when the queue is full', async () => {
    const first = keyed();
    await create(first, 1);
    expect(await create(newRun(), 1)).toMatchObject({ kind: 'queue_full' });
    expect(await create(keyed(), 1)).toEqual({ kind: 'replayed', runId: first.runId, status: 'started' });
    expect(await create(keyed({}, 'k', 'other body'), 1)).toEqual({ kind: 'conflict' });
  });

  it('replays after a restart', async () => {
    const first = keyed();
    await create(first);
    const journal = await subject.reopen();
    expect(await journal.createRun(keyed(), NO_LIMIT)).toMatchObject({
      kind: 'replayed',
      runId: first.runId,
    });
  });

  it('replays after the run was evicted, with the status it had', async () => {
    const runId = await finishedRun(
      subject.journal,
      { idempotency: { key: 'k', bodyHash: 'body' } },
      failed(),
    );
    expect(await evictExpired(subject.journal, 0, 10)).toEqual([runId]);
    expect(await create(keyed())).toEqual({ kind: 'replayed', runId, status: 'failed' });
    const journal = await subject.reopen();
    expect(await journal.createRun(keyed(), NO_LIMIT)).toEqual({ kind: 'replayed', runId, status: 'failed' });
  });

  it('finds the run that a key stands for, also after its eviction, and for its owner only', async () => {
    const { journal } = subject;
    const idempotency = { key: 'k', bodyHash: 'body' };
    expect(await journal.findKey('ada', 'k')).toBeUndefined();
    const runId = await finishedRun(journal, { idempotency }, failed());
    const known = { runId, bodyHash: 'body', status: 'failed' };
    expect(await journal.findKey('ada', 'k')).toEqual(known);
    await evictExpired(journal, 0, 10);
    expect(await journal.findKey('ada', 'k')).toEqual(known);
    expect(await journal.findKey('bob', 'k')).toBeUndefined();
  });

  itTimed('does not find a key that has expired', async () => {
    const { journal, clock } = subject;
    await finishedRun(journal, { idempotency: { key: 'k', bodyHash: 'body' } });
    clock.advance(DAY_MS - 1);
    expect(await journal.findKey('ada', 'k')).toBeDefined();
    clock.advance(1);
    expect(await journal.findKey('ada', 'k')).toBeUndefined();
  });

  itTimed.each([
    ['a day', undefined, DAY_MS],
    ['as long as it says', 5000, 5000],
  ])('forgets a key %s after the end of its run, and not before', async (_, keptMs, expectedMs) => {
    const { journal, clock } = subject;
    const key = { key: 'k', bodyHash: 'body', keptMs };
    const claim = await claimedRun(journal, { idempotency: key });
    const second = newRun({ idempotency: key });
    clock.advance(10 * DAY_MS);
    expect(await create(second)).toMatchObject({ kind: 'replayed', runId: claim.runId });
    await journal.append(claim, [completed()]);
    clock.advance(expectedMs - 1);
    await evictExpired(journal, 0, 10);
    expect(await create(second)).toMatchObject({ kind: 'replayed', runId: claim.runId });
    clock.advance(1);
    expect(await create(second)).toEqual({ kind: 'created' });
    expect(await create(keyed())).toMatchObject({ kind: 'replayed', runId: second.runId });
    expect((await list()).map(({ runId }) => runId)).toEqual([second.runId, claim.runId]);
  });

  it('refuses when the queue is full, and stores neither the run nor its key', async () => {
    await create(newRun(), 1);
    const refused = keyed();
    expect(await create(refused, 1)).toEqual({ kind: 'queue_full', excess: 1 });
    expect(await subject.journal.getRun(refused.runId)).toBeUndefined();
    expect(await subject.journal.queueDepth()).toMatchObject({ queued: 1, leased: 0, waiting: 0 });
    expect(await create(keyed({}, 'k', 'other body'), 2)).toEqual({ kind: 'created' });
  });

  it('never lets concurrent requests exceed the limit', async () => {
    const outcomes = await Promise.all(counting(20).map(() => create(newRun(), 5)));
    expect(outcomes.filter(({ kind }) => kind === 'created')).toHaveLength(5);
    expect(outcomes.filter(({ kind }) => kind === 'queue_full')).toHaveLength(15);
    expect(await list()).toHaveLength(5);
  });

  it('counts only waiting runs: a claim frees a place, a release takes it again', async () => {
    const claim = await claimedRun(subject.journal);
    expect(await create(newRun(), 1)).toEqual({ kind: 'created' });
    expect(await create(newRun(), 1)).toMatchObject({ kind: 'queue_full' });
    await subject.journal.release(claim);
    expect(await create(newRun(), 2)).toMatchObject({ kind: 'queue_full' });
    expect(await create(newRun(), 3)).toEqual({ kind: 'created' });
  });

  describe('of a queue that several owners fill', () => {
    const createBy = (owner: string, maxQueued: number, ownerShare: number) =>
      create(newRun({ owner }), maxQueued, ownerShare);

    it('lets one owner use all of it while nobody else needs it', async () => {
      for (const _ of counting(4)) expect(await createBy('ada', 4, 2)).toEqual({ kind: 'created' });
      expect(await createBy('ada', 4, 2)).toMatchObject({ kind: 'queue_full' });
    });

    it('keeps a share for every owner, however full it is', async () => {
      for (const _ of counting(4)) await createBy('ada', 4, 2);
      for (const _ of counting(2)) expect(await createBy('bob', 4, 2)).toEqual({ kind: 'created' });
      expect(await createBy('bob', 4, 2)).toMatchObject({ kind: 'queue_full' });
      expect(await createBy('eve', 4, 2)).toEqual({ kind: 'created' });
      expect(await createBy('ada', 4, 2)).toMatchObject({ kind: 'queue_full' });
    });

    it("counts an owner's waiting runs, not those being worked on or ended", async () => {
      const worked = await claimedRun(subject.journal, { owner: 'bob' });
      await finishedRun(subject.journal, { owner: 'bob' });
      await createBy('ada', 1, 1);
      expect(await createBy('bob', 1, 1)).toEqual({ kind: 'created' });
      await subject.journal.release(worked);
      expect(await createBy('bob', 1, 2)).toMatchObject({ kind: 'queue_full' });
      expect(await createBy('bob', 1, 3)).toEqual({ kind: 'created' });
    });

    it('restores the shares after a restart', async () => {
      for (const owner of ['ada', 'ada', 'bob']) await createBy(owner, 9, 9);
      const journal = await subject.reopen();
      const limits = { maxQueued: 1, ownerShare: 2 };
      expect(await journal.createRun(newRun({ owner: 'ada' }), limits)).toMatchObject({ kind: 'queue_full' });
      expect(await journal.createRun(newRun({ owner: 'bob' }), limits)).toEqual({ kind: 'created' });
    });

    it('says how many runs have to leave before the owner is admitted again', async () => {
      for (const _ of counting(5)) await createBy('ada', 9, 9);
      for (const _ of counting(3)) await createBy('bob', 9, 9);
      // When two are left in all, or one of ada's.
      expect(await createBy('ada', 3, 2)).toEqual({ kind: 'queue_full', excess: 4 });
      // When seven are left in all, though four of them are ada's.
      expect(await createBy('ada', 8, 2)).toEqual({ kind: 'queue_full', excess: 1 });
    });

    it('charges no share for a refused run', async () => {
      const runId = await createRun(subject.journal, { owner: 'ada' });
      await expect(create(newRun({ runId, owner: 'bob' }), 9, 9)).rejects.toThrow();
      expect(await createBy('bob', 1, 1)).toEqual({ kind: 'created' });
    });
  });

  it('refuses a run id that exists and leaves the run as it was', async () => {
    const runId = createRunId();
    await createRun(subject.journal, { runId });
    const before = await subject.journal.getRun(runId);
    await expect(create(newRun({ runId, owner: 'bob' }))).rejects.toThrow();
    expect(await subject.journal.getRun(runId)).toEqual(before);
    expect(await subject.journal.queueDepth()).toMatchObject({ queued: 1, leased: 0, waiting: 0 });
  });
}
