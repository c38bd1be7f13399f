/** For stores that several servers share: copies of workspaces for the next owner of a run. */
import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import type { Subject } from '../journal.contract.ts';
import { LeaseLostError } from '../journal.ts';
import { claimedRun, completed, evictExpired, LEASE_MS } from '../testing/records.ts';
import type { WorkspaceSnapshots } from '../workspace-snapshots.ts';

/** More than one chunk of any driver, and not a multiple of a chunk. */
const LARGE = randomBytes(2_500_000);
const SMALL = Buffer.from('a small one');

export function workspaceSnapshotsContract(subject: Subject): void {
  const snapshots = (): WorkspaceSnapshots => subject.journal.snapshots!;

  const read = async (runId: string): Promise<Buffer | undefined> => {
    const found = await snapshots().find(runId);
    if (found === undefined) return undefined;
    const chunks: Uint8Array[] = [];
    for await (const chunk of snapshots().read(runId, found)) chunks.push(chunk);
    return Buffer.concat(chunks);
  };

  it('are read as they were stored, whatever their size, also after a restart', async () => {
    const claim = await claimedRun(subject.journal);
    expect(await snapshots().find(claim.runId)).toBeUndefined();
    for (const bytes of [LARGE, SMALL, LARGE]) {
      const stored = await snapshots().store(claim, 7, pieces(bytes));
      expect(stored).toMatchObject({ pos: 7, bytes: bytes.length });
      expect(await snapshots().find(claim.runId)).toEqual(stored);
      expect(await read(claim.runId)).toEqual(bytes);
    }
    await subject.reopen();
    expect(await read(claim.runId)).toEqual(LARGE);
  });

  it('stay complete when the next one is not stored to its end', async () => {
    const claim = await claimedRun(subject.journal);
    const first = await snapshots().store(claim, 3, pieces(SMALL));
    async function* broken() {
      yield* pieces(LARGE);
      throw new Error('cut off');
    }
    await expect(snapshots().store(claim, 5, broken())).rejects.toThrow('cut off');
    expect(await snapshots().find(claim.runId)).toEqual(first);
    expect(await read(claim.runId)).toEqual(SMALL);
  });

  it('can be confirmed for a later position, as long as they exist', async () => {
    const claim = await claimedRun(subject.journal);
    const first = await snapshots().store(claim, 3, pieces(SMALL));
    expect(await snapshots().confirm(claim, first.snapshotId, 9)).toBe(true);
    expect(await snapshots().find(claim.runId)).toEqual({ ...first, pos: 9 });
    const second = await snapshots().store(claim, 12, pieces(SMALL));
    expect(await snapshots().confirm(claim, first.snapshotId, 15)).toBe(false);
    expect(await snapshots().find(claim.runId)).toEqual(second);
  });

  it('are refused from a server that has lost the run, at any moment', async () => {
    const { journal } = subject;
    const lost = await claimedRun(journal);
    const kept = await snapshots().store(lost, 3, pieces(SMALL));
    /** It loses the run while it stores: part of the snapshot is stored already. */
    async function* andLose() {
      yield* pieces(LARGE);
      await journal.release(lost);
      await journal.claim('other', LEASE_MS, 1);
    }
    await expect(snapshots().store(lost, 5, andLose())).rejects.toThrow(LeaseLostError);
    await expect(snapshots().store(lost, 5, pieces(SMALL))).rejects.toThrow(LeaseLostError);
    await expect(snapshots().confirm(lost, kept.snapshotId, 5)).rejects.toThrow(LeaseLostError);
    expect(await snapshots().find(lost.runId)).toEqual(kept);
    expect(await read(lost.runId)).toEqual(SMALL);
  });

  it('are refused for a run that was released or has ended', async () => {
    const { journal } = subject;
    const released = await claimedRun(journal);
    await journal.release(released);
    await expect(snapshots().store(released, 3, pieces(SMALL))).rejects.toThrow(LeaseLostError);
    const [again] = await journal.claim('other', LEASE_MS, 1);
    await journal.append(again!, [completed()]);
    await expect(snapshots().store(again!, 5, pieces(SMALL))).rejects.toThrow(LeaseLostError);
    expect(await snapshots().find(released.runId)).toBeUndefined();
  });

  it('are not read half old and half new', async () => {
    const claim = await claimedRun(subject.journal);
    const first = await snapshots().store(claim, 3, pieces(LARGE));
    const reading = snapshots().read(claim.runId, first)[Symbol.asyncIterator]();
    await reading.next();
    await snapshots().store(claim, 5, pieces(LARGE));
    await expect(reading.next()).rejects.toThrow();
  });

  it('can be removed when their run has ended, and are deleted with it', async () => {
    const { journal } = subject;
    const first = await claimedRun(journal);
    await snapshots().store(first, 3, pieces(SMALL));
    await snapshots().remove(first.runId);
    expect(await read(first.runId)).toEqual(SMALL);
    await journal.append(first, [completed()]);
    await snapshots().remove(first.runId);
    await snapshots().remove(first.runId);
    expect(await snapshots().find(first.runId)).toBeUndefined();
    const second = await claimedRun(journal);
    await snapshots().store(second, 3, pieces(SMALL));
    await journal.append(second, [completed()]);
    await evictExpired(journal, 0, 10);
    expect(await snapshots().find(second.runId)).toBeUndefined();
  });
}

async function* pieces(bytes: Buffer): AsyncGenerator<Buffer, void> {
  for (let at = 0; at < bytes.length; at += 60_001) yield bytes.subarray(at, at + 60_001);
}
