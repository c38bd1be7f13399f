/** Answered questions: what people have decided, across runs. */
import { expect, it } from 'vitest';
import type { Decision } from '../approvals.ts';
import type { Subject } from '../journal.contract.ts';
import {
  approvalRequest,
  approvalsQueued,
  claimedRun,
  completed,
  queuedApproval,
} from '../testing/records.ts';

export function decisionsContract(subject: Subject): void {
  const decided = async (owner = 'ada') =>
    (await subject.journal.approvals.decisions({ owner, limit: 50 })).decisions;
  const ids = (decisions: readonly Decision[]) => decisions.map(({ question }) => question.request_id);

  it('are none before an answer, and then say what was asked, and who decided what', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal, { sessionId: 's' });
    const asked = approvalRequest('a', ['delete']);
    await journal.append(claim, [asked]);
    expect(await decided()).toEqual([]);
    const [answer] = await journal.post(claim.runId, {
      kind: 'approval',
      choice: 'deny',
      all: false,
      by: 'ada',
      message: 'not that one',
    });
    expect(await decided()).toEqual([
      {
        runId: claim.runId,
        question: asked.public,
        choice: 'deny',
        answeredBy: 'ada',
        answeredAt: answer!.at,
        message: 'not that one',
        run: await journal.getRun(claim.runId),
      },
    ]);
  });

  it('include those that one answer settles together', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    await journal.append(claim, [
      approvalsQueued(queuedApproval('a'), queuedApproval('b'), queuedApproval('c')),
      approvalRequest('a'),
    ]);
    await journal.post(claim.runId, { kind: 'approval', choice: 'once', all: true, by: 'ada' });
    const decisions = await decided();
    expect(ids(decisions).toSorted()).toEqual(['apr_a', 'apr_b', 'apr_c']);
    expect(decisions.every(({ choice }) => choice === 'once')).toBe(true);
  });

  it('are none of a question that nobody needed to answer', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    await journal.append(claim, [approvalsQueued(queuedApproval('a'))]);
    await journal.append(claim, [{ event: 'approval.waived', private: { request_id: 'apr_a' } }]);
    expect(await decided()).toEqual([]);
  });

  it('come newest first, in pages, to their owner alone; a run of the list brings no answer along', async () => {
    const { journal } = subject;
    for (const name of ['a', 'b', 'c']) {
      const claim = await claimedRun(journal);
      await journal.append(claim, [approvalRequest(name)]);
      const [answer] = await journal.post(claim.runId, { kind: 'approval', choice: 'once', all: false });
      await journal.append(claim, [completed('a long answer')], { seenPostedPos: answer!.pos });
    }
    const first = await journal.approvals.decisions({ owner: 'ada', limit: 2 });
    expect(ids(first.decisions)).toEqual(['apr_c', 'apr_b']);
    expect(first.decisions[0]!.run.state).toMatchObject({ status: 'completed', output: null });
    const second = await journal.approvals.decisions({ owner: 'ada', limit: 2, after: first.next });
    expect(ids(second.decisions)).toEqual(['apr_a']);
    expect(second.next).toBeUndefined();
    expect(await decided('bob')).toEqual([]);
    const stolen = journal.approvals.decisions({ owner: 'bob', limit: 2, after: first.next });
    await expect(stolen).rejects.toThrow(/next_cursor/);
  });

  it('are listed whatever their runs have said', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    await journal.append(claim, [approvalRequest('a')]);
    const [answer] = await journal.post(claim.runId, { kind: 'approval', choice: 'once', all: false });
    await journal.append(claim, [completed('zero \0, half a pair \ud83d, "output":"')], {
      seenPostedPos: answer!.pos,
    });
    const [decision] = await decided();
    const run = (await journal.getRun(claim.runId))!;
    expect(decision!.run).toEqual({ ...run, state: { ...run.state, output: null } });
  });

  it('survive a restart', async () => {
    const claim = await claimedRun(subject.journal);
    await subject.journal.append(claim, [approvalRequest('a')]);
    const post = { kind: 'approval', choice: 'once', all: false } as const;
    const [answer] = await subject.journal.post(claim.runId, post);
    await subject.journal.append(claim, [completed()], { seenPostedPos: answer!.pos });
    const journal = await subject.reopen();
    const decisions = async () => (await journal.approvals.decisions({ owner: 'ada', limit: 9 })).decisions;
    expect(ids(await decisions())).toEqual(['apr_a']);
  });
}
