/** Leases: one owner, fenced by its epoch; expiry, renewal, release. */
import { expect, it } from 'vitest';
import type { Subject } from '../journal.contract.ts';
import { type Claim, LeaseLostError } from '../journal.ts';
import { claimedRun, completed, createRun, LEASE_MS, names, reasoning } from '../testing/records.ts';

export function leaseContract(subject: Subject): void {
  const { itTimed } = subject;
  const claimAgain = async (worker = 'other'): Promise<Claim | undefined> =>
    (await subject.journal.claim(worker, LEASE_MS, 1))[0];
  const refuses = (claim: Claim) =>
    expect(subject.journal.append(claim, [reasoning('stale')])).rejects.toThrow(LeaseLostError);

  it('are needed to append', async () => {
    const { journal } = subject;
    const runId = await createRun(journal);
    for (const epoch of [0, 1, 7]) {
      await expect(journal.append({ runId, epoch }, [reasoning()])).rejects.toThrow(LeaseLostError);
    }
    await expect(journal.append({ runId: 'run_unknown', epoch: 1 }, [reasoning()])).rejects.toThrow(
      'The lease on run_unknown is lost',
    );
  });

  it('end with a release: the run can be claimed at once, under a higher epoch', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    await journal.append(claim, [reasoning()]);
    await journal.release(claim);
    expect(await journal.queueDepth()).toMatchObject({ queued: 1, leased: 0, waiting: 0 });

    await refuses(claim);
    const again = await claimAgain();

    expect(again).toMatchObject({ runId: claim.runId, epoch: claim.epoch + 1 });
    // It was released in an orderly way, so the claim does not count as failed.
    expect(again?.run.state.claims_without_progress).toBe(1);
    await refuses(claim);
    await expect(journal.append(claim, [completed()])).rejects.toThrow(LeaseLostError);
    await journal.append(again!, [reasoning()]);
    expect(await journal.readEvents(claim.runId, -1, 10)).toHaveLength(2);
  });

  it('do nothing on release when they are lost', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    await journal.release(claim);
    await journal.release(claim);
    expect(await journal.queueDepth()).toMatchObject({ queued: 1, leased: 0, waiting: 0 });
    const again = await claimAgain();
    await journal.release(claim);
    await journal.release({ runId: 'run_unknown', epoch: 1 });
    expect(await journal.queueDepth()).toMatchObject({ queued: 0, leased: 1, waiting: 0 });
    expect(await claimAgain('third')).toBeUndefined();
    await journal.append(again!, [completed()]);
  });

  it('are renewed for the worker and epoch that hold them; lost ones are returned', async () => {
    const { journal } = subject;
    const held = await claimedRun(journal);
    const released = await claimedRun(journal);
    const finished = await claimedRun(journal);
    await journal.append(finished, [completed()]);
    await journal.release(released);
    const taken = (await claimAgain())!;
    const unknown = { runId: 'run_unknown', epoch: 1 };

    expect(await journal.renew('worker', [held, released, finished, unknown], LEASE_MS)).toMatchObject([
      { runId: released.runId, epoch: released.epoch },
      { runId: finished.runId },
      unknown,
    ]);
    expect(await journal.renew('other', [taken], LEASE_MS)).toEqual([]);
    expect(await journal.renew('other', [held], LEASE_MS)).toMatchObject([{ runId: held.runId }]);
    expect(await journal.renew('worker', [], LEASE_MS)).toEqual([]);
  });

  itTimed(
    'expire: the run can be claimed under a higher epoch, and the former owner is refused',
    async () => {
      const { journal, clock } = subject;
      const claim = await claimedRun(journal);
      clock.advance(LEASE_MS - 1);
      expect(await claimAgain()).toBeUndefined();
      clock.advance(1);

      const again = await claimAgain();

      expect(again).toMatchObject({ runId: claim.runId, epoch: claim.epoch + 1 });
      await refuses(claim);
      expect(await journal.renew('worker', [claim], LEASE_MS)).toMatchObject([{ runId: claim.runId }]);
      expect(await journal.queueDepth()).toMatchObject({ queued: 0, leased: 1, waiting: 0 });
      expect(names(await journal.readLog(claim.runId, 0))).toEqual(['run.claimed', 'run.claimed']);
      await journal.append(again!, [completed()]);
      expect(await journal.queueDepth()).toMatchObject({ queued: 0, leased: 0, waiting: 0 });
    },
  );

  itTimed('still let their owner append after they expire, until somebody else claims', async () => {
    const { journal, clock } = subject;
    const claim = await claimedRun(journal);
    clock.advance(10 * LEASE_MS);
    expect(await journal.append(claim, [reasoning()])).toHaveLength(1);
    expect(await journal.renew('worker', [claim], LEASE_MS)).toEqual([]);
    expect(await claimAgain()).toBeUndefined();
  });

  itTimed('last from their renewal', async () => {
    const { journal, clock } = subject;
    const claim = await claimedRun(journal);
    for (let i = 0; i < 5; i++) {
      clock.advance(LEASE_MS - 1);
      expect(await journal.renew('worker', [claim], LEASE_MS)).toEqual([]);
    }
    expect(await claimAgain()).toBeUndefined();
    clock.advance(LEASE_MS);
    expect((await claimAgain())?.runId).toBe(claim.runId);
  });

  itTimed('keep their place before later runs of the session after they expire', async () => {
    const { journal, clock } = subject;
    const claim = await claimedRun(journal, { sessionId: 's' });
    await createRun(journal, { sessionId: 's' });
    clock.advance(LEASE_MS);
    const claims = await journal.claim('other', LEASE_MS, 10);
    expect(claims.map(({ runId }) => runId)).toEqual([claim.runId]);
  });

  itTimed('that expired on a stopping run let a claim cancel it', async () => {
    const { journal, clock } = subject;
    const claim = await claimedRun(journal);
    await journal.post(claim.runId, { kind: 'stop' });
    await journal.claim('other', LEASE_MS, 0);
    expect((await journal.getRun(claim.runId))?.state.status).toBe('stopping');
    clock.advance(LEASE_MS);
    await journal.claim('other', LEASE_MS, 0);
    expect((await journal.getRun(claim.runId))?.state.status).toBe('cancelled');
    await refuses(claim);
    expect(await journal.queueDepth()).toMatchObject({ queued: 0, leased: 0, waiting: 0 });
  });
}
