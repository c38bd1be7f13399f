/** Parked runs: they wait for the outputs of client tools, and no worker holds them. */
import { expect, it } from 'vitest';
import type { Subject } from '../journal.contract.ts';
import type { Claim } from '../journal.ts';
import {
  claimedRun,
  clientCall,
  completed,
  createRun,
  finishedRun,
  LEASE_MS,
  NO_LIMIT,
  newRun,
} from '../testing/records.ts';

const HOUR_MS = 3_600_000;

export function parkedContract(subject: Subject): void {
  const { itTimed } = subject;
  const claimNext = async (): Promise<Claim | undefined> =>
    (await subject.journal.claim('other', LEASE_MS, 1))[0];
  const answer = (runId: string, ...ids: string[]) =>
    subject.journal.post(runId, {
      kind: 'tool_outputs',
      outputs: ids.map((toolCallId) => ({ toolCallId, output: 'sunny', error: false })),
    });
  /** A run that waits for the outputs of these calls. */
  const parkedRun = async (...ids: string[]): Promise<Claim> => {
    const claim = await claimedRun(subject.journal);
    await subject.journal.append(claim, ids.map(clientCall));
    await subject.journal.release(claim, HOUR_MS);
    return claim;
  };

  it('are claimed by nobody, and count neither as queued nor as leased', async () => {
    const { runId } = await parkedRun('a');
    expect(await subject.journal.queueDepth()).toEqual({ queued: 0, leased: 0 });
    expect(await claimNext()).toBeUndefined();
    const run = await subject.journal.getRun(runId);
    expect(run?.state).toMatchObject({ status: 'waiting_for_tool', pending_calls: [{ tool_call_id: 'a' }] });
  });

  it('take no place in a full queue', async () => {
    const { journal } = subject;
    await parkedRun('a');
    const limits = { maxQueued: 1, ownerShare: 0 };
    expect(await journal.createRun(newRun(), limits)).toEqual({ kind: 'created' });
    expect(await journal.createRun(newRun(), limits)).toMatchObject({ kind: 'queue_full' });
  });

  it('are claimed when every call has its output, and not before', async () => {
    const { journal } = subject;
    const { runId, epoch } = await parkedRun('a', 'b');
    let woken = 0;
    const unwatch = journal.watchQueue(() => {
      woken += 1;
    });
    await answer(runId, 'a');
    expect(await claimNext()).toBeUndefined();
    await answer(runId, 'b');
    await expect.poll(() => woken).toBeGreaterThan(0);
    unwatch();
    expect(await journal.queueDepth()).toEqual({ queued: 1, leased: 0 });
    const claim = await claimNext();
    expect(claim).toMatchObject({ runId, epoch: epoch + 1 });
    expect(claim?.run.state).toMatchObject({ status: 'running', pending_calls: [] });
    await journal.append(claim!, [completed()], { seenPostedPos: claim!.run.state.last_posted_pos });
  });

  it('can be claimed at once if the outputs came before the parking', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    await journal.append(claim, [clientCall('a')]);
    await answer(claim.runId, 'a');
    await journal.release(claim, HOUR_MS);
    expect(await claimNext()).toMatchObject({ runId: claim.runId });
  });

  it('accept several outputs together or none of them', async () => {
    const { runId } = await parkedRun('a', 'b');
    await expect(answer(runId, 'a', 'c')).rejects.toMatchObject({ code: 'call_not_pending' });
    const run = await subject.journal.getRun(runId);
    expect(run?.state.pending_calls).toHaveLength(2);
    await answer(runId, 'a', 'b');
    await expect(answer(runId, 'a')).rejects.toMatchObject({ code: 'call_not_pending' });
    expect(await claimNext()).toMatchObject({ runId });
  });

  it('accept one of two outputs that come at the same moment', async () => {
    const { runId } = await parkedRun('a');
    const answers = await Promise.allSettled([answer(runId, 'a'), answer(runId, 'a')]);
    expect(answers.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(await subject.journal.readPosted(runId, -1)).toHaveLength(1);
  });

  itTimed('are claimed when their deadline has passed', async () => {
    const { runId } = await parkedRun('a');
    subject.clock.advance(HOUR_MS - 1_000);
    expect(await claimNext()).toBeUndefined();
    subject.clock.advance(1_000);
    const claim = await claimNext();
    expect(claim).toMatchObject({ runId });
    expect(claim?.run.state.pending_calls).toHaveLength(1);
    expect(await subject.journal.queueDepth()).toEqual({ queued: 0, leased: 1 });
  });

  it('end at once when they are stopped', async () => {
    const { journal } = subject;
    const { runId } = await parkedRun('a');
    await journal.post(runId, { kind: 'stop' });
    expect((await journal.getRun(runId))?.state.status).toBe('cancelled');
    expect(await journal.queueDepth()).toEqual({ queued: 0, leased: 0 });
    await expect(answer(runId, 'a')).rejects.toMatchObject({ code: 'call_not_pending' });
    expect(await claimNext()).toBeUndefined();
  });

  it('delay the next run of their session, and nobody else', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal, { sessionId: 'talk' });
    await journal.append(claim, [clientCall('a')]);
    await journal.release(claim, HOUR_MS);
    await createRun(journal, { sessionId: 'talk' });
    expect(await claimNext()).toBeUndefined();
    const other = await createRun(journal, { sessionId: 'other' });
    expect(await claimNext()).toMatchObject({ runId: other });
  });

  it('refuse appends of the worker that parked them', async () => {
    const claim = await parkedRun('a');
    await expect(subject.journal.append(claim, [completed()])).rejects.toThrow('is lost');
  });

  it('are never suspects, however often they are claimed', async () => {
    const { journal } = subject;
    let claim = await claimedRun(journal);
    await journal.append(claim, [clientCall('a')]);
    for (let i = 0; i < 7; i += 1) {
      await journal.release(claim, 0);
      claim = (await claimNext())!;
      expect(claim.run.state.claims_without_progress).toBeLessThan(2);
    }
  });

  it('stay parked when the store is reopened', async () => {
    const { runId } = await parkedRun('a');
    const journal = await subject.reopen();
    expect(await journal.queueDepth()).toEqual({ queued: 0, leased: 0 });
    expect(await journal.claim('other', LEASE_MS, 1)).toEqual([]);
    const outputs = [{ toolCallId: 'a', output: 'sunny', error: false }];
    await journal.post(runId, { kind: 'tool_outputs', outputs });
    expect(await journal.claim('other', LEASE_MS, 1)).toMatchObject([{ runId }]);
  });

  it('leave the queue unchanged after their end', async () => {
    const { journal } = subject;
    const { runId } = await parkedRun('a');
    await journal.post(runId, { kind: 'stop' });
    await finishedRun(journal);
    expect(await journal.queueDepth()).toEqual({ queued: 0, leased: 0 });
    expect(await journal.createRun(newRun(), NO_LIMIT)).toEqual({ kind: 'created' });
  });
}
