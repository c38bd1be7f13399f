import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyText } from '../../../test/support/any-text.ts';
import {
  createSseDecoder,
  createSseParser,
  encodeEventJson,
  encodeSseFrame,
  SSE_CLOSED,
  SSE_KEEPALIVE,
  SSE_KEEPALIVE_NUMBERED,
  SSE_OPEN,
  type SseMessage,
} from './sse.ts';

interface Parsed {
  messages: SseMessage[];
  comments: string[];
  retries: number[];
}

function parse(chunks: readonly string[]): Parsed {
  const parsed: Parsed = { messages: [], comments: [], retries: [] };
  const parser = createSseParser({
    onMessage: (message) => parsed.messages.push(message),
    onComment: (text) => parsed.comments.push(text),
    onRetry: (delayMs) => parsed.retries.push(delayMs),
  });
  for (const chunk of chunks) parser.feed(chunk);
  return parsed;
}

function cut(text: string, places: readonly number[]): string[] {
  const at = [...new Set(places.map((place) => place % (text.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, i) => text.slice(from, at[i] ?? text.length));
}

/** Text that tries to break a line-based protocol. */
const text = fc.oneof(
  anyText(),
  fc
    .array(
      fc.constantFrom('\n', '\r', '\r\n', '\u2028', '\uFEFF', ':', ' ', 'data: ', '\n\n', '\0', '"', 'ü😀'),
    )
    .map((parts) => parts.join('')),
);
const payload = fc.dictionary(
  fc.oneof(text, fc.constantFrom('delta', 'output')),
  fc.oneof(text, fc.jsonValue()),
);
const cuts = fc.array(fc.nat(), { maxLength: 40 });
const lineEnd = fc.constantFrom('\n', '\r', '\r\n');

describe('a stream of frames', () => {
  const noise = fc.constantFrom('', SSE_KEEPALIVE, SSE_KEEPALIVE_NUMBERED, ': two\n: comments\n\n');

  it('parses back to the same events, wherever it is cut, however lines end, with or without comments', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(payload, noise)),
        lineEnd,
        fc.boolean(),
        cuts,
        (frames, end, withBom, places) => {
          const data = frames.map(([fields], seq) =>
            encodeEventJson('run_1', {
              seq,
              event: 'message.delta',
              at: 1_700_000_000_123,
              payload: JSON.stringify(fields),
            }),
          );
          const stream = [
            SSE_OPEN,
            ...data.map((json, seq) => encodeSseFrame(seq, json) + frames[seq]![1]),
            SSE_CLOSED,
          ];
          const whole = (withBom ? '\uFEFF' : '') + stream.join('').replaceAll('\n', end);

          const { messages, comments } = parse(cut(whole, places));

          expect(messages).toEqual(data.map((json, seq) => ({ id: String(seq), event: '', data: json })));
          expect(comments[0]).toBe('open');
          expect(comments.at(-1)).toBe('stream closed');
        },
      ),
    );
  });

  const oneLine = fc.string({ unit: fc.constantFrom('a', ':', ' ', '\u2028', '\uFEFF', 'ü') });
  const anyFrame = fc.record({
    event: fc.option(oneLine),
    data: fc.array(oneLine, { minLength: 1, maxLength: 3 }),
    comment: fc.boolean(),
  });

  it('with several lines to a frame parses the same whatever ends a line and wherever it is cut', () => {
    fc.assert(
      fc.property(fc.array(anyFrame), lineEnd, cuts, (frames, end, places) => {
        const lines = frames.flatMap(({ event, data, comment }) => [
          ...(event === null ? [] : [`event: ${event}`]),
          ...data.flatMap((line) => (comment ? [': between', `data: ${line}`] : [`data: ${line}`])),
          '',
        ]);
        const stream = lines.map((line) => line + end).join('');
        const expected = frames.map(({ event, data }) => ({
          id: '',
          event: event ?? '',
          data: data.join('\n'),
        }));

        expect(parse([stream]).messages).toEqual(expected);
        expect(parse(cut(stream, places)).messages).toEqual(expected);
        expect(parse([...stream]).messages).toEqual(expected);
      }),
    );
  });

  it('is one id line, one data line and a blank line per event', () => {
    expect(encodeSseFrame(7, '{"a":1}')).toBe('id: 7\ndata: {"a":1}\n\n');
    expect([SSE_OPEN, SSE_KEEPALIVE]).toEqual([': open\n\n', ': keepalive\n\n']);
  });

  it('has no blank line after a comment that follows an id', () => {
    expect([SSE_KEEPALIVE_NUMBERED, SSE_CLOSED]).toEqual([': keepalive\n', ': stream closed\n']);
  });
});

