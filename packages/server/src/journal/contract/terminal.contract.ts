/** The end of a run: once, last, and never ahead of an accepted post. */
import { isTerminalStatus } from '@talaria/protocol';
import { expect, it } from 'vitest';
import type { Subject } from '../journal.contract.ts';
import { LeaseLostError, UnseenPostError } from '../journal.ts';
import {
  approvalRequest,
  cancelledRecord,
  claimedRun,
  completed,
  createRun,
  failed,
  finishedRun,
  LEASE_MS,
  names,
  reasoning,
} from '../testing/records.ts';

export function terminalContract(subject: Subject): void {
  const lastEvents = async (runId: string) => names(await subject.journal.readEvents(runId, -1, 100));

  it.each([completed(), failed(), cancelledRecord()])(
    'is what $event says, and releases the run',
    async (end) => {
      const { journal } = subject;
      const claim = await claimedRun(journal);
      await journal.append(claim, [reasoning(), end]);
      expect((await journal.getRun(claim.runId))?.state.status).toBe(end.event.slice('run.'.length));
      expect(await journal.queueDepth()).toMatchObject({ queued: 0, leased: 0, waiting: 0 });
      expect(await journal.claim('w', LEASE_MS, 10)).toEqual([]);
    },
  );

  it('is followed by nothing, from anyone', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    await journal.append(claim, [approvalRequest('a'), failed()]);
    const log = await journal.readLog(claim.runId, -1);

    await expect(journal.append(claim, [reasoning()])).rejects.toThrow(LeaseLostError);
    await expect(journal.append(claim, [completed()])).rejects.toThrow(LeaseLostError);
    await expect(journal.post(claim.runId, { kind: 'stop' })).rejects.toMatchObject({
      code: 'run_not_active',
    });
    await expect(journal.post(claim.runId, { kind: 'steer', input: 'x' })).rejects.toMatchObject({
      code: 'run_not_accepting_steer',
    });
    await expect(
      journal.post(claim.runId, { kind: 'approval', choice: 'always', all: true }),
    ).rejects.toMatchObject({ code: 'approval_not_active' });
    await journal.release(claim);
    expect(await journal.renew('worker', [claim], LEASE_MS)).toMatchObject([{ runId: claim.runId }]);
    await journal.claim('w', LEASE_MS, 10);

    expect(await journal.readLog(claim.runId, -1)).toEqual(log);
    expect(await journal.approvals.allows('ada', claim.runId, ['a'])).toBe(false);
  });

  it('happens once when two try at the same time', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    const ends = await Promise.allSettled([
      journal.append(claim, [completed()]),
      journal.append(claim, [failed()]),
    ]);
    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await lastEvents(claim.runId)).toHaveLength(1);
  });

  it('is refused while the owner has not seen a post, and leaves nothing then', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    const [steer] = await journal.post(claim.runId, { kind: 'steer', input: 'left' });
    const [second] = await journal.post(claim.runId, { kind: 'steer', input: 'right' });

    await expect(journal.append(claim, [reasoning(), completed()])).rejects.toThrow(UnseenPostError);
    await expect(journal.append(claim, [completed()], { seenPostedPos: steer!.pos })).rejects.toThrow(
      UnseenPostError,
    );
    expect(await lastEvents(claim.runId)).toEqual([]);
    expect((await journal.getRun(claim.runId))?.state.status).toBe('running');

    await journal.append(claim, [completed()], { seenPostedPos: second!.pos });
    expect((await journal.getRun(claim.runId))?.state.status).toBe('completed');
  });

  it('is refused for a stop and for an answer as it is for a steer', async () => {
    const { journal } = subject;
    const stopped = await claimedRun(journal);
    await journal.post(stopped.runId, { kind: 'stop' });
    await expect(journal.append(stopped, [completed()])).rejects.toThrow(UnseenPostError);

    const asked = await claimedRun(journal);
    await journal.append(asked, [approvalRequest('a')]);
    await journal.post(asked.runId, { kind: 'approval', choice: 'once', all: false });
    await expect(journal.append(asked, [completed()])).rejects.toThrow(UnseenPostError);
  });

  it('is the only record that waits for posts to be seen', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    await journal.post(claim.runId, { kind: 'stop' });
    expect(await journal.append(claim, [reasoning()])).toHaveLength(1);
  });

  it('reports a lost lease before an unseen post', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    await journal.post(claim.runId, { kind: 'stop' });
    await expect(journal.append({ ...claim, epoch: claim.epoch - 1 }, [completed()])).rejects.toThrow(
      LeaseLostError,
    );
  });

  it('and a stop at the same time: one of them is refused', async () => {
    const { journal } = subject;
    for (let round = 0; round < 8; round++) {
      const claim = await claimedRun(journal);
      const calls = [
        () => journal.append(claim, [completed()]),
        () => journal.post(claim.runId, { kind: 'stop' }),
      ];
      if (round % 2 === 1) calls.reverse();
      const results = await Promise.allSettled(calls.map((call) => call()));
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      const { status, last_posted_pos } = (await journal.getRun(claim.runId))!.state;
      expect(['completed', 'stopping']).toContain(status);
      expect(last_posted_pos >= 0).toBe(status === 'stopping');
      if (!isTerminalStatus(status)) {
        await journal.append(claim, [cancelledRecord()], { seenPostedPos: last_posted_pos });
      }
    }
  });

  it('makes the next run of the session claimable', async () => {
    const { journal } = subject;
    await finishedRun(journal, { sessionId: 's' });
    const next = await createRun(journal, { sessionId: 's' });
    expect((await journal.claim('w', LEASE_MS, 10)).map(({ runId }) => runId)).toEqual([next]);
  });
}
