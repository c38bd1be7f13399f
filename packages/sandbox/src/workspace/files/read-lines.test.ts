import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LineWindow, readLines } from './read-lines.ts';

let path: string;
let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'talaria-lines-'));
  path = join(dir, 'file');
});

afterAll(() => rm(dir, { recursive: true }));

const WHOLE: LineWindow = {
  firstLine: 1,
  maxLines: 1_000_000,
  maxBytes: 10_000_000,
  maxScanBytes: 10_000_000,
};

async function read(content: string | Buffer, window: Partial<LineWindow> = {}) {
  await writeFile(path, content);
  await using file = await open(path);
  return await readLines(file, { ...WHOLE, ...window });
}

test('a window contains the requested lines', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ unit: 'grapheme' }).map((line) => line.replaceAll('\n', ''))),
      fc.boolean(),
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 1, max: 12 }),
      async (lines, endsWithNewline, firstLine, maxLines) => {
        const content = lines.join('\n') + (endsWithNewline && lines.length > 0 ? '\n' : '');
        const expected = content.match(/[^\n]*\n|[^\n]+$/g) ?? [];
        const result = await read(content, { firstLine, maxLines });
        expect(result.text).toBe(expected.slice(firstLine - 1, firstLine - 1 + maxLines).join(''));
        expect(result.totalLines).toBe(expected.length);
        expect(result.lineCount).toBe(expected.slice(firstLine - 1, firstLine - 1 + maxLines).length);
        expect(result.cutInLine).toBe(false);
      },
    ),
    { numRuns: 200 },
  );
});

test('lines across the chunks of a read stay whole', async () => {
  const line = `${'ü'.repeat(50_000)}\n`;
  const result = await read(line.repeat(5), { firstLine: 2, maxLines: 2 });
  expect(result.text).toBe(line.repeat(2));
  expect(result.totalLines).toBe(5);
});

test('the byte limit cuts between lines, and in a line only if it stands alone', async () => {
  expect(await read('aaaa\nbbbb\ncccc\n', { maxBytes: 12 })).toMatchObject({
    text: 'aaaa\nbbbb\n',
    lineCount: 2,
    cutInLine: false,
    totalLines: 3,
  });
  expect(await read('日本日本\nnext\n', { maxBytes: 7 })).toMatchObject({
    text: '日本',
    lineCount: 1,
    cutInLine: true,
  });
});

test('the search gives up at its limit', async () => {
  const content = 'x\n'.repeat(200_000);
  const result = await read(content, { firstLine: 190_000, maxLines: 1, maxScanBytes: 65_536 });
  expect(result).toMatchObject({ text: '', reached: false, totalLines: undefined });
});
