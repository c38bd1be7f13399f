import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OutputCapture } from './output-capture.ts';

let dir: string;
let files = 0;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'talaria-capture-'));
});

afterAll(() => rm(dir, { recursive: true }));

async function capture(chunks: Buffer[], limitBytes: number, spoolLimitBytes = 1_000_000) {
  const path = join(dir, String(files++));
  const output = new OutputCapture({ limitBytes, spoolLimitBytes }, async () => ({
    handle: await open(path, 'wx'),
    path,
  }));
  for (const chunk of chunks) {
    // The chunk's memory is used again for the next one, as the reader of a pipe does.
    const reused = Buffer.from(chunk);
    await output.write(reused);
    reused.fill(0);
  }
  return output.finish();
}

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  let at = 0;
  for (let turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] as number;
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

const sizes = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1 });

test('an output up to the limit comes back unchanged, in whatever chunks it came', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 60 }), sizes, async (text, chunkSizes) => {
      const bytes = Buffer.from(text);
      const result = await capture(cut(bytes, chunkSizes), Math.max(bytes.length, 1));
      expect(result).toEqual({ text, totalBytes: bytes.length, truncated: false, spoolPath: undefined });
    }),
  );
});

test('a longer output keeps its head and tail, its size, and the whole on disk', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: 'grapheme', minLength: 41, maxLength: 400 }),
      fc.integer({ min: 8, max: 40 }),
      sizes,
      async (text, limitBytes, chunkSizes) => {
        const bytes = Buffer.from(text);
        const result = await capture(cut(bytes, chunkSizes), limitBytes);
        expect(result).toMatchObject({ totalBytes: bytes.length, truncated: true });
        expect(await readFile(result.spoolPath as string)).toEqual(bytes);
        const [head, tail] = result.text.split(
          /\n\[\.\.\. .* left out; the whole output is in .* \.\.\.\]\n/s,
        );
        expect(text.startsWith(head as string)).toBe(true);
        expect(text.endsWith(tail as string)).toBe(true);
        // At most one character, of four bytes at most, is missing on either side of the cut.
        const kept = Buffer.byteLength(head as string) + Buffer.byteLength(tail as string);
        expect(kept).toBeLessThanOrEqual(limitBytes);
        expect(kept).toBeGreaterThanOrEqual(limitBytes - 6);
        expect(result.text).toContain(`${bytes.length - kept} of ${bytes.length} bytes left out`);
      },
    ),
    { numRuns: 60 },
  );
});

test('the disk holds no more than its limit, and the text says so', async () => {
  const bytes = Buffer.alloc(1000, 'x');
  const result = await capture(cut(bytes, [64]), 100, 300);
  expect(result.totalBytes).toBe(1000);
  expect((await readFile(result.spoolPath as string)).length).toBe(300);
  expect(result.text).toContain('its first 300 bytes are in');
});

test('a spool that fails loses the whole output, but not the head and tail', async () => {
  const output = new OutputCapture({ limitBytes: 10, spoolLimitBytes: 100 }, async () => {
    throw new Error('no space');
  });
  await output.write(Buffer.from('0123456789abcdef'));
  await output.write(Buffer.from('ghij'));
  const result = await output.finish();
  expect(result.spoolPath).toBeUndefined();
  expect(result.text).toBe(
    '01234\n[... 10 of 20 bytes left out; the whole output could not be kept: no space ...]\nfghij',
  );
});

test('bytes that are not UTF-8 do not confuse the cut', async () => {
  const result = await capture([Buffer.alloc(100, 0x80)], 20);
  expect(result.text.startsWith('\ufffd'.repeat(10))).toBe(true);
  expect(result.totalBytes).toBe(100);
});
