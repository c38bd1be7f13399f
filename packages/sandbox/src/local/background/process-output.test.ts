import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { anyText } from '../../../../../test/support/any-text.ts';
import { ProcessOutput } from './process-output.ts';

let dir: string;
let files = 0;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'talaria-output-'));
});

afterAll(() => rm(dir, { recursive: true }));

async function openOutput(limitBytes: number, spoolLimitBytes = 1_000_000) {
  const path = join(dir, String(files++));
  const output = new ProcessOutput({ limitBytes, spoolLimitBytes }, async () => ({
    handle: await open(path, 'wx'),
    path,
  }));
  await output.open();
  return { output, path };
}

test('whenever it is taken, every byte is taken once or counted as left out, and no character is cut', async () => {
  const steps = fc.array(fc.record({ text: anyText({ maxLength: 40 }), take: fc.boolean() }));
  await fc.assert(
    fc.asyncProperty(
      steps,
      fc.integer({ min: 8, max: 64 }),
      fc.integer({ min: 1, max: 7 }),
      async (parts, limit, cut) => {
        const whole = Buffer.from(parts.map(({ text }) => text).join(''));
        const { output, path } = await openOutput(limit);
        let [taken, left] = [Buffer.alloc(0), 0];
        const take = () => {
          const { text, droppedBytes } = output.take();
          expect(Buffer.from(text).toString()).toBe(text);
          expect(whole.subarray(left + taken.length + droppedBytes).indexOf(text)).toBe(0);
          left += droppedBytes;
          taken = Buffer.concat([taken, Buffer.from(text)]);
        };
        for (const { text, take: now } of parts) {
          const bytes = Buffer.from(text);
          for (let at = 0; at < bytes.length; at += cut) {
            await output.write(bytes.subarray(at, at + cut));
            if (now) take();
          }
        }
        await output.end();
        take();
        expect(taken.length + left).toBe(whole.length);
        expect(output.totalBytes).toBe(whole.length);
        expect(await readFile(path)).toEqual(whole);
      },
    ),
    { numRuns: 50 },
  );
});

test('a log that is full, or that cannot be stored, says so and delays nothing', async () => {
  const { output, path } = await openOutput(10, 15);
  for (const part of ['0123456789', 'abcdefghij', 'x']) await output.write(Buffer.from(part));
  expect(output.logGap).toBe('the log holds only the first 15 of 21 bytes');
  expect(output.take()).toEqual({ text: 'bcdefghijx', droppedBytes: 11 });
  await output.end();
  expect(await readFile(path, 'utf8')).toBe('0123456789abcde');

  const lost = new ProcessOutput({ limitBytes: 10, spoolLimitBytes: 15 }, async () => {
    throw new Error('no room');
  });
  await lost.open();
  await lost.write(Buffer.from('kept'));
  expect([lost.logPath, lost.logGap]).toEqual([undefined, 'the output could not be kept: no room']);
  expect(lost.take().text).toBe('kept');
  await lost.end();
});
