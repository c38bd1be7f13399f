/** Parked runs: they wait for an approval or for the outputs of client tools, and nobody works on them. */
import { describe, expect, it } from 'vitest';
import type { Subject } from '../journal.contract.ts';
import type { Claim } from '../journal.ts';
import type { NewRecord } from '../records.ts';
import {
  approvalRequest,
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
/** For an owner that has seen no post. */
const AN_HOUR = { ms: HOUR_MS, seenPostedPos: -1 };

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
    await subject.journal.release(claim, AN_HOUR);
    return claim;
  };
  /** A run that waits for the answer to this question. */
  const askedRun = async (): Promise<Claim> => {
    const claim = await claimedRun(subject.journal);
    await subject.journal.append(claim, [approvalRequest('apr_1')]);
    await subject.journal.release(claim, AN_HOUR);
    return claim;
  };
  const approve = (runId: string) =>
    subject.journal.post(runId, { kind: 'approval', choice: 'once', all: false });

  it('are claimed by nobody, and count neither as queued nor as leased', async () => {
    const { runId } = await parkedRun('a');
    expect(await subject.journal.queueDepth()).toMatchObject({ queued: 0, leased: 0, waiting: 1 });
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
    expect(await journal.queueDepth()).toMatchObject({ queued: 1, leased: 0, waiting: 0 });
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
    await journal.release(claim, AN_HOUR);
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
    expect(await subject.journal.queueDepth()).toMatchObject({ queued: 0, leased: 1, waiting: 0 });
  });

  it('end at once when they are stopped', async () => {
    const { journal } = subject;
    const { runId } = await parkedRun('a');
    await journal.post(runId, { kind: 'stop' });
    expect((await journal.getRun(runId))?.state.status).toBe('cancelled');
    expect(await journal.queueDepth()).toMatchObject({ queued: 0, leased: 0, waiting: 0 });
    await expect(answer(runId, 'a')).rejects.toMatchObject({ code: 'call_not_pending' });
    expect(await claimNext()).toBeUndefined();
  });

  it('delay the next run of their session, and nobody else', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal, { sessionId: 'talk' });
    await journal.append(claim, [clientCall('a')]);
    await journal.release(claim, AN_HOUR);
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
      await journal.release(claim, { ms: 0, seenPostedPos: -1 });
      claim = (await claimNext())!;
      expect(claim.run.state.claims_without_progress).toBeLessThan(2);
    }
  });

  it('stay parked when the store is reopened', async () => {
    const { runId } = await parkedRun('a');
    const journal = await subject.reopen();
    expect(await journal.queueDepth()).toMatchObject({ queued: 0, leased: 0, waiting: 1 });
    expect(await journal.claim('other', LEASE_MS, 1)).toEqual([]);
    const outputs = [{ toolCallId: 'a', output: 'sunny', error: false }];
    await journal.post(runId, { kind: 'tool_outputs', outputs });
    expect(await journal.claim('other', LEASE_MS, 1)).toMatchObject([{ runId }]);
  });

  it('are claimed when their question is answered, by any server', async () => {
    const { journal } = subject;
    const { runId, epoch } = await askedRun();
    expect(await journal.queueDepth()).toMatchObject({ queued: 0, leased: 0, waiting: 1 });
    expect(await claimNext()).toBeUndefined();
    let woken = 0;
    const unwatch = journal.watchQueue(() => {
      woken += 1;
    });
    await approve(runId);
    await expect.poll(() => woken).toBeGreaterThan(0);
    unwatch();
    expect(await journal.queueDepth()).toMatchObject({ queued: 1, leased: 0, waiting: 0 });
    expect(await claimNext()).toMatchObject({
      runId,
      epoch: epoch + 1,
      run: { state: { status: 'running' } },
    });
  });

  it('are claimed at once if they were answered before the parking', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    await journal.append(claim, [approvalRequest('apr_1')]);
    await approve(claim.runId);
    await journal.release(claim, AN_HOUR);
    expect(await claimNext()).toMatchObject({ runId: claim.runId });
  });

  it('are claimed for the answer to their question, also while client tools have no output', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    await journal.append(claim, [clientCall('a'), clientCall('b'), approvalRequest('apr_1')]);
    await journal.release(claim, AN_HOUR);
    await answer(claim.runId, 'a');
    expect(await claimNext()).toBeUndefined();
    await approve(claim.runId);
    expect(await claimNext()).toMatchObject({
      runId: claim.runId,
      run: { state: { status: 'waiting_for_tool' } },
    });
  });

  itTimed('are claimed when the time for their answer is over', async () => {
    const { runId } = await askedRun();
    subject.clock.advance(HOUR_MS - 1);
    expect(await claimNext()).toBeUndefined();
    subject.clock.advance(1);
    expect(await claimNext()).toMatchObject({ runId, run: { state: { status: 'waiting_for_approval' } } });
  });

  it('accept no answer of a person once the time for it is over, also while no worker is free to say so', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    const asked = approvalRequest('apr_1');
    await journal.append(claim, [{ ...asked, public: { ...asked.public, expires_at: 1 } } as NewRecord]);
    await journal.release(claim, { ms: 0, seenPostedPos: -1 });
    await journal.claim('other', LEASE_MS, 0);
    await expect(approve(claim.runId)).rejects.toMatchObject({ code: 'approval_not_pending' });
    const timeout = { kind: 'approval', choice: 'deny', all: false, reason: 'timeout' } as const;
    expect(await journal.post(claim.runId, timeout)).toMatchObject([{ event: 'approval.responded' }]);
  });

  it('stay parked when somebody steers them', async () => {
    const { journal } = subject;
    const { runId } = await askedRun();
    await journal.post(runId, { kind: 'steer', input: 'and then' });
    expect(await claimNext()).toBeUndefined();
    expect(await journal.queueDepth()).toMatchObject({ queued: 0, leased: 0, waiting: 1 });
  });

  describe('with an owner that keeps its lease', () => {
    const keptRun = async (): Promise<Claim> => {
      const claim = await claimedRun(subject.journal);
      await subject.journal.append(claim, [approvalRequest('apr_1')]);
      await subject.journal.park(claim, AN_HOUR);
      return claim;
    };

    it('count as waiting until they are answered, and then continue with their owner', async () => {
      const { journal } = subject;
      const claim = await keptRun();
      expect(await journal.queueDepth()).toMatchObject({ queued: 0, leased: 0, waiting: 1 });
      await approve(claim.runId);
      expect(await journal.queueDepth()).toMatchObject({ queued: 0, leased: 1, waiting: 0 });
      expect(await claimNext()).toBeUndefined();
      const seenPostedPos = (await journal.getRun(claim.runId))!.state.last_posted_pos;
      await journal.append(claim, [completed()], { seenPostedPos });
      expect(await journal.queueDepth()).toMatchObject({ queued: 0, leased: 0, waiting: 0 });
    });

    it('do not wait after a post that their owner has not seen', async () => {
      const { journal } = subject;
      const claim = await claimedRun(journal);
      await journal.append(claim, [approvalRequest('apr_1')]);
      await approve(claim.runId);
      await journal.park(claim, AN_HOUR);
      expect(await journal.queueDepth()).toMatchObject({ queued: 0, leased: 1, waiting: 0 });
    });

    it("can be released, and then are everybody else's to claim", async () => {
      const { journal } = subject;
      const claim = await keptRun();
      await journal.release(claim, AN_HOUR);
      expect(await journal.queueDepth()).toMatchObject({ queued: 0, leased: 0, waiting: 1 });
      await approve(claim.runId);
      expect(await claimNext()).toMatchObject({ runId: claim.runId });
    });

    itTimed('are claimed by others when they are answered after the end of the lease', async () => {
      const claim = await keptRun();
      subject.clock.advance(LEASE_MS);
      expect(await claimNext()).toBeUndefined();
      await approve(claim.runId);
      expect(await claimNext()).toMatchObject({ runId: claim.runId });
    });

    it('are told to stop by their owner, which ends them', async () => {
      const { journal } = subject;
      const claim = await keptRun();
      await journal.post(claim.runId, { kind: 'stop' });
      expect((await journal.getRun(claim.runId))?.state.status).toBe('stopping');
      expect(await journal.queueDepth()).toMatchObject({ queued: 0, leased: 1, waiting: 0 });
    });

    it('stay parked when their owner has lost the lease', async () => {
      const { journal } = subject;
      const claim = await keptRun();
      await journal.park({ ...claim, epoch: claim.epoch + 1 }, { ms: 0, seenPostedPos: -1 });
      await journal.park({ runId: 'run_unknown', epoch: 1 }, AN_HOUR);
      expect(await claimNext()).toBeUndefined();
      expect(await journal.queueDepth()).toMatchObject({ queued: 0, leased: 0, waiting: 1 });
    });
  });

  it('leave the queue unchanged after their end', async () => {
    const { journal } = subject;
    const { runId } = await parkedRun('a');
    await journal.post(runId, { kind: 'stop' });
    await finishedRun(journal);
    expect(await journal.queueDepth()).toMatchObject({ queued: 0, leased: 0, waiting: 0 });
    expect(await journal.createRun(newRun(), NO_LIMIT)).toEqual({ kind: 'created' });
  });
}
