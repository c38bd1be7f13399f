/** Posting: what anyone may tell a run, whoever owns it. posts.test.ts tests the rules themselves. */
import { expect, it } from 'vitest';
import type { Subject } from '../journal.contract.ts';
import { LeaseLostError } from '../journal.ts';
import {
  approvalRequest,
  approvalsQueued,
  claimedRun,
  completed,
  counting,
  createRun,
  LEASE_MS,
  names,
  queuedApproval,
  step,
  usage,
} from '../testing/records.ts';

export function postContract(subject: Subject): void {
  const { itTimed } = subject;
  const status = async (runId: string) => (await subject.journal.getRun(runId))?.state.status;
  const stop = (runId: string) => subject.journal.post(runId, { kind: 'stop' });

  it('is refused for a run that does not exist', async () => {
    await expect(stop('run_unknown')).rejects.toMatchObject({
      code: 'run_not_found',
      message: 'Run not found: run_unknown',
    });
  });

  it('is stored and returned, and needs no lease', async () => {
    const claim = await claimedRun(subject.journal);
    const posted = await subject.journal.post(claim.runId, { kind: 'steer', input: 'left' });
    expect(posted).toMatchObject([
      { event: 'steer.requested', private: { input: 'left' }, pos: 2, seq: null },
    ]);
    expect(await subject.journal.readPosted(claim.runId, -1)).toEqual(posted);
    expect((await subject.journal.getRun(claim.runId))?.state.last_posted_pos).toBe(2);
  });

  it('accepts no more steers than may wait', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    const steers = await Promise.allSettled(
      counting(50).map((i) => journal.post(claim.runId, { kind: 'steer', input: `${i}` })),
    );
    expect(steers.filter(({ status }) => status === 'fulfilled')).toHaveLength(32);
    for (const steer of steers) {
      if (steer.status === 'rejected') expect(steer.reason).toMatchObject({ code: 'too_many_steers' });
    }
    expect(await journal.readPosted(claim.runId, -1)).toHaveLength(32);
  });

  it('stores nothing when it is refused', async () => {
    const { journal } = subject;
    const runId = await createRun(journal);
    const before = await journal.getRun(runId);
    await expect(journal.post(runId, { kind: 'steer', input: 'x' })).rejects.toMatchObject({
      code: 'run_not_accepting_steer',
    });
    await expect(
      journal.post(runId, { kind: 'approval', choice: 'always', all: false }),
    ).rejects.toMatchObject({ code: 'approval_not_pending' });
    expect(await journal.getRun(runId)).toEqual(before);
    expect(await journal.readPosted(runId, -1)).toEqual([]);
  });

  it('stop is left to the owner while there is one, and is stored once', async () => {
    const claim = await claimedRun(subject.journal);
    expect(names(await stop(claim.runId))).toEqual(['stop.requested']);
    expect(await stop(claim.runId)).toEqual([]);
    expect(await status(claim.runId)).toBe('stopping');
    expect(await subject.journal.readPosted(claim.runId, -1)).toHaveLength(1);
  });

  it('stop cancels a run that waits in the queue at once', async () => {
    const { journal } = subject;
    const runId = await createRun(journal);
    expect(names(await stop(runId))).toEqual(['stop.requested', 'run.cancelled']);
    expect(await status(runId)).toBe('cancelled');
    expect(names(await journal.readEvents(runId, -1, 10))).toEqual(['run.cancelled']);
    expect(await journal.queueDepth()).toMatchObject({ queued: 0, leased: 0, waiting: 0 });
    expect(await journal.claim('w', LEASE_MS, 10)).toEqual([]);
  });

  it('stop cancels a released run at once, and reports its usage', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    await journal.append(claim, [step(usage(3, 1))]);
    await journal.release(claim);
    await stop(claim.runId);
    const [, end] = await journal.readEvents(claim.runId, -1, 10);
    expect(end).toMatchObject({ event: 'run.cancelled' });
    expect(JSON.parse(end!.payload)).toEqual({ usage_so_far: usage(3, 1) });
  });

  itTimed('stop cancels a run with an expired lease at once, and its owner is refused', async () => {
    const { journal, clock } = subject;
    const claim = await claimedRun(journal);
    clock.advance(LEASE_MS);
    await stop(claim.runId);
    expect(await status(claim.runId)).toBe('cancelled');
    await expect(journal.append(claim, [completed()])).rejects.toThrow(LeaseLostError);
    expect(await journal.queueDepth()).toMatchObject({ queued: 0, leased: 0, waiting: 0 });
  });

  it('twenty stops at once are one stop', async () => {
    const claim = await claimedRun(subject.journal);
    const posted = await Promise.all(counting(20).map(() => stop(claim.runId)));
    expect(posted.flat()).toHaveLength(1);
  });

  it('accepts exactly one of many answers to an approval', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    await journal.append(claim, [approvalRequest('a')]);
    const answers = await Promise.allSettled(
      counting(10).map((i) =>
        journal.post(claim.runId, { kind: 'approval', choice: i % 2 ? 'once' : 'deny', all: false }),
      ),
    );
    expect(answers.filter((answer) => answer.status === 'fulfilled')).toHaveLength(1);
    for (const answer of answers) {
      if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ code: 'approval_not_pending' });
    }
    expect(await journal.readPosted(claim.runId, -1)).toHaveLength(1);
  });

  it('answers an approval and shows the answer in the stream', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    await journal.append(claim, [
      approvalsQueued(queuedApproval('a'), queuedApproval('b')),
      approvalRequest('a'),
    ]);
    expect(await status(claim.runId)).toBe('waiting_for_approval');

    await journal.post(claim.runId, { kind: 'approval', choice: 'deny', requestId: 'apr_a', all: true });

    expect(await status(claim.runId)).toBe('running');
    const [, answer] = await journal.readEvents(claim.runId, -1, 10);
    expect(JSON.parse(answer!.payload)).toEqual({ choice: 'deny', resolved: 2, request_id: 'apr_a' });
    expect(await journal.readPosted(claim.runId, -1)).toMatchObject([
      { private: { request_ids: ['apr_a', 'apr_b'] } },
    ]);
  });

  it('accepts the answer to an approval that was requested before a restart', async () => {
    const claim = await claimedRun(subject.journal);
    await subject.journal.append(claim, [approvalRequest('a')]);
    const journal = await subject.reopen();
    expect((await journal.getRun(claim.runId))?.state.approval?.request_id).toBe('apr_a');
    const posted = await journal.post(claim.runId, { kind: 'approval', choice: 'once', all: false });
    expect(names(posted)).toEqual(['approval.responded']);
  });
}