describe('the JSON of an event', () => {
  it('is what JSON.stringify would give for the whole event', () => {
    fc.assert(
      fc.property(payload, fc.nat(), fc.nat({ max: 4_000_000_000_000 }), (fields, seq, at) => {
        const json = encodeEventJson('run_1', {
          seq,
          event: 'run.steered',
          at,
          payload: JSON.stringify(fields),
        });
        const whole = { event: 'run.steered', run_id: 'run_1', timestamp: at / 1000, seq, ...fields };
        expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(whole)));
      }),
    );
  });

  it('is one line whatever its fields contain', () => {
    fc.assert(
      fc.property(payload, (fields) => {
        const json = encodeEventJson('run_1', { seq: 0, event: 'x', at: 0, payload: JSON.stringify(fields) });
        expect(json).not.toMatch(/[\r\n]/);
      }),
    );
  });

  it('has event, run_id, timestamp in seconds and seq, in this order, when the payload is empty', () => {
    expect(
      encodeEventJson('run_1', { seq: 3, event: 'run.cancelled', at: 1_779_510_796_504, payload: '{}' }),
    ).toBe('{"event":"run.cancelled","run_id":"run_1","timestamp":1779510796.504,"seq":3}');
  });
});

describe('the parser on streams of other servers', () => {
  const message = (fields: Partial<SseMessage>): SseMessage => ({ id: '', event: '', data: '', ...fields });

  it.each<[string, string, SseMessage[]]>([
    ['joins data lines with a newline', 'data: a\ndata:\ndata: b\n\n', [message({ data: 'a\n\nb' })]],
    [
      'takes off one leading space only',
      'data:  a\n\ndata:b\n\n',
      [message({ data: ' a' }), message({ data: 'b' })],
    ],
    ['dispatches an empty data line', 'data\n\n', [message({})]],
    ['dispatches nothing without data', 'event: x\nid: 1\n\n', []],
    ['forgets the event name after a frame', 'event: x\n\ndata: a\n\n', [message({ data: 'a' })]],
    ['names the event of its frame', 'event: x\ndata: a\n\n', [message({ event: 'x', data: 'a' })]],
    [
      'keeps the last id for later frames',
      'id: 4\ndata: a\n\ndata: b\n\n',
      [message({ id: '4', data: 'a' }), message({ id: '4', data: 'b' })],
    ],
    ['empties the id with an empty id line', 'id: 4\nid\ndata: a\n\n', [message({ data: 'a' })]],
    ['ignores an id that contains NUL', 'id: 4\nid: 5\0\ndata: a\n\n', [message({ id: '4', data: 'a' })]],
    ['ignores unknown fields', 'foo: bar\ndata: a\n\n', [message({ data: 'a' })]],
    ['drops an unfinished last frame', 'data: a\n\ndata: b\n', [message({ data: 'a' })]],
    ['takes a BOM as such only at the start', 'data: a\n\n\uFEFFdata: b\n\n', [message({ data: 'a' })]],
    ['does not end a line at U+2028', 'data: a\u2028b\n\n', [message({ data: 'a\u2028b' })]],
  ])('%s', (_, stream, expected) => {
    expect(parse([stream]).messages).toEqual(expected);
  });

  it('reports a retry only when it is a whole number of milliseconds', () => {
    expect(parse(['retry: 250\nretry: 1.5\nretry: -1\nretry:\nretry: 10ms\n']).retries).toEqual([250]);
  });

  it('works without handlers for comments and retries', () => {
    const messages: SseMessage[] = [];
    createSseParser({ onMessage: (m) => messages.push(m) }).feed(': hi\nretry: 1\ndata: a\n\n');
    expect(messages).toEqual([message({ data: 'a' })]);
  });
});

describe('the decoder of bytes', () => {
  const encoder = new TextEncoder();
  // Half of a surrogate pair has no UTF-8: JSON text escapes it, other text does not contain it.
  const payload = fc.dictionary(fc.string(), fc.string({ unit: 'grapheme' }));

  function decode(chunks: readonly Uint8Array[]): SseMessage[] {
    const messages: SseMessage[] = [];
    const decoder = createSseDecoder({ onMessage: (message) => messages.push(message) });
    for (const chunk of chunks) decoder.feed(chunk);
    return messages;
  }

  function cutBytes(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
    const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
    return [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length));
  }

  it('gives the same messages wherever the bytes are cut, also inside a character', () => {
    fc.assert(
      fc.property(fc.array(payload), fc.boolean(), cuts, (payloads, withBom, places) => {
        const data = payloads.map((fields) => JSON.stringify({ ...fields, wings: 'ü🪽' }));
        const stream = data.map((json, seq) => encodeSseFrame(seq, json)).join('');
        const bytes = encoder.encode((withBom ? '\uFEFF' : '') + stream);
        const expected = data.map((json, seq) => ({ id: String(seq), event: '', data: json }));

        expect(decode(cutBytes(bytes, places))).toEqual(expected);
        expect(decode(Array.from(bytes, (_, i) => bytes.subarray(i, i + 1)))).toEqual(expected);
      }),
    );
  });

  it('throws for bytes that are not UTF-8, also when a cut hides them at first', () => {
    const bytes = encoder.encode('data: ü\n\n');
    const damaged = bytes.with(bytes.indexOf(0xc3) + 1, 0xff);
    for (let at = 0; at <= damaged.length; at++) {
      expect(() => decode([damaged.subarray(0, at), damaged.subarray(at)])).toThrow(TypeError);
    }
  });

  it('removes one BOM and not a second one', () => {
    expect(decode([encoder.encode('\uFEFFdata: a\n\n')])).toHaveLength(1);
    expect(decode([encoder.encode('\uFEFF\uFEFFdata: a\n\n')])).toEqual([]);
  });
});
