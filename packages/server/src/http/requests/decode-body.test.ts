import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { decodeBody } from './decode-body.ts';

const TEXT = Buffer.from(JSON.stringify({ input: 'héllo'.repeat(100) }));
const MAX = 10_000;

test.each([
  ['gzip', gzipSync(TEXT)],
  ['GZIP ', gzipSync(TEXT)],
  ['x-gzip', gzipSync(TEXT)],
  ['br', brotliCompressSync(TEXT)],
  ['deflate', deflateSync(TEXT)],
  ['deflate', deflateRawSync(TEXT)],
  ['identity', TEXT],
  ['', TEXT],
  [undefined, TEXT],
])('unpacks %s', async (encoding, bytes) => {
  expect((await decodeBody(bytes, encoding, MAX)).equals(TEXT)).toBe(true);
});

test.each(['zip', 'gzip, br', 'constructor', 'utf-8'])(
  'refuses the unknown encoding %s',
  async (encoding) => {
    await expect(decodeBody(TEXT, encoding, MAX)).rejects.toMatchObject({ code: 'unsupported_encoding' });
  },
);

test.each(['gzip', 'br', 'deflate'])('refuses bytes that are not %s, or are cut off', async (encoding) => {
  const packed = { gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync }[encoding]!(TEXT);
  for (const bytes of [TEXT, packed.subarray(0, packed.length - 9)]) {
    await expect(decodeBody(bytes, encoding, MAX)).rejects.toMatchObject({ code: 'invalid_encoding' });
  }
});

test.each(['gzip', 'br', 'deflate'])(
  'refuses a %s body that decompresses to more than the limit',
  async (encoding) => {
    const pack = { gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync }[encoding]!;
    const exact = Buffer.alloc(MAX);
    expect((await decodeBody(pack(exact), encoding, MAX)).length).toBe(MAX);
    const larger = pack(Buffer.alloc(100 * MAX));
    await expect(decodeBody(larger, encoding, MAX)).rejects.toMatchObject({ code: 'body_too_large' });
  },
);

test('ignores an encoding without a body', async () => {
  expect(await decodeBody(Buffer.alloc(0), 'zip', MAX)).toHaveLength(0);
});
