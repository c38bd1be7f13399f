/** For stores that several servers share: which servers there are, and where the workspaces of runs are. */
import { createRunId } from '@talaria/protocol';
import { expect, it } from 'vitest';
import type { Subject } from '../journal.contract.ts';
import { LeaseLostError } from '../journal.ts';
import { type NewServer, type Peers, SILENT_MS } from '../peers.ts';
import { claimedRun, completed, createRun, evictExpired, LEASE_MS, newRun } from '../testing/records.ts';

const A: NewServer = {
  serverId: 'server_a',
  url: 'http://a:8642',
  role: 'all',
  version: '1.0.0',
  maxRuns: 2,
};
const B: NewServer = { ...A, serverId: 'server_b', url: 'http://b:8642' };
const HOUR_MS = 3_600_000;

export function peersContract(subject: Subject): void {
  const { itTimed } = subject;
  const peers = (): Peers => subject.journal.peers!;
  const known = async () => (await peers().servers.list()).servers.map(({ serverId }) => serverId);
  const whereIs = async (runId: string) => (await peers().workspaces.locate(runId))?.serverId;

  it('share a secret, which stays the same', async () => {
    const { secret } = peers();
    expect(secret.length).toBeGreaterThanOrEqual(32);
    const reopened = await subject.reopen();
    expect(reopened.peers?.secret).toEqual(secret);
  });

  itTimed('are known after they announce themselves, seen while they live, and remembered', async () => {
    const { servers } = peers();
    const startedAt = await servers.announce(A);
    await servers.announce(B);
    subject.clock.advance(1_000);
    expect(await servers.renew(A, startedAt)).toBe(true);
    expect(await servers.list()).toEqual({
      now: startedAt + 1_000,
      servers: [
        { ...A, startedAt, seenAt: startedAt + 1_000, stoppedAt: null },
        { ...B, startedAt, seenAt: startedAt, stoppedAt: null },
      ],
    });
    await servers.leave(A.serverId, startedAt);
    const [left] = (await servers.list()).servers;
    expect(left).toMatchObject({ serverId: A.serverId, stoppedAt: startedAt + 1_000 });
    await servers.announce({ ...A, url: 'http://elsewhere' });
    expect((await servers.list()).servers[0]).toMatchObject({ url: 'http://elsewhere', stoppedAt: null });
  });

  itTimed('admit as many runs beyond a full queue as the others have room for', async () => {
    const { journal } = subject;
    const { servers } = peers();
    const full = { maxQueued: 0, ownerShare: 0 };
    const create = async () => (await journal.createRun(newRun(), full)).kind;
    expect(await create()).toBe('queue_full');
    const startedAt = await servers.announce(A);
    expect([await create(), await create(), await create()]).toEqual(['created', 'created', 'queue_full']);
    await journal.claim(A.serverId, LEASE_MS, 1);
    expect(await create()).toBe('queue_full');
    await servers.announce(B);
    expect(await create()).toBe('created');
    await servers.leave(A.serverId, startedAt);
    expect(await journal.createRun(newRun(), full)).toEqual({ kind: 'queue_full', excess: 1 });
    subject.clock.advance(SILENT_MS);
    expect(await journal.createRun(newRun(), full)).toEqual({ kind: 'queue_full', excess: 3 });
  });

  it('hear that another server uses the same id', async () => {
    const { servers } = peers();
    const first = await servers.announce(A);
    const second = await servers.announce(A);
    expect(second).not.toBe(first);
    expect(await servers.renew(A, first)).toBe(false);
    await servers.leave(A.serverId, first);
    expect(await servers.renew(A, second)).toBe(true);
    expect((await servers.list()).servers).toMatchObject([{ stoppedAt: null }]);
  });

  itTimed('are forgotten when they were not seen for long and hold nothing that is kept', async () => {
    const { servers, workspaces } = peers();
    await servers.announce(A);
    await servers.announce(B);
    const claim = await claimedRun(subject.journal);
    await workspaces.place(claim, A.serverId);
    subject.clock.advance(HOUR_MS);
    await servers.forget(HOUR_MS + 1);
    expect(await known()).toEqual([A.serverId, B.serverId]);
    await servers.forget(HOUR_MS);
    expect(await known()).toEqual([A.serverId]);
    await subject.journal.append(claim, [completed()]);
    await evictExpired(subject.journal, 0, 1);
    await servers.forget(HOUR_MS);
    expect(await known()).toEqual([]);
    expect(await servers.renew(B, 1)).toBe(true);
    expect(await known()).toEqual([B.serverId]);
    expect(await workspaces.evicted(A.serverId, 10)).toEqual([]);
  });

  it('find a workspace on the server that worked on the run last', async () => {
    const { journal } = subject;
    await peers().servers.announce(A);
    const first = await claimedRun(journal);
    expect(await peers().workspaces.locate(first.runId)).toBeUndefined();
    await peers().workspaces.place(first, A.serverId);
    expect(await peers().workspaces.locate(first.runId)).toMatchObject({
      serverId: A.serverId,
      server: { url: A.url },
    });
    await journal.release(first);
    const [second] = await journal.claim('other', LEASE_MS, 1);
    expect(await whereIs(first.runId)).toBe(A.serverId);
    await peers().workspaces.place(second!, B.serverId);
    expect(await peers().workspaces.locate(first.runId)).toEqual({ serverId: B.serverId, server: undefined });
    await journal.release(second!);
    const [third] = await journal.claim('worker', LEASE_MS, 1);
    await peers().workspaces.place(third!, A.serverId);
    expect(await whereIs(first.runId)).toBe(A.serverId);
  });

  it('place no workspace for a run that they have lost', async () => {
    const { journal } = subject;
    const lost = await claimedRun(journal);
    await journal.release(lost);
    await expect(peers().workspaces.place(lost, A.serverId)).rejects.toThrow(LeaseLostError);
    const [held] = await journal.claim('other', LEASE_MS, 1);
    await peers().workspaces.place(held!, B.serverId);
    await expect(peers().workspaces.place(lost, A.serverId)).rejects.toThrow(LeaseLostError);
    expect(await whereIs(lost.runId)).toBe(B.serverId);
    await journal.append(held!, [completed()]);
    await expect(peers().workspaces.place(held!, B.serverId)).rejects.toThrow(LeaseLostError);
  });

  itTimed('hear of the workspaces of deleted runs until they have deleted them', async () => {
    const { journal, clock } = subject;
    const { workspaces } = peers();
    const first = await claimedRun(journal);
    await workspaces.place(first, A.serverId);
    await journal.release(first);
    const [second] = await journal.claim('other', LEASE_MS, 1);
    await workspaces.place(second!, B.serverId);
    await journal.append(second!, [completed()]);
    const kept = await claimedRun(journal);
    await workspaces.place(kept, A.serverId);
    expect(await workspaces.evicted(A.serverId, 10)).toEqual([]);
    clock.advance(HOUR_MS);
    await evictExpired(journal, HOUR_MS, 10);
    expect(await workspaces.evicted(A.serverId, 10)).toEqual([first.runId]);
    expect(await workspaces.evicted(B.serverId, 10)).toEqual([first.runId]);
    await workspaces.removed(A.serverId, [first.runId, kept.runId]);
    expect(await workspaces.evicted(A.serverId, 10)).toEqual([]);
    expect(await workspaces.evicted(B.serverId, 10)).toEqual([first.runId]);
    expect(await whereIs(kept.runId)).toBe(A.serverId);
  });

  it('record workspaces that they find for existing runs, and learn of the others', async () => {
    const { journal } = subject;
    const { workspaces } = peers();
    const claim = await claimedRun(journal);
    await workspaces.place(claim, B.serverId);
    const found = await createRun(journal);
    const stranger = createRunId();
    expect(await workspaces.adopt(A.serverId, [claim.runId, found, stranger])).toEqual([stranger]);
    expect(await whereIs(found)).toBe(A.serverId);
    // A record made under a lease is newer than files that merely exist.
    expect(await whereIs(claim.runId)).toBe(B.serverId);
    await journal.append(claim, [completed()]);
    await evictExpired(journal, 0, 10);
    expect(await workspaces.adopt(A.serverId, [claim.runId])).toEqual([]);
    expect(await workspaces.evicted(A.serverId, 10)).toEqual([claim.runId]);
  });
}
