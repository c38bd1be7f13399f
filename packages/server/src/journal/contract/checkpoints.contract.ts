/** The records of checkpoints, the blobs they need, and the files that sessions keep (checkpoints.ts). */
import { createRunId } from '@talaria/protocol';
import { expect, it } from 'vitest';
import { createBlobId } from '../../blobs/blob-ids.ts';
import { BlobGoneError, type BlobRange } from '../../blobs/blob-store.ts';
import type { KeptSessionFiles } from '../checkpoints.ts';
import { type NewBlob, runHolder, sessionHolder } from '../contents.ts';
import type { Subject } from '../journal.contract.ts';
import { LeaseLostError } from '../journal.ts';
import type { ForkedFiles } from '../sessions.ts';
import {
  checkpointed,
  checkpointOf,
  claimedRun,
  completed,
  delta,
  evictExpired,
  HEADS_KEPT,
  LEASE_MS,
  NO_LIMIT,
} from '../testing/records.ts';

const [A, B, C] = ['a', 'b', 'c'].map((letter) => letter.repeat(32)) as [string, string, string];
const refusedWith = (code: string) => expect.objectContaining({ code });

export function checkpointsContract(subject: Subject): void {
  const { itTimed } = subject;
  const fresh = (blobId: string): NewBlob => ({ blobId, writtenAt: subject.clock.now() });
  const held = (holder: Parameters<typeof subject.journal.contents.heldBy>[0]) =>
    subject.journal.contents.heldBy(holder);

  const read = async (blobId: string, range?: BlobRange): Promise<string> => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of subject.blobs.read(blobId, range)) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  };
  async function* pieces(text: string) {
    yield Buffer.from(text);
  }

  /** A run in the session `s` that ends with the files of these blobs. */
  async function turn(...blobIds: string[]): Promise<KeptSessionFiles> {
    const claim = await claimedRun(subject.journal, { sessionId: 's' });
    const checkpoint = checkpointOf(1, ...blobIds);
    await subject.journal.append(claim, [checkpointed(checkpoint)], { blobs: blobIds.map(fresh) });
    const sessionFiles = { files: { run_id: claim.runId, checkpoint }, blobIds };
    await subject.journal.append(claim, [completed()], { sessionFiles });
    return sessionFiles;
  }

  it('are read in their order, without the other records, also after a restart', async () => {
    const claim = await claimedRun(subject.journal);
    const [first, missed, second] = [
      checkpointOf(1, A),
      { upto: 3, missed: 'too_large' } as const,
      checkpointOf(5, A, B),
    ];
    await subject.journal.append(claim, [delta(), checkpointed(first), delta()], { blobs: [fresh(A)] });
    await subject.journal.append(claim, [checkpointed(missed), checkpointed(second), completed()], {
      blobs: [fresh(B)],
    });
    const journal = await subject.reopen();
    expect(await journal.readCheckpoints(claim.runId)).toEqual([first, missed, second]);
    expect(await journal.readCheckpoints('run_unknown')).toEqual([]);
  });

  it('events are found by their number, and positions by their last event', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    // Positions 0 and 1 are the records of its creation and its claim.
    await journal.append(claim, [delta(), checkpointed(checkpointOf(2)), delta(), completed()]);
    expect(await Promise.all([0, 1, 2, 3].map((seq) => journal.positionOf(claim.runId, seq)))).toEqual([
      2,
      4,
      5,
      undefined,
    ]);
    expect(await Promise.all([1, 2, 3, 4, 99].map((pos) => journal.lastSeqAt(claim.runId, pos)))).toEqual([
      -1, 0, 0, 1, 2,
    ]);
    expect(await journal.positionOf('run_unknown', 0)).toBeUndefined();
  });

  it('a run needs the blobs of its checkpoints until it is evicted', async () => {
    const claim = await claimedRun(subject.journal);
    await subject.journal.append(claim, [checkpointed(checkpointOf(1, A))], { blobs: [fresh(A)] });
    await subject.journal.append(claim, [checkpointed(checkpointOf(2, A, B)), completed()], {
      blobs: [fresh(B)],
    });
    expect(await held(runHolder(claim.runId))).toEqual([A, B]);
    expect(await evictExpired(subject.journal, 0, 10)).toEqual([claim.runId]);
    expect(await held(runHolder(claim.runId))).toEqual([]);
  });

  it('a small blob is stored with its checkpoint, and read and removed like any other', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    const bytes = Buffer.from('0123456789');
    await journal.append(claim, [checkpointed(checkpointOf(1, A)), completed()], {
      blobs: [{ blobId: A, bytes }],
    });
    expect(await held(runHolder(claim.runId))).toEqual([A]);
    const reopened = await subject.reopen();
    expect(await read(A)).toBe('0123456789');
    expect(await read(A, { start: 3, end: 5 })).toBe('34');
    await expect(read(A, { start: 3, end: 11 })).rejects.toBeInstanceOf(RangeError);
    expect(await subject.blobs.list(undefined, 10)).toEqual([{ blobId: A, writtenAt: expect.any(Number) }]);
    expect(await reopened.evict([claim.runId], HEADS_KEPT)).toEqual([A]);
    await subject.blobs.remove([A]);
    await expect(read(A)).rejects.toBeInstanceOf(BlobGoneError);
    expect(await subject.blobs.list(undefined, 10)).toEqual([]);
  });

  it('small and large blobs are listed together, in pages', async () => {
    const claim = await claimedRun(subject.journal);
    const small = Array.from({ length: 5 }, () => ({ blobId: createBlobId(), bytes: Buffer.from('x') }));
    await subject.journal.append(claim, [checkpointed(checkpointOf(1))], { blobs: small });
    const large = [];
    for (let i = 0; i < 5; i++) large.push(await subject.blobs.write(pieces('large')));
    const found: string[] = [];
    for (let page = await subject.blobs.list(undefined, 3); page.length > 0; ) {
      expect(page.length).toBeLessThanOrEqual(3);
      found.push(...page.map(({ blobId }) => blobId));
      page = await subject.blobs.list(found.at(-1), 3);
    }
    expect(found).toEqual([...small, ...large].map(({ blobId }) => blobId).sort());
  });

  itTimed('a worker that lost its run adds neither a checkpoint nor a reference nor bytes', async () => {
    const lost = await claimedRun(subject.journal);
    subject.clock.advance(LEASE_MS + 1);
    await subject.journal.claim('another', LEASE_MS, 1);
    const blobs = [fresh(A), { blobId: B, bytes: Buffer.from('x') }];
    const append = subject.journal.append(lost, [checkpointed(checkpointOf(1, A, B))], { blobs });
    await expect(append).rejects.toThrow(LeaseLostError);
    expect(await subject.blobs.list(undefined, 10)).toEqual([]);
    expect(await held(runHolder(lost.runId))).toEqual([]);
    expect(await subject.journal.readCheckpoints(lost.runId)).toEqual([]);
  });

  it('a blob that was written too long ago is refused, with the checkpoint', async () => {
    const claim = await claimedRun(subject.journal);
    const blobs = [
      { blobId: B, bytes: Buffer.from('x') },
      { blobId: A, writtenAt: 0 },
    ];
    const append = subject.journal.append(claim, [checkpointed(checkpointOf(1, A, B))], { blobs });
    await expect(append).rejects.toEqual(refusedWith('store_unavailable'));
    expect(await subject.blobs.list(undefined, 10)).toEqual([]);
    expect(await subject.journal.readCheckpoints(claim.runId)).toEqual([]);
  });

  it('a session keeps the files of its last run, longer than the run', async () => {
    const { sessions } = subject.journal;
    expect(await sessions.files('ada', 's')).toBeUndefined();
    await turn(A, B);
    const last = await turn(B, C);
    await evictExpired(subject.journal, 0, 10);
    expect(await held(sessionHolder('ada', 's'))).toEqual([B, C]);
    const journal = await subject.reopen();
    expect(await journal.sessions.files('ada', 's')).toEqual(last.files);
    expect(await journal.sessions.files('bob', 's')).toBeUndefined();
  });

  it('a fork of a session keeps the same files, whatever becomes of the first', async () => {
    const { sessions } = subject.journal;
    const { files } = await turn(A);
    await sessions.fork({ owner: 'ada', from: 's', into: 'fork' });
    await turn(B);
    await sessions.delete('ada', 's');
    await evictExpired(subject.journal, 0, 10);
    expect(await sessions.files('ada', 'fork')).toEqual(files);
    expect(await held(sessionHolder('ada', 'fork'))).toEqual([A]);
    expect(await held(sessionHolder('ada', 's'))).toEqual([]);
  });

  it('a fork of a session may begin with the files of an earlier run, or with none', async () => {
    const { sessions } = subject.journal;
    const [first, last] = [await turn(A), await turn(B)];
    const fork = (into: string, files: ForkedFiles) =>
      sessions.fork({ owner: 'ada', from: 's', into, files });
    await fork('earlier', first);
    await fork('none', null);
    await sessions.delete('ada', 's');
    await evictExpired(subject.journal, 0, 10);
    expect(await sessions.files('ada', 'earlier')).toEqual(first.files);
    expect(await held(sessionHolder('ada', 'earlier'))).toEqual([A]);
    expect(await sessions.files('ada', 'none')).toBeUndefined();
    expect(await held(sessionHolder('ada', 'none'))).toEqual([]);
    const late = sessions.fork({ owner: 'ada', from: 'none', into: 'late', files: last });
    await expect(late).rejects.toEqual(refusedWith('run_not_found'));
    expect(await sessions.get('ada', 'late')).toBeUndefined();
  });

  it("the session of a run's fork may begin with the files of that run", async () => {
    const { journal } = subject;
    const first = await turn(A);
    await turn(B);
    const runId = createRunId();
    const sessionFork = { runId: first.files.run_id, upTo: 0, files: first };
    const request = { prompt: 'again', session_named: true };
    await journal.createRun({ runId, owner: 'ada', sessionId: runId, request, sessionFork }, NO_LIMIT);
    expect(await journal.sessions.files('ada', runId)).toEqual(first.files);
    expect(await held(sessionHolder('ada', runId))).toEqual([A]);
  });

  it('a fork of a session has the files of a mounted directory, and not the directory', async () => {
    const claim = await claimedRun(subject.journal, { sessionId: 's' });
    const checkpoint = { ...checkpointOf(1, A), mounted: 'app' };
    await subject.journal.append(claim, [checkpointed(checkpoint)], { blobs: [fresh(A)] });
    const files = { run_id: claim.runId, checkpoint };
    await subject.journal.append(claim, [completed()], { sessionFiles: { files, blobIds: [A] } });
    await subject.journal.sessions.fork({ owner: 'ada', from: 's', into: 'fork' });
    expect(await subject.journal.sessions.files('ada', 's')).toEqual(files);
    expect(await subject.journal.sessions.files('ada', 'fork')).toEqual({
      run_id: claim.runId,
      checkpoint: checkpointOf(1, A),
    });
  });

  it('a deleted session takes its files along: a new one of that name has none', async () => {
    await turn(A);
    await subject.journal.sessions.delete('ada', 's');
    await claimedRun(subject.journal, { sessionId: 's' });
    expect(await subject.journal.sessions.files('ada', 's')).toBeUndefined();
  });

  itTimed('a session that is unused for too long takes its files along', async () => {
    await turn(A);
    subject.clock.advance(1000);
    expect(await subject.journal.sessions.sweep(500, 10)).toBe(1);
    expect(await held(sessionHolder('ada', 's'))).toEqual([]);
  });
}
