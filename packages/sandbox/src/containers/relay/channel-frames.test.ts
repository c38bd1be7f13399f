import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ChannelFrame, encodeFrame, FrameParser } from './channel-frames.ts';

const frame = fc.oneof(
  fc.tuple(
    fc.constant('data' as const),
    fc.nat(2 ** 32 - 1),
    fc.uint8Array({ minLength: 1, maxLength: 50 }).map((bytes) => Buffer.from(bytes)),
  ),
  fc.tuple(fc.constant('credit' as const), fc.nat(2 ** 32 - 1), fc.nat(2 ** 32 - 1)),
  fc.tuple(
    fc.constantFrom('open' as const, 'end' as const, 'close' as const),
    fc.nat(2 ** 32 - 1),
    fc.constant(0),
  ),
);

test('frames come out as they went in, however their bytes are cut', () => {
  fc.assert(
    fc.property(fc.array(frame), fc.array(fc.integer({ min: 1, max: 40 })), (frames, cuts) => {
      const parser = new FrameParser();
      const found: ChannelFrame[] = [];
      let rest = Buffer.concat(frames.map(([type, channel, content]) => encodeFrame(type, channel, content)));
      for (const cut of cuts) {
        found.push(...parser.parse(rest.subarray(0, cut)));
        rest = rest.subarray(cut);
      }
      found.push(...parser.parse(rest));
      const said = found.map(({ type, channel, count, bytes }) => [
        type,
        channel,
        type === 'data' ? bytes : count,
      ]);
      expect(said).toEqual(frames);
    }),
  );
});
