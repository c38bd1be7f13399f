/** What is kept and what is deleted: eviction, closing, reopening. */
import { expect, it } from 'vitest';
import type { Subject } from '../journal.contract.ts';
import type { Claim, Journal } from '../journal.ts';
import {
  approvalRequest,
  claimedRun,
  completed,
  counting,
  createRun,
  delta,
  evictExpired,
  failed,
  finishedRun,
  HEADS_KEPT,
  LEASE_MS,
  NO_HEADS,
  NO_LIMIT,
  newRun,
  reasoning,
  step,
} from '../testing/records.ts';

const HOUR_MS = 3600 * 1000;

export function keepContract(subject: Subject): void {
  const { itTimed } = subject;
  /** Those that are whole. */
  const list = async () =>
    (await subject.journal.listRuns({ owner: 'ada', limit: 100 })).runs
      .filter(({ evicted }) => !evicted)
      .map(({ runId }) => runId);

  it.each([
    ['kept', HEADS_KEPT],
    ['not kept', NO_HEADS],
  ])('eviction removes the run with all its data; its head is %s', async (_, options) => {
    const { journal } = subject;
    const runId = await finishedRun(journal, { sessionId: 's' }, delta(), step(), completed());
    const later = (await journal.getRun(await createRun(journal, { sessionId: 's' })))!;
    expect(await journal.previousTurn(later)).toBe(runId);

    expect(await evictExpired(journal, 0, 10, options)).toEqual([runId]);

    expect(await journal.getRun(runId)).toBeUndefined();
    await expect(journal.readEvents(runId, -1, 10)).rejects.toMatchObject({ code: 'run_not_found' });
    expect(await journal.readLog(runId, -1)).toEqual([]);
    expect(await journal.previousTurn(later)).toBeUndefined();
    expect(await list()).toEqual([later.runId]);
    await expect(journal.post(runId, { kind: 'stop' })).rejects.toMatchObject({ code: 'run_not_found' });
    expect(await evictExpired(journal, 0, 10)).toEqual([]);
  });

  it('eviction skips an unfinished run, even when it is named', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    await journal.evict([claim.runId, 'run_unknown'], HEADS_KEPT);
    await journal.append(claim, [completed()]);
    expect((await journal.getRun(claim.runId))?.state.status).toBe('completed');
  });

  itTimed('eviction takes a run when it is old enough, counted from its end', async () => {
    const { journal, clock } = subject;
    const claim = await claimedRun(journal);
    clock.advance(5 * HOUR_MS);
    await journal.append(claim, [failed()]);
    clock.advance(HOUR_MS - 1);
    expect(await evictExpired(journal, HOUR_MS, 10)).toEqual([]);
    clock.advance(1);
    expect(await evictExpired(journal, HOUR_MS, 10)).toEqual([claim.runId]);
  });

  itTimed('eviction never takes an unfinished run, however old', async () => {
    const { journal, clock } = subject;
    const asking = await claimedRun(journal);
    await journal.append(asking, [approvalRequest('a')]);
    const stopping = await claimedRun(journal);
    await journal.post(stopping.runId, { kind: 'stop' });
    await claimedRun(journal);
    await createRun(journal);
    const before = await list();
    clock.advance(1000 * HOUR_MS);
    expect(await evictExpired(journal, 0, 10)).toEqual([]);
    expect(await list()).toEqual(before);
  });

  itTimed('eviction begins with the run that ended first, in batches', async () => {
    const { journal, clock } = subject;
    const claims: Claim[] = [];
    for (let i = 0; i < 5; i++) claims.push(await claimedRun(journal));
    const ended = [3, 0, 4, 1, 2].map((i) => claims[i]!);
    for (const claim of ended) {
      clock.advance(1000);
      await journal.append(claim, [completed()]);
    }
    const ids = ended.map(({ runId }) => runId);
    expect((await evictExpired(journal, 0, 2)).sort()).toEqual(ids.slice(0, 2).sort());
    expect((await list()).sort()).toEqual(ids.slice(2).sort());
    expect((await evictExpired(journal, 1000, 10)).sort()).toEqual(ids.slice(2, 4).sort());
    expect(await evictExpired(journal, 0, 10)).toEqual([ids[4]]);
  });

  it('eviction leaves the counts of the queue unchanged', async () => {
    const { journal } = subject;
    await finishedRun(journal);
    await createRun(journal);
    await evictExpired(journal, 0, 10);
    expect(await journal.queueDepth()).toMatchObject({ queued: 1, leased: 0, waiting: 0 });
  });

  it('reopening shows everything', async () => {
    const { journal } = subject;
    const finished = await finishedRun(journal, {}, delta('a'), step(), completed('out'));
    const asking = await claimedRun(journal, { sessionId: 's' });
    await journal.append(asking, [reasoning(), approvalRequest('a', ['p'])]);
    await journal.post(asking.runId, { kind: 'steer', input: 'left' });
    const waiting = await createRun(journal, { owner: 'bob' });

    const everything = async (from: Journal) =>
      Promise.all(
        [finished, asking.runId, waiting].map(async (runId) => [
          await from.getRun(runId),
          await from.readEvents(runId, -1, 100),
          await from.readLog(runId, -1),
          await from.readPosted(runId, -1),
          await from.firstShownAfter(runId, -1),
        ]),
      ).then(async (runs) => [runs, await from.listRuns({ owner: 'ada', limit: 10 })]);
    const before = await everything(journal);

    expect(await everything(await subject.reopen())).toEqual(before);
  });

  it('a run continues after reopening', async () => {
    const claim = await claimedRun(subject.journal);
    await subject.journal.append(claim, [delta(), delta()]);
    await subject.journal.release(claim);
    const journal = await subject.reopen();
    const [again] = await journal.claim('w', LEASE_MS, 1);
    expect(again).toMatchObject({ runId: claim.runId, epoch: claim.epoch + 1 });
    expect(await journal.append(again!, [delta()])).toMatchObject([{ pos: 6, seq: 2 }]);
  });

  it('closing waits for the writes in progress', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    const writes = [
      ...counting(50).map((i) => journal.append(claim, [delta(`${i}`)])),
      journal.createRun(newRun({ sessionId: 's' }), NO_LIMIT),
      journal.post(claim.runId, { kind: 'steer', input: 'x' }),
    ];
    let settled = 0;
    for (const write of writes) void write.finally(() => settled++);

    const reopened = await subject.reopen();

    expect(settled).toBe(writes.length);
    await Promise.all(writes);
    expect(await reopened.readEvents(claim.runId, -1, 100)).toHaveLength(50);
    expect(await reopened.readPosted(claim.runId, -1)).toHaveLength(1);
    expect((await reopened.listRuns({ owner: 'ada', sessionId: 's', limit: 10 })).runs).toHaveLength(1);
  });

  it('is healthy when a write succeeds, whatever was refused before', async () => {
    const { journal } = subject;
    await expect(journal.post('run_unknown', { kind: 'stop' })).rejects.toThrow();
    await expect(journal.append({ runId: 'run_unknown', epoch: 1 }, [delta()])).rejects.toThrow();
    expect(await journal.checkHealth()).toEqual({ writable: true, lastError: null });
  });

  it('is unhealthy after closing', async () => {
    const { journal } = subject;
    await subject.reopen();
    expect(await journal.checkHealth()).toMatchObject({ writable: false });
  });

  it('a write after closing is refused', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    await subject.reopen();
    await expect(journal.append(claim, [delta()])).rejects.toThrow();
    await expect(journal.createRun(newRun(), NO_LIMIT)).rejects.toThrow();
  });
}
