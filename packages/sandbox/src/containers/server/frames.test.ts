import { PassThrough, Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ProtocolError, readFrames, writeFrame } from './frames.ts';

async function read(chunks: Iterable<Buffer>, maxBytes = 1_000_000): Promise<unknown[]> {
  const frames: unknown[] = [];
  for await (const frame of readFrames(Readable.from(chunks, { objectMode: false }), maxBytes))
    frames.push(frame);
  return frames;
}

test('values arrive as they were sent, however the bytes are cut', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()), { maxLength: 8 }),
      fc.integer({ min: 1, max: 30 }),
      async (values, size) => {
        const stream = new PassThrough();
        for (const value of values) await writeFrame(stream, value);
        stream.end();
        const bytes = Buffer.concat(await stream.toArray());
        const chunks: Buffer[] = [];
        for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
        expect(await read(chunks)).toEqual(values.map((value) => JSON.parse(JSON.stringify(value))));
      },
    ),
    { numRuns: 60 },
  );
});

test('refuses a line over the limit before it is complete, and one that is not JSON', async () => {
  let taken = 0;
  function* endless(): Generator<Buffer> {
    for (;;) {
      taken += 1000;
      yield Buffer.alloc(1000, 'x');
    }
  }
  await expect(read(endless(), 5_000)).rejects.toThrow(ProtocolError);
  expect(taken).toBeLessThan(200_000);
  await expect(read([Buffer.from('{"a":1}\n{oops}\n')])).rejects.toThrow(ProtocolError);
});

test('a value that was cut off is ignored', async () => {
  expect(await read([Buffer.from('{"a":1}\n{"b":')])).toEqual([{ a: 1 }]);
});

test('a writer waits for a slow reader, and not for one that is gone', async () => {
  const stream = new PassThrough({ highWaterMark: 10 });
  let sent = false;
  const sending = writeFrame(stream, { text: 'x'.repeat(100) }).then(() => {
    sent = true;
  });
  await new Promise(setImmediate);
  expect(sent).toBe(false);
  stream.destroy();
  await sending;
});
