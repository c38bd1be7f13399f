/** Where a run is in the queue: among the waiting runs of its owner, in the order in which they are claimed. */
import { expect, it } from 'vitest';
import type { Subject } from '../journal.contract.ts';
import { approvalRequest, claimedRun, completed, createRun, LEASE_MS, step } from '../testing/records.ts';

export function queuePositionContract(subject: Subject): void {
  const { itTimed } = subject;
  const positionOf = async (runId: string) => {
    const { journal } = subject;
    return journal.queuePosition((await journal.getRun(runId))!);
  };

  it('counts the new runs of the owner that were created before', async () => {
    const { journal } = subject;
    const [first, second] = [await createRun(journal), await createRun(journal)];
    await createRun(journal, { owner: 'bob' });
    const third = await createRun(journal);
    expect(await positionOf(first)).toMatchObject({ position: 1, isBehindSession: false });
    expect(await positionOf(second)).toMatchObject({ position: 2 });
    expect(await positionOf(third)).toMatchObject({ position: 3 });
  });

  it('counts runs that were worked on before as the first', async () => {
    const { journal } = subject;
    const begun = await claimedRun(journal);
    const later = await claimedRun(journal);
    const fresh = await createRun(journal);
    expect(await positionOf(fresh)).toMatchObject({ position: 1 });
    await journal.release(later);
    expect(await positionOf(later.runId)).toMatchObject({ position: 1 });
    await journal.release(begun);
    expect(await positionOf(later.runId)).toMatchObject({ position: 2 });
    expect(await positionOf(fresh)).toMatchObject({ position: 3 });
  });

  it('counts no runs of other owners, however many were worked on before', async () => {
    const { journal } = subject;
    const [of, others] = [await claimedRun(journal), await claimedRun(journal, { owner: 'bob' })];
    await journal.release(others);
    await journal.release(of);
    expect(await positionOf(of.runId)).toMatchObject({ position: 1 });
    expect(await positionOf(await createRun(journal, { owner: 'bob' }))).toMatchObject({ position: 2 });
  });

  it('says that an earlier run of the session comes first', async () => {
    const { journal } = subject;
    const earlier = await claimedRun(journal, { sessionId: 'talk' });
    const runId = await createRun(journal, { sessionId: 'talk' });
    expect(await positionOf(runId)).toMatchObject({ position: 1, isBehindSession: true });
    await journal.append(earlier, [completed()]);
    expect(await positionOf(runId)).toMatchObject({ position: 1, isBehindSession: false });
  });

  it('is unknown for a run that is held, that waits for somebody outside, or that has ended', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    expect(await positionOf(claim.runId)).toBeUndefined();
    await journal.append(claim, [approvalRequest('a')]);
    await journal.release(claim, { ms: LEASE_MS, seenPostedPos: -1 });
    expect(await positionOf(claim.runId)).toBeUndefined();
    await journal.post(claim.runId, { kind: 'approval', choice: 'once', all: false });
    expect(await positionOf(claim.runId)).toMatchObject({ position: 1 });
    await journal.post(claim.runId, { kind: 'stop' });
    expect(await positionOf(claim.runId)).toBeUndefined();
  });

  itTimed('is known once the lease of a dead owner has ended', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    await journal.append(claim, [step()]);
    subject.clock.advance(LEASE_MS);
    expect(await positionOf(claim.runId)).toMatchObject({ position: 1 });
  });
}
