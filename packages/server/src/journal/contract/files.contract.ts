/** The files of clients (files.ts). The bytes themselves play no part. */
import { expect, it } from 'vitest';
import { BLOB_GRACE_MS } from '../contents.ts';
import type { FileFilter, NewFile } from '../files.ts';
import type { Subject } from '../journal.contract.ts';
import { createRun } from '../testing/records.ts';

const NO_LIMITS = { maxFiles: 1_000, maxBytes: 1_000_000_000_000 };
const refusedWith = (code: string) => expect.objectContaining({ code });

export function filesContract(subject: Subject): void {
  const { itTimed } = subject;
  const files = () => subject.journal.files;
  const blobOf = (n: number): string => n.toString(16).padStart(32, '0');
  const newFile = (n: number, overrides: Partial<NewFile> = {}): NewFile => ({
    owner: 'ada',
    fileId: `file-${n}`,
    filename: `${n}.txt`,
    purpose: 'user_data',
    blob: { blobId: blobOf(n), size: 10, sha256: 'abc', writtenAt: subject.clock.now() },
    ...overrides,
  });
  const add = (n: number, overrides: Partial<NewFile> = {}) => files().add(newFile(n, overrides), NO_LIMITS);
  const list = async (filter: Partial<FileFilter> = {}) =>
    (await files().list({ owner: 'ada', order: 'desc', limit: 100, ...filter })).map(({ fileId }) => fileId);
  const unneeded = (n: number) =>
    subject.journal.contents.unneeded([{ blobId: blobOf(n), writtenAt: 0 }], BLOB_GRACE_MS);

  it('an added file is found by its owner, also after a restart, and by nobody else', async () => {
    const bytes = 5_000_000_000;
    const stored = await add(1, {
      filename: 'früh "1".csv',
      blob: { ...newFile(1).blob, size: bytes },
    });
    expect(stored).toEqual({
      fileId: 'file-1',
      filename: 'früh "1".csv',
      purpose: 'user_data',
      bytes,
      sha256: 'abc',
      blobId: blobOf(1),
      createdAt: expect.any(Number),
    });
    expect(await files().get('ada', 'file-1')).toEqual(stored);
    expect(await files().get('eve', 'file-1')).toBeUndefined();
    expect(await files().get('ada', 'file-2')).toBeUndefined();
    expect(await list({ owner: 'eve' })).toEqual([]);
    const { files: reopened } = await subject.reopen();
    expect(await reopened.get('ada', 'file-1')).toEqual(stored);
    expect(await reopened.totals('ada')).toEqual({ files: 1, bytes });
    expect(await reopened.totals('eve')).toEqual({ files: 0, bytes: 0 });
  });

  it('its blob is needed until the file is deleted, and longer if a run took it', async () => {
    await add(1);
    await add(2);
    expect(await unneeded(1)).toEqual([]);
    await createRun(subject.journal, { blobs: [{ blobId: blobOf(2), from: 'file:file-2' }] });
    expect(await files().delete('ada', 'file-1')).toEqual([blobOf(1)]);
    expect(await files().delete('ada', 'file-2')).toEqual([]);
    expect(await unneeded(1)).toEqual([blobOf(1)]);
    expect(await unneeded(2)).toEqual([]);
    expect(await list()).toEqual([]);
  });

  it("deleting a file that is not there, or is somebody else's, changes nothing", async () => {
    await add(1);
    await expect(files().delete('eve', 'file-1')).rejects.toEqual(refusedWith('file_not_found'));
    await expect(files().delete('ada', 'file-2')).rejects.toEqual(refusedWith('file_not_found'));
    const both = await Promise.allSettled([files().delete('ada', 'file-1'), files().delete('ada', 'file-1')]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  });

  it('a list is in the order of ids, in pages, by purpose', async () => {
    for (let n = 1; n <= 5; n++) await add(n, { purpose: n % 2 === 0 ? 'vision' : 'user_data' });
    await add(6, { owner: 'eve' });
    expect(await list()).toEqual(['file-5', 'file-4', 'file-3', 'file-2', 'file-1']);
    expect(await list({ order: 'asc', limit: 2 })).toEqual(['file-1', 'file-2']);
    expect(await list({ order: 'asc', after: 'file-2', limit: 2 })).toEqual(['file-3', 'file-4']);
    expect(await list({ after: 'file-3' })).toEqual(['file-2', 'file-1']);
    expect(await list({ purpose: 'vision' })).toEqual(['file-4', 'file-2']);
    expect(await list({ purpose: 'vision', after: 'file-4' })).toEqual(['file-2']);
    expect(await list({ purpose: 'batch' })).toEqual([]);
  });

  it('a list continues after a file that was deleted meanwhile', async () => {
    for (let n = 1; n <= 4; n++) await add(n);
    await files().delete('ada', 'file-3');
    expect(await list({ after: 'file-3' })).toEqual(['file-2', 'file-1']);
    expect(await list({ after: 'file-3', order: 'asc' })).toEqual(['file-4']);
  });

  it('an owner may have as many files and bytes as the limits say, and no more', async () => {
    const limits = { maxFiles: 3, maxBytes: 30 };
    const quota = refusedWith('file_quota_exceeded');
    await files().add(newFile(1), limits);
    await files().add(newFile(2), limits);
    const large = { ...newFile(3).blob, size: 11 };
    await expect(files().add(newFile(3, { blob: large }), limits)).rejects.toEqual(quota);
    expect(await unneeded(3)).toEqual([blobOf(3)]);
    await files().add(newFile(3), limits);
    await expect(files().add(newFile(4, { blob: { ...large, size: 0 } }), limits)).rejects.toEqual(quota);
    await files().add(newFile(5, { owner: 'eve' }), limits);
    await files().delete('ada', 'file-1');
    await files().add(newFile(4), limits);
    expect(await files().totals('ada')).toEqual({ files: 3, bytes: 30 });
  });

  it('files that are added at the same time do not exceed the limits together', async () => {
    const adding = Array.from({ length: 8 }, (_, n) =>
      files().add(newFile(n), { maxFiles: 3, maxBytes: 1000 }),
    );
    const outcomes = await Promise.allSettled(adding);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    expect(await list()).toHaveLength(3);
  });

  itTimed('a blob that was written too long ago makes no file', async () => {
    const file = newFile(1);
    subject.clock.advance(BLOB_GRACE_MS);
    await expect(files().add(file, NO_LIMITS)).rejects.toEqual(refusedWith('store_unavailable'));
    expect(await files().get('ada', 'file-1')).toBeUndefined();
  });
}
