/** Grants: what an approval allows beyond its own call, for whom, and for how long. */
import type { ApprovalChoice } from '@talaria/protocol';
import { expect, it } from 'vitest';
import type { Subject } from '../journal.contract.ts';
import type { Journal, NewRun } from '../journal.ts';
import {
  approvalRequest,
  approvalsQueued,
  claimedRun,
  completed,
  evictExpired,
  queuedApproval,
} from '../testing/records.ts';

export function grantsContract(subject: Subject): void {
  const allowed = async (owner: string, sessionId: string, ...keys: string[]) =>
    (await subject.journal.grants(owner, sessionId)).allow(keys);

  /** A finished run in which `patterns` were approved; its id. */
  async function approve(
    choice: ApprovalChoice,
    patterns: string[],
    run: Partial<NewRun> = {},
  ): Promise<string> {
    const { journal } = subject;
    const claim = await claimedRun(journal, run);
    await journal.append(claim, [approvalRequest('a', patterns)]);
    const [answer] = await journal.post(claim.runId, { kind: 'approval', choice, all: false });
    await journal.append(claim, [completed()], { seenPostedPos: answer!.pos });
    return claim.runId;
  }

  it('do not exist at first', async () => {
    expect(await allowed('ada', 's', 'delete')).toBe(false);
    expect(await allowed('ada', 's')).toBe(true);
  });

  it.each<ApprovalChoice>(['once', 'deny'])('do not come from %s', async (choice) => {
    await approve(choice, ['delete'], { sessionId: 's' });
    expect(await allowed('ada', 's', 'delete')).toBe(false);
  });

  it('for a session hold for this owner and this session only', async () => {
    await approve('session', ['delete'], { sessionId: 's' });
    expect(await allowed('ada', 's', 'delete')).toBe(true);
    expect(await allowed('ada', 't', 'delete')).toBe(false);
    expect(await allowed('bob', 's', 'delete')).toBe(false);
    expect(await allowed('ada', 's', 'sudo')).toBe(false);
  });

  it('for always hold in every session of this owner only', async () => {
    await approve('always', ['delete'], { sessionId: 's' });
    expect(await allowed('ada', 's', 'delete')).toBe(true);
    expect(await allowed('ada', 't', 'delete')).toBe(true);
    expect(await allowed('bob', 's', 'delete')).toBe(false);
  });

  it('allow a call only when they cover all of its patterns', async () => {
    await approve('always', ['delete'], { sessionId: 's' });
    await approve('session', ['sudo', 'format'], { sessionId: 's' });
    expect(await allowed('ada', 's', 'delete', 'sudo', 'format')).toBe(true);
    expect(await allowed('ada', 's', 'delete', 'chmod')).toBe(false);
    expect(await allowed('ada', 't', 'delete', 'sudo')).toBe(false);
  });

  it('for all also cover the patterns of the calls that wait behind', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal, { sessionId: 's' });
    await journal.append(claim, [
      approvalsQueued(queuedApproval('a'), queuedApproval('b', ['sudo', 'chmod'])),
      approvalRequest('a', ['delete']),
    ]);
    await journal.post(claim.runId, { kind: 'approval', choice: 'session', all: true });
    expect(await allowed('ada', 's', 'delete', 'sudo', 'chmod')).toBe(true);
  });

  it('can be given twice', async () => {
    await approve('session', ['delete'], { sessionId: 's' });
    await approve('session', ['delete'], { sessionId: 's' });
    expect(await allowed('ada', 's', 'delete')).toBe(true);
  });

  it('survive a restart', async () => {
    await approve('session', ['delete'], { sessionId: 's' });
    await approve('always', ['sudo'], { sessionId: 's' });
    const journal: Journal = await subject.reopen();
    expect((await journal.grants('ada', 's')).allow(['delete', 'sudo'])).toBe(true);
    expect((await journal.grants('ada', 't')).allow(['sudo'])).toBe(true);
    expect((await journal.grants('ada', 't')).allow(['delete'])).toBe(false);
  });

  it('for a named session and for always outlive the run; those of an unnamed session end with it', async () => {
    await approve('session', ['delete'], { sessionId: 's' });
    await approve('always', ['sudo']);
    const unnamed = await approve('session', ['format']);
    const other = await approve('session', ['format'], { owner: 'bob', sessionId: unnamed });
    expect(await allowed('ada', unnamed, 'format')).toBe(true);

    expect(await evictExpired(subject.journal, 0, 3)).not.toContain(other);

    expect(await allowed('ada', 's', 'delete', 'sudo')).toBe(true);
    expect(await allowed('ada', unnamed, 'format')).toBe(false);
    expect(await allowed('bob', unnamed, 'format')).toBe(true);
  });
}
