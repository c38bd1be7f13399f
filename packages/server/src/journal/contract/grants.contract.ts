/** Grants: what an approval allows beyond its own call, for whom, and for how long. */
import type { ApprovalChoice } from '@talaria/protocol';
import { describe, expect, it } from 'vitest';
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
  const allowed = (owner: string, sessionId: string, ...keys: string[]) =>
    subject.journal.approvals.allows(owner, sessionId, keys);

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
    expect(await journal.approvals.allows('ada', 's', ['delete', 'sudo'])).toBe(true);
    expect(await journal.approvals.allows('ada', 't', ['sudo'])).toBe(true);
    expect(await journal.approvals.allows('ada', 't', ['delete'])).toBe(false);
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

  describe('in a list', () => {
    const listed = async (owner: string) =>
      (await subject.journal.approvals.grants({ owner, limit: 50 })).grants;

    it('are the owner’s own, newest first, each with its scope', async () => {
      await approve('session', ['delete'], { sessionId: 's' });
      await approve('always', ['sudo'], { sessionId: 's' });
      await approve('always', ['chmod'], { owner: 'bob' });
      expect(await listed('ada')).toMatchObject([
        { owner: 'ada', sessionId: undefined, patternKey: 'sudo', lastUsedAt: null },
        { owner: 'ada', sessionId: 's', patternKey: 'delete', lastUsedAt: null },
      ]);
      expect((await listed('ada'))[0]!.id).toMatch(/^grt_[0-9a-f]{32}$/);
    });

    it('come in pages', async () => {
      await approve('always', ['a', 'b', 'c', 'd', 'e']);
      const { approvals } = subject.journal;
      const seen: string[] = [];
      for (let after: string | undefined; ; ) {
        const { grants, next } = await approvals.grants({ owner: 'ada', limit: 2, after });
        seen.push(...grants.map(({ patternKey }) => patternKey));
        if (next === undefined) break;
        after = next;
      }
      expect(seen.toSorted()).toEqual(['a', 'b', 'c', 'd', 'e']);
      const { next } = await approvals.grants({ owner: 'ada', limit: 2 });
      await expect(approvals.grants({ owner: 'bob', limit: 2, after: next })).rejects.toThrow(/next_cursor/);
      await expect(approvals.decisions({ owner: 'ada', limit: 2, after: next })).rejects.toThrow(
        /next_cursor/,
      );
    });

    it('say when they last let a call through, and only those that did', async () => {
      await approve('always', ['delete', 'sudo']);
      expect(await allowed('ada', 's', 'delete', 'chmod')).toBe(false);
      expect((await listed('ada')).map(({ lastUsedAt }) => lastUsedAt)).toEqual([null, null]);
      expect(await allowed('ada', 's', 'delete')).toBe(true);
      const used = (await listed('ada')).filter(({ lastUsedAt }) => lastUsedAt !== null);
      expect(used.map(({ patternKey }) => patternKey)).toEqual(['delete']);
    });

    subject.itTimed('are written once a minute, however often they are used', async () => {
      await approve('always', ['delete']);
      const uses = async () => {
        expect(await allowed('ada', 's', 'delete')).toBe(true);
        return (await listed('ada'))[0]!.lastUsedAt;
      };
      const first = await uses();
      expect(first).toBe(subject.clock.now());
      subject.clock.advance(59_999);
      expect(await uses()).toBe(first);
      subject.clock.advance(1);
      expect(await uses()).toBe(subject.clock.now());
    });
  });

  it('that are taken back allow nothing any more, and can be given again', async () => {
    await approve('always', ['delete', 'sudo']);
    const { approvals } = subject.journal;
    const { grants } = await approvals.grants({ owner: 'ada', limit: 50 });
    const { id } = grants.find(({ patternKey }) => patternKey === 'delete')!;
    expect(await approvals.revoke('bob', id)).toBe(false);
    expect(await allowed('ada', 's', 'delete')).toBe(true);
    expect(await approvals.revoke('ada', id)).toBe(true);
    expect(await approvals.revoke('ada', id)).toBe(false);
    expect(await allowed('ada', 's', 'delete')).toBe(false);
    expect(await allowed('ada', 's', 'sudo')).toBe(true);
    await approve('always', ['delete']);
    expect(await allowed('ada', 's', 'delete')).toBe(true);
  });
}
