/**
 * The contract of `BlobStore` as a test suite. Every driver runs it from its own test file:
 *
 *   describeBlobStoreContract('directory', openTempBlobs);
 *
 * `open` gives an empty store each time.
 */
import { createHash, randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  BlobGoneError,
  type BlobRange,
  type BlobStore,
  BlobTooLargeError,
  type BlobWrite,
} from './blob-store.ts';

export interface BlobStoreFixture {
  blobs: BlobStore;
  /** Another store on the same data, as after a restart. */
  reopen(): Promise<BlobStore>;
  dispose(): Promise<void>;
}

export type OpenBlobStore = (options: { now: () => number }) => Promise<BlobStoreFixture>;

/** More than two chunks of any driver, and not a multiple of one. */
const LARGE = randomBytes(2_500_000);
const SMALL = Buffer.from('a small one');
const EMPTY = Buffer.alloc(0);
const UNKNOWN = '0'.repeat(32);
const NOW = 1_700_000_000_000;

export function describeBlobStoreContract(name: string, open: OpenBlobStore): void {
  describe(`the contract of blobs: ${name}`, () => {
    let fixture: BlobStoreFixture;
    let now: number;
    beforeEach(async () => {
      now = NOW;
      fixture = await open({ now: () => now });
    });
    afterEach(() => fixture.dispose());

    const blobs = (): BlobStore => fixture.blobs;
    const write = (bytes: Buffer, options?: BlobWrite) => blobs().write(pieces(bytes), options);
    const read = (blobId: string, range?: BlobRange, from = blobs()) => collect(from.read(blobId, range));
    const listed = async (): Promise<string[]> =>
      (await blobs().list(undefined, 1000)).map(({ blobId }) => blobId);
    const gone = (blobId: string) => expect(read(blobId)).rejects.toBeInstanceOf(BlobGoneError);

    it('bytes are read as they were written, whatever their size, also after a restart', async () => {
      for (const bytes of [LARGE, SMALL, EMPTY]) {
        const written = await write(bytes);
        expect(written).toEqual({
          blobId: expect.any(String),
          size: bytes.length,
          sha256: createHash('sha256').update(bytes).digest('hex'),
          writtenAt: NOW,
        });
        expect((await read(written.blobId)).equals(bytes)).toBe(true);
        expect((await read(written.blobId, undefined, await fixture.reopen())).equals(bytes)).toBe(true);
      }
    });

    it('pieces of any size make the same blob', async () => {
      const expected = await write(LARGE);
      for (const size of [LARGE.length, 1024 * 1024, 1_048_577, 99_991]) {
        const { blobId, sha256 } = await blobs().write(pieces(LARGE, size));
        expect(sha256).toBe(expected.sha256);
        expect((await read(blobId)).equals(LARGE)).toBe(true);
      }
    });

    it('keeps zeros wherever they are', async () => {
      const zeros = Buffer.alloc(1_200_000);
      for (const parts of [[zeros], [SMALL, zeros], [zeros, SMALL], [LARGE, zeros, SMALL, zeros, zeros]]) {
        const whole = Buffer.concat(parts);
        const { blobId, size } = await write(whole);
        expect(size).toBe(whole.length);
        expect((await read(blobId)).equals(whole)).toBe(true);
      }
    });

    it('equal bytes are two blobs: removing one leaves the other', async () => {
      const [first, second] = [await write(SMALL), await write(SMALL)];
      expect(first.blobId).not.toBe(second.blobId);
      await blobs().remove([first.blobId]);
      expect(await read(second.blobId)).toEqual(SMALL);
    });

    it.each([
      [0, 1],
      [0, LARGE.length],
      [5, 5],
      [1_048_575, 1_048_577],
      [1_048_576, 2_097_152],
      [1_000_000, 2_400_000],
      [LARGE.length - 1, LARGE.length],
      [LARGE.length, LARGE.length],
    ])('reads the bytes from %i to %i', async (start, end) => {
      const { blobId } = await write(LARGE);
      expect((await read(blobId, { start, end })).equals(LARGE.subarray(start, end))).toBe(true);
    });

    it('a range that ends behind the blob is refused', async () => {
      const { blobId } = await write(SMALL);
      await expect(read(blobId, { start: 0, end: SMALL.length + 1 })).rejects.toBeInstanceOf(RangeError);
    });

    it('a reader that stops early leaves nothing open', async () => {
      const { blobId } = await write(LARGE);
      for await (const piece of blobs().read(blobId)) {
        expect(piece.length).toBeLessThan(LARGE.length);
        break;
      }
      expect((await read(blobId)).equals(LARGE)).toBe(true);
    });

    it('more bytes than allowed are refused and leave nothing; exactly as many are accepted', async () => {
      for (const bytes of [SMALL, LARGE]) {
        const refused = write(bytes, { maxBytes: bytes.length - 1 });
        await expect(refused).rejects.toBeInstanceOf(BlobTooLargeError);
        await expect(refused).rejects.toMatchObject({ maxBytes: bytes.length - 1 });
        expect(await listed()).toEqual([]);
      }
      await write(SMALL, { maxBytes: SMALL.length });
      expect(await listed()).toHaveLength(1);
    });

    it('bytes that end with an error leave nothing', async () => {
      async function* broken() {
        yield* pieces(LARGE);
        throw new Error('cut off');
      }
      await expect(blobs().write(broken())).rejects.toThrow('cut off');
      expect(await listed()).toEqual([]);
    });

    it('a signal ends a write that waits for its next piece, and leaves nothing', async () => {
      const stopping = new AbortController();
      const waiting = Promise.withResolvers<void>();
      async function* endless() {
        yield* pieces(LARGE);
        waiting.resolve();
        await new Promise(() => {});
      }
      const write = blobs().write(endless(), { signal: stopping.signal });
      write.catch(() => {});
      await waiting.promise;
      stopping.abort(new Error('the client has gone'));
      await expect(write).rejects.toThrow('the client has gone');
      expect(await listed()).toEqual([]);
      await expect(blobs().write(pieces(SMALL), { signal: stopping.signal })).rejects.toThrow('has gone');
      expect(await listed()).toEqual([]);
    });

    it('a blob is not found before it is whole', async () => {
      const before = await listed();
      const last = Promise.withResolvers<void>();
      const half = Promise.withResolvers<void>();
      async function* slow() {
        yield* pieces(LARGE);
        half.resolve();
        await last.promise;
        yield SMALL;
      }
      const writing = blobs().write(slow());
      await half.promise;
      // The sweep has to see it, because the process may die now. Readers must not.
      for (const blobId of await listed()) await gone(blobId);
      last.resolve();
      const { blobId } = await writing;
      expect((await read(blobId)).equals(Buffer.concat([LARGE, SMALL]))).toBe(true);
      expect(await listed()).toEqual([...before, blobId]);
    });

    it('a blob that is removed while it is written never becomes whole', async () => {
      const removed = Promise.withResolvers<void>();
      const half = Promise.withResolvers<void>();
      async function* slow() {
        yield* pieces(LARGE);
        half.resolve();
        await removed.promise;
        yield LARGE;
      }
      const writing = blobs().write(slow());
      writing.catch(() => {});
      await half.promise;
      await expect.poll(listed).toHaveLength(1);
      await blobs().remove(await listed());
      removed.resolve();
      await expect(writing).rejects.toThrow();
      expect(await listed()).toEqual([]);
    });

    it('a removed blob is gone, and removing it again does nothing', async () => {
      const [small, large, kept] = [await write(SMALL), await write(LARGE), await write(SMALL)];
      await blobs().remove([small.blobId, large.blobId, UNKNOWN]);
      await blobs().remove([small.blobId, UNKNOWN]);
      await blobs().remove([]);
      await gone(small.blobId);
      await gone(large.blobId);
      expect(await listed()).toEqual([kept.blobId]);
    });

    it('ids that no store has made are not found, whatever they look like', async () => {
      for (const id of [UNKNOWN, '', '../../etc/passwd', `${UNKNOWN}.part`, 'ab/..']) {
        await gone(id);
        await blobs().remove([id]);
      }
    });

    it('lists every blob once, in pages, with the time of its writing', async () => {
      const written = new Map<string, number>();
      for (let i = 0; i < 25; i++) {
        now += 1_000;
        const { blobId, writtenAt } = await write(SMALL);
        written.set(blobId, writtenAt);
      }
      const found: string[] = [];
      for (let after: string | undefined; ; after = found.at(-1)) {
        const page = await blobs().list(after, 7);
        if (page.length === 0) break;
        expect(page.length).toBeLessThanOrEqual(7);
        for (const { blobId, writtenAt } of page) {
          expect(writtenAt).toBe(written.get(blobId));
          found.push(blobId);
        }
      }
      expect(found).toEqual([...written.keys()].sort());
    });

    it('many are written and read at the same time', async () => {
      const contents = Array.from({ length: 20 }, (_, i) => (i % 5 === 0 ? LARGE : randomBytes(10_000)));
      const written = await Promise.all(contents.map((bytes) => write(bytes)));
      const found = await Promise.all(written.map(({ blobId }) => read(blobId)));
      expect(found.map((bytes, i) => bytes.equals(contents[i]!))).toEqual(contents.map(() => true));
    });
  });
}

async function* pieces(bytes: Buffer, size = 60_001): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function collect(bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytes) chunks.push(chunk);
  return Buffer.concat(chunks);
}
