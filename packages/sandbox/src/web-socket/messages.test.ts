import fc from 'fast-check';
import { expect, test } from 'vitest';
import { encodeMessage, type Message, MessageParser } from './messages.ts';
import { clientFrames, serverFrame } from './testing/server-frames.ts';

const MAX_BYTES = 200_000;
const NO_FRAME = 'expected a frame of a server';

function parse(...chunks: Buffer[]): Message[] {
  const parser = new MessageParser(MAX_BYTES);
  return chunks.flatMap((chunk) => [...parser.parse(chunk)]);
}

const dataMessage = fc.record({
  type: fc.constantFrom('text' as const, 'binary' as const),
  parts: fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 4 }),
});

test('messages come out as a server sent them, whatever their parts, however their bytes are cut', () => {
  fc.assert(
    fc.property(
      fc.array(dataMessage),
      fc.array(fc.integer({ min: 1, max: 200 })),
      fc.boolean(),
      (sent, cuts, pings) => {
        const frames = sent.flatMap(({ type, parts }) =>
          parts.flatMap((part, index) => [
            serverFrame({
              type: index === 0 ? type : 'continuation',
              payload: Buffer.from(part),
              final: index === parts.length - 1,
            }),
            // A ping may come between the parts of a message.
            ...(pings ? [serverFrame({ type: 'ping', payload: 'here?' })] : []),
          ]),
        );
        let rest = Buffer.concat(frames);
        const chunks = cuts.map((cut) => {
          const chunk = rest.subarray(0, cut);
          rest = rest.subarray(cut);
          return chunk;
        });
        const found = parse(...chunks, rest).filter(({ type }) => type !== 'ping');
        const whole = sent.map(({ type, parts }) => ({ type, bytes: Buffer.concat(parts) }));
        expect(found).toEqual(whole);
      },
    ),
  );
});

test.each([0, 1, 125, 126, 127, 65_535, 65_536, MAX_BYTES])('%i bytes go both ways unchanged', (length) => {
  const bytes = Buffer.alloc(length, 'abcdefg');
  expect(parse(serverFrame({ type: 'binary', payload: bytes }))).toEqual([{ type: 'binary', bytes }]);
  const [frame, ...others] = clientFrames(encodeMessage('binary', bytes));
  expect(others).toEqual([]);
  expect(frame).toMatchObject({ type: 'binary', masked: true, payload: bytes });
});

test('a client masks each message anew, and leaves the bytes that it was given as they are', () => {
  const bytes = Buffer.alloc(64, 'secret');
  const sent = Array.from({ length: 5 }, () =>
    clientFrames(encodeMessage('text', bytes))[0]?.raw.toString('hex'),
  );
  expect(new Set(sent).size).toBe(5);
  expect(sent).not.toContain(bytes.toString('hex'));
  expect(bytes).toEqual(Buffer.alloc(64, 'secret'));
});

test('a message over the limit is refused by its length alone, in one frame or in many', () => {
  const tooLong = Buffer.alloc(10);
  tooLong.writeUInt8(0x82);
  tooLong.writeUInt8(127, 1);
  for (const length of [BigInt(MAX_BYTES + 1), 2n ** 63n]) {
    tooLong.writeBigUInt64BE(length, 2);
    expect(() => parse(tooLong)).toThrow(`is over ${MAX_BYTES} bytes`);
  }
  const half = Buffer.alloc(MAX_BYTES / 2 + 1);
  expect(() =>
    parse(
      serverFrame({ type: 'binary', payload: half, final: false }),
      serverFrame({ type: 'continuation', payload: half, final: false }),
    ),
  ).toThrow(`is over ${MAX_BYTES} bytes`);
});

test.each([
  ['a masked frame', Buffer.from([0x82, 0x80, 0, 0, 0, 0])],
  ['a frame of an extension', Buffer.from([0xc2, 0])],
  ['an unknown type', Buffer.from([0x83, 0])],
  ['a continuation of nothing', serverFrame({ type: 'continuation' })],
  [
    'a message within another',
    Buffer.concat([serverFrame({ type: 'text', final: false }), serverFrame({ type: 'text' })]),
  ],
  ['a ping in several frames', serverFrame({ type: 'ping', final: false })],
  ['a ping of 126 bytes', serverFrame({ type: 'ping', payload: Buffer.alloc(126) })],
  ['an answer of HTTP', Buffer.from('HTTP/1.1 502 Bad Gateway\r\n')],
])('%s is refused', (_, bytes) => {
  expect(() => parse(bytes)).toThrow(NO_FRAME);
});
