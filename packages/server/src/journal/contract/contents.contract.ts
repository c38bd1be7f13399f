/** Who needs which blob (contents.ts). The bytes themselves play no part. */
import { describe, expect, it } from 'vitest';
import { BLOB_GRACE_MS, FIRST_REFERENCE_MS, type NewBlob } from '../contents.ts';
import type { Subject } from '../journal.contract.ts';
import {
  claimedRun,
  completed,
  createRun,
  evictExpired,
  finishedRun,
  HEADS_KEPT,
  NO_LIMIT,
  newRun,
} from '../testing/records.ts';

const [A, B, C] = ['a', 'b', 'c'].map((letter) => letter.repeat(32)) as [string, string, string];
const refusedWith = (code: string) => expect.objectContaining({ code });

export function contentsContract(subject: Subject): void {
  const { itTimed } = subject;
  const contents = () => subject.journal.contents;
  const fresh = (blobId: string): NewBlob => ({ blobId, writtenAt: subject.clock.now() });
  /** As the sweep sees them, long after they were written. */
  const unneeded = (...blobIds: string[]) =>
    contents().unneeded(
      blobIds.map((blobId) => ({ blobId, writtenAt: 0 })),
      BLOB_GRACE_MS,
    );

  it('a blob is needed while somebody holds it, also after a restart', async () => {
    await contents().hold('file:1', [fresh(B), fresh(A)]);
    await contents().hold('file:2', [fresh(C)]);
    expect(await contents().heldBy('file:1')).toEqual([A, B]);
    expect(await contents().heldBy('file:3')).toEqual([]);
    expect(await unneeded(A, B, C, 'd')).toEqual(['d']);
    const { contents: reopened } = await subject.reopen();
    const old = [A, B, C].map((blobId) => ({ blobId, writtenAt: 0 }));
    expect(await reopened.drop('file:1')).toEqual([A, B]);
    expect((await reopened.unneeded(old)).sort()).toEqual([A, B]);
    expect(await reopened.drop('file:1')).toEqual([]);
  });

  it('holding a blob twice is holding it once', async () => {
    await contents().hold('file:1', [fresh(A), fresh(A)]);
    await contents().hold('file:1', [fresh(A), { blobId: A, from: 'file:1' }]);
    expect(await contents().drop('file:1')).toEqual([A]);
  });

  it('only the last holder that drops a blob gets it back as unneeded', async () => {
    await contents().hold('file:1', [fresh(A), fresh(B)]);
    await contents().hold('session:s', [{ blobId: A, from: 'file:1' }]);
    await contents().hold('run:1', [{ blobId: A, from: 'session:s' }, fresh(C)]);
    expect(await contents().drop('file:1')).toEqual([B]);
    expect(await contents().drop('run:1')).toEqual([C]);
    expect(await contents().drop('session:s')).toEqual([A]);
  });

  it('a holder may let go of some of its blobs', async () => {
    await contents().hold('run:1', [fresh(A), fresh(B), fresh(C)]);
    expect(await contents().drop('run:1', [B, C, 'd'])).toEqual([B, C]);
    expect(await contents().drop('run:1', [])).toEqual([]);
    expect(await contents().heldBy('run:1')).toEqual([A]);
  });

  it.each([
    ['file:1', 'file_not_found'],
    ['run:1', 'run_not_found'],
    ['session:1', 'session_not_found'],
  ] as const)('what %s does not hold cannot be taken from it, and then nothing is', async (from, code) => {
    await contents().hold(from, [fresh(A)]);
    const taken = [fresh(C), { blobId: A, from }, { blobId: B, from }];
    await expect(contents().hold('run:2', taken)).rejects.toEqual(refusedWith(code));
    expect(await contents().heldBy('run:2')).toEqual([]);
    await contents().drop(from);
    await expect(contents().hold('run:2', [{ blobId: A, from }])).rejects.toEqual(refusedWith(code));
    expect(await unneeded(A, B, C)).toHaveLength(3);
  });

  itTimed(
    'a blob is needed for a while after it was written, and a reference comes in time or not at all',
    async () => {
      const blob = fresh(A);
      subject.clock.advance(FIRST_REFERENCE_MS);
      await contents().hold('file:1', [blob]);
      await contents().drop('file:1');
      subject.clock.advance(1);
      await expect(contents().hold('file:1', [blob])).rejects.toEqual(refusedWith('store_unavailable'));
      subject.clock.advance(BLOB_GRACE_MS - FIRST_REFERENCE_MS - 2);
      expect(await contents().unneeded([blob])).toEqual([]);
      subject.clock.advance(1);
      expect(await contents().unneeded([blob])).toEqual([A]);
      expect(await contents().unneeded([blob], 2 * BLOB_GRACE_MS)).toEqual([]);
    },
  );

  it('a blob that one takes while another drops it is needed if the taker succeeded, and gone otherwise', async () => {
    for (let round = 0; round < 10; round++) {
      const blobId = `${round}`.padStart(32, '0');
      await contents().hold(`file:${round}`, [fresh(blobId)]);
      const [taken, dropped] = await Promise.allSettled([
        contents().hold(`run:${round}`, [{ blobId, from: `file:${round}` }]),
        contents().drop(`file:${round}`),
      ]);
      expect(dropped.status).toBe('fulfilled');
      expect(dropped).toHaveProperty('value', taken.status === 'fulfilled' ? [] : [blobId]);
      expect(await unneeded(blobId)).toEqual(taken.status === 'fulfilled' ? [] : [blobId]);
    }
  });

  describe('a run', () => {
    it('keeps its blobs until it is evicted, whatever becomes of those it took them from', async () => {
      const { journal } = subject;
      await contents().hold('file:1', [fresh(A)]);
      const runId = await finishedRun(journal, { blobs: [{ blobId: A, from: 'file:1' }, fresh(B)] });
      expect(await contents().heldBy(`run:${runId}`)).toEqual([A, B]);
      expect(await contents().drop('file:1')).toEqual([]);
      await contents().hold('file:2', [{ blobId: B, from: `run:${runId}` }]);
      expect(await journal.evict([runId], HEADS_KEPT)).toEqual([A]);
      expect(await unneeded(A, B)).toEqual([A]);
      expect(await journal.evict([runId], HEADS_KEPT)).toEqual([]);
    });

    it('keeps them while it is unfinished, even when its eviction is asked for', async () => {
      const { journal } = subject;
      const claim = await claimedRun(journal, { blobs: [fresh(A)] });
      expect(await journal.evict([claim.runId], HEADS_KEPT)).toEqual([]);
      expect(await unneeded(A)).toEqual([]);
      await journal.append(claim, [completed()]);
      await evictExpired(journal, 0, 10);
      expect(await unneeded(A)).toEqual([A]);
    });

    it('is refused if a blob is gone, leaves nothing, and may be sent again with the same key', async () => {
      const { journal } = subject;
      const idempotency = { key: 'k', bodyHash: 'h' };
      await contents().hold('file:1', [fresh(A)]);
      const blobs = [
        { blobId: A, from: 'file:1' as const },
        { blobId: B, from: 'file:gone' as const },
      ];
      const run = newRun({ idempotency, blobs, sessionId: 's' });
      const [refused, created] = await Promise.allSettled([
        journal.createRun(run, NO_LIMIT),
        journal.createRun(newRun(), NO_LIMIT),
      ]);
      expect(refused).toMatchObject({
        status: 'rejected',
        reason: { code: 'file_not_found', message: 'File not found: gone' },
      });
      expect(created).toMatchObject({ value: { kind: 'created' } });
      expect(await journal.getRun(run.runId)).toBeUndefined();
      expect(await contents().heldBy(`run:${run.runId}`)).toEqual([]);
      expect(await journal.createRun(newRun({ idempotency }), NO_LIMIT)).toEqual({ kind: 'created' });
    });

    it('that is replayed or refused for another reason holds nothing', async () => {
      const { journal } = subject;
      const idempotency = { key: 'k', bodyHash: 'h' };
      await createRun(journal, { idempotency });
      const replayed = newRun({ idempotency, blobs: [fresh(A)] });
      expect(await journal.createRun(replayed, NO_LIMIT)).toMatchObject({ kind: 'replayed' });
      const full = newRun({ blobs: [fresh(A)] });
      expect(await journal.createRun(full, { maxQueued: 0, ownerShare: 0 })).toMatchObject({
        kind: 'queue_full',
      });
      expect(await unneeded(A)).toEqual([A]);
    });
  });
}
