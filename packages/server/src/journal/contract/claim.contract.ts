/** Claiming: order, owners, sessions, and that no run is claimed twice. */
import { describe, expect, it } from 'vitest';
import type { Subject } from '../journal.contract.ts';
import type { Lease } from '../journal.ts';
import {
  approvalRequest,
  claimedRun,
  completed,
  counting,
  createRun,
  failed,
  LEASE_MS,
  names,
  step,
} from '../testing/records.ts';

export function claimContract(subject: Subject): void {
  const { itTimed } = subject;
  const claim = async (limit = 100, worker = 'w') =>
    (await subject.journal.claim(worker, LEASE_MS, limit)).map(({ runId }) => runId);
  /** The run under its present claim. */
  const held = async (runId: string): Promise<Lease> => {
    const claimed = (await subject.journal.readLog(runId, -1)).findLast(
      ({ event }) => event === 'run.claimed',
    );
    if (claimed?.event !== 'run.claimed') throw new Error(`${runId} was never claimed`);
    return { runId, epoch: claimed.private.epoch };
  };
  const finish = async (runId: string) => subject.journal.append(await held(runId), [completed()]);

  it('gives nothing when nothing waits', async () => {
    expect(await claim()).toEqual([]);
  });

  it('gives the oldest first, up to the limit', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.push(await createRun(subject.journal));
    expect(await claim(2)).toEqual(ids.slice(0, 2));
    expect(await claim(1)).toEqual(ids.slice(2, 3));
    expect(await claim(0)).toEqual([]);
    expect(await claim()).toEqual(ids.slice(3));
    expect(await claim()).toEqual([]);
  });

  describe('from several owners', () => {
    /** One run per letter; the letter names the owner. */
    const createBy = async (owners: string): Promise<string[]> => {
      const ids: string[] = [];
      for (const owner of owners) ids.push(await createRun(subject.journal, { owner }));
      return ids;
    };
    const ownersOf = async (runIds: string[]): Promise<string> =>
      (await Promise.all(runIds.map((runId) => subject.journal.getRun(runId))))
        .map((run) => run?.owner)
        .join('');

    it('takes owners in turn, and of each owner the oldest', async () => {
      const ids = await createBy('aaaabb');
      expect(await claim(5)).toEqual([0, 4, 1, 5, 2].map((i) => ids[i]));
      expect(await claim()).toEqual([ids[3]]);
    });

    it('continues the turns from call to call, also when nothing is worked on in between', async () => {
      await createBy('aaabbc');
      const given: string[] = [];
      for (const _ of counting(6)) {
        const [runId] = await claim(1);
        given.push(runId!);
        await finish(runId!);
      }
      expect(await ownersOf(given)).toBe('abcaba');
    });

    it('does not make an owner that comes late wait for the backlog of another', async () => {
      await createBy('aaa');
      await finish((await claim(1))[0]!);
      const [late] = await createBy('b');
      expect(await claim(1)).toEqual([late]);
    });

    it('prefers the owner with the fewest runs under a lease', async () => {
      await createBy('aaaaa');
      const [first, second] = await claim(3);
      await createBy('bbbb');
      expect(await ownersOf(await claim(2))).toBe('bb');
      await finish(first!);
      await finish(second!);
      expect(await ownersOf(await claim(3))).toBe('aba');
    });

    it('skips an owner whose sessions are all busy', async () => {
      const { journal } = subject;
      await claimedRun(journal, { owner: 'b', sessionId: 's' });
      await createBy('aaa');
      await claim(2);
      await createRun(journal, { owner: 'b', sessionId: 's' });
      expect(await ownersOf(await claim(1))).toBe('a');
    });

    it('gives the runs of an owner that have begun before its new ones, oldest first', async () => {
      const ids = await createBy('aaaab');
      const begun = await subject.journal.claim('w', LEASE_MS, 3);
      expect(begun.map(({ runId }) => runId)).toEqual([ids[0], ids[4], ids[1]]);
      for (const lease of begun) await subject.journal.release(lease);
      expect(await claim()).toEqual([4, 0, 1, 2, 3].map((i) => ids[i]));
    });

    it('does not make an owner wait for the runs of another that were answered together', async () => {
      const { journal } = subject;
      const asked = await createBy('aaaaaa');
      for (const lease of await journal.claim('w', LEASE_MS, 6)) {
        await journal.append(lease, [approvalRequest('a')]);
        await journal.release(lease, { ms: LEASE_MS, seenPostedPos: -1 });
      }
      await createBy('b');
      await journal.release((await journal.claim('w', LEASE_MS, 1))[0]!);
      for (const runId of asked) await journal.post(runId, { kind: 'approval', choice: 'once', all: false });
      await createBy('c');
      expect([...(await ownersOf(await claim(3)))].sort()).toEqual(['a', 'b', 'c']);
    });
  });

  describe('of runs whose workers die again and again', () => {
    /** Claims whatever is claimable, and again after those leases have ended, this many times. */
    const claimInVain = async (times: number): Promise<string[][]> => {
      const claims: string[][] = [];
      for (const _ of counting(times)) {
        claims.push(await claim());
        subject.clock.advance(LEASE_MS);
      }
      return claims;
    };
    const create = async (count: number): Promise<string[]> => {
      const ids: string[] = [];
      for (const _ of counting(count)) ids.push(await createRun(subject.journal));
      return ids;
    };
    itTimed('gives them side by side twice, and after that one at a time', async () => {
      const ids = await create(3);
      expect(await claimInVain(2)).toEqual([ids, ids]);
      expect(await claim()).toEqual([ids[0]]);
      expect(await claim()).toEqual([]);
    });

    itTimed('gives the next when the one before has made progress', async () => {
      const [first, second, third] = await create(3);
      await claimInVain(2);
      expect(await claim()).toEqual([first]);
      await subject.journal.append(await held(first!), [step()]);
      expect(await claim()).toEqual([second]);
      await subject.journal.append(await held(second!), [failed()]);
      expect(await claim()).toEqual([third]);
    });

    itTimed('gives the next also when the one before only waits for a person', async () => {
      const [first, second] = await create(2);
      await claimInVain(2);
      await claim();
      const lease = await held(first!);
      await subject.journal.append(lease, [approvalRequest('a')]);
      await subject.journal.release(lease, { ms: LEASE_MS, seenPostedPos: -1 });
      expect(await claim()).toEqual([second]);
    });

    itTimed('counts the claims of one that nobody answered in time', async () => {
      const { journal } = subject;
      const [asked, second] = await create(2);
      const [lease] = await journal.claim('w', LEASE_MS, 1);
      await journal.append(lease!, [approvalRequest('a')]);
      await journal.release(lease!, { ms: LEASE_MS, seenPostedPos: -1 });
      subject.clock.advance(LEASE_MS);
      const both = [asked, second];
      expect(await claimInVain(5)).toEqual([both, both, [asked], [asked], [asked]]);
      expect((await journal.getRun(asked!))?.state.claims_without_progress).toBe(5);
    });

    itTimed('gives the oldest again while it makes no progress, and none of the others', async () => {
      const [first, second] = await create(2);
      expect(await claimInVain(5)).toEqual([[first, second], [first, second], [first], [first], [first]]);
      expect((await subject.journal.getRun(second!))?.state.claims_without_progress).toBe(2);
    });

    itTimed('gives other runs beside it: new ones, and those that lost their worker once', async () => {
      const suspects = await create(2);
      await claimInVain(2);
      const fresh = await create(2);
      expect(await claimInVain(2)).toEqual([
        [suspects[0], ...fresh],
        [suspects[0], ...fresh],
      ]);
      expect(await claim()).toEqual([suspects[0]]);
    });
  });

  it('records the claim with its epoch, without a public event, and shows the run as running', async () => {
    const { journal } = subject;
    const runId = await createRun(journal);
    const [claimed] = await journal.claim('w', LEASE_MS, 1);
    expect(claimed).toMatchObject({ runId, epoch: 1 });
    expect(claimed?.run).toEqual(await journal.getRun(runId));
    expect(claimed?.run.state).toMatchObject({
      status: 'running',
      claims_without_progress: 1,
      last_event: '',
    });
    expect(await journal.readLog(runId, 0)).toMatchObject([
      { event: 'run.claimed', private: { epoch: 1 }, pos: 1, seq: null },
    ]);
    expect(await journal.readEvents(runId, -1, 10)).toEqual([]);
  });

  it('gives one run of a session at a time, in the order of creation', async () => {
    const { journal } = subject;
    const [a1, a2, b1, a3] = [
      await createRun(journal, { sessionId: 'a' }),
      await createRun(journal, { sessionId: 'a' }),
      await createRun(journal, { sessionId: 'b' }),
      await createRun(journal, { sessionId: 'a' }),
    ];
    expect(await claim()).toEqual([a1, b1]);
    expect(await claim()).toEqual([]);
    await finish(a1);
    expect(await claim()).toEqual([a2]);
    expect(await claim()).toEqual([]);
    await finish(a2);
    expect(await claim()).toEqual([a3]);
  });

  it('keeps sessions of the same name but different owners apart', async () => {
    const ada = await createRun(subject.journal, { owner: 'ada', sessionId: 's' });
    const bob = await createRun(subject.journal, { owner: 'bob', sessionId: 's' });
    expect(await claim()).toEqual([ada, bob]);
  });

  it('skips a busy session without delaying the runs behind it', async () => {
    const { journal } = subject;
    await claimedRun(journal, { sessionId: 'busy' });
    for (let i = 0; i < 3; i++) await createRun(journal, { sessionId: 'busy' });
    const other = await createRun(journal);
    expect(await claim(1)).toEqual([other]);
  });

  it('gives a released run before the next of its session', async () => {
    const { journal } = subject;
    const first = await claimedRun(journal, { sessionId: 's' });
    await createRun(journal, { sessionId: 's' });
    await journal.release(first);
    expect(await claim()).toEqual([first.runId]);
  });

  it('continues the session when its oldest run is stopped in the queue', async () => {
    const { journal } = subject;
    const first = await createRun(journal, { sessionId: 's' });
    const second = await createRun(journal, { sessionId: 's' });
    await journal.post(first, { kind: 'stop' });
    expect(await claim()).toEqual([second]);
  });

  it('never gives a run to two callers that claim at once', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 30; i++) ids.push(await createRun(subject.journal, { sessionId: `s${i % 20}` }));
    const claims = await Promise.all(counting(10).map((i) => claim(3, `worker ${i}`)));
    const given = claims.flat();
    expect(new Set(given).size).toBe(given.length);
    expect(given.sort()).toEqual(ids.slice(0, 20).sort());
  });

  it('cancels released runs that were told to stop, also with limit 0', async () => {
    const { journal } = subject;
    const stopped = await claimedRun(journal, { sessionId: 's' });
    await journal.post(stopped.runId, { kind: 'stop' });
    await journal.release(stopped);
    const next = await createRun(journal, { sessionId: 's' });

    expect(await claim(0)).toEqual([]);

    expect((await journal.getRun(stopped.runId))?.state.status).toBe('cancelled');
    expect(names(await journal.readEvents(stopped.runId, -1, 10))).toEqual(['run.cancelled']);
    expect(await journal.queueDepth()).toMatchObject({ queued: 1, leased: 0, waiting: 0 });
    expect(await claim()).toEqual([next]);
  });

  it('gives the next of a session in the same call that cancels the one before it', async () => {
    const { journal } = subject;
    const stopped = await claimedRun(journal, { sessionId: 's' });
    const next = await createRun(journal, { sessionId: 's' });
    await journal.post(stopped.runId, { kind: 'stop' });
    await journal.release(stopped);
    expect(await claim()).toEqual([next]);
  });

  it('leaves a stopping run to its owner', async () => {
    const { journal } = subject;
    const owned = await claimedRun(journal);
    await journal.post(owned.runId, { kind: 'stop' });
    expect(await claim()).toEqual([]);
    expect((await journal.getRun(owned.runId))?.state.status).toBe('stopping');
  });
}
