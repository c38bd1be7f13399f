/** The event reader on connections that break, repeat, lose or damage data. */
import { encodeEventJson, encodeSseFrame, type RunEvent } from '@talaria/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { errorOf } from '../../../test/support/error-of.ts';
import { Connection } from './connection.ts';
import { toAPIError } from './error-answer.ts';
import { ConnectionError, StreamInterruptedError } from './errors.ts';
import { type FollowOptions, followEvents } from './follow-events.ts';

const RUN = 'run_1';
const CLOSED = ': stream closed\n';
const nothingMore = () =>
  new Connection(new Response(null, { status: 204 }), new AbortController(), () => {});

/** The events of a run of this many events; the last one is terminal. */
function frames(count: number): string[] {
  return Array.from({ length: count }, (_, seq) => {
    const event = seq === count - 1 ? 'run.completed' : 'message.delta';
    const payload = JSON.stringify({ delta: `ü${seq} ` });
    return encodeSseFrame(seq, encodeEventJson(RUN, { seq, event, at: seq, payload }));
  });
}

/** A connection that delivers these bytes, and then ends or breaks. */
function bring(text: string | Uint8Array, end: 'ends' | 'breaks' = 'ends'): Connection {
  const bytes = typeof text === 'string' ? new TextEncoder().encode(text) : text;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      if (bytes.length > 0) controller.enqueue(bytes);
    },
    pull(controller) {
      if (end === 'ends') controller.close();
      else controller.error(new TypeError('terminated'));
    },
  });
  return new Connection(new Response(body), new AbortController(), () => {});
}

interface Followed {
  seqs: number[];
  cursors: (number | undefined)[];
  error: unknown;
}

/** Follows over these connections in turn. Each gets the events that the server holds after the cursor. */
async function follow(
  connections: ((cursor: number | undefined) => Connection)[],
  options: Partial<FollowOptions> = {},
): Promise<Followed> {
  const followed: Followed = { seqs: [], cursors: [], error: undefined };
  const events = followEvents({
    runId: RUN,
    after: undefined,
    stallMs: 1_000,
    reconnectMs: 60_000,
    waitMs: () => 0,
    signal: undefined,
    connect: async (cursor) => {
      const next = connections[followed.cursors.length];
      followed.cursors.push(cursor);
      if (next === undefined) throw toAPIError(404, new Headers(), 'There are no more connections');
      return next(cursor);
    },
    ...options,
  });
  try {
    for await (const batch of events) followed.seqs.push(...batch.map(({ seq }) => seq));
  } catch (error) {
    followed.error = error;
  }
  return followed;
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
const after = (cursor: number | undefined): number => (cursor ?? -1) + 1;

describe('yields every event once and in order', () => {
  /** What may happen to one connection of a stream. */
  const fault = fc.record({
    /** The server begins this many events before the cursor. */
    repeat: fc.nat(3),
    /** Where the connection breaks, as a fraction of its bytes. */
    length: fc.double({ min: 0, max: 1, noNaN: true }),
    /** Where one byte is damaged, as a fraction of the length, and its new value. */
    damage: fc.option(
      fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), to: fc.constantFrom(0, 0xff) }),
    ),
    /** The frame that is lost. */
    missing: fc.option(fc.nat(5)),
    end: fc.constantFrom('ends' as const, 'breaks' as const),
  });

  it('however connections repeat, break off, lose a frame or damage a byte', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 12 }),
        fc.array(fault, { maxLength: 8 }),
        async (count, faults) => {
          const whole = frames(count);
          const faulty = faults.map(
            ({ repeat, length, damage, missing, end }) =>
              (cursor: number | undefined) => {
                const sent = whole.slice(Math.max(0, after(cursor) - repeat));
                if (missing !== null) sent.splice(missing, 1);
                const bytes = new TextEncoder().encode(`: open\n\n${sent.join('')}${CLOSED}`);
                if (damage !== null) bytes[Math.floor(damage.at * (bytes.length - 1))] = damage.to;
                return bring(bytes.subarray(0, Math.floor(length * bytes.length)), end);
              },
          );
          const good = (cursor: number | undefined) => bring(whole.slice(after(cursor)).join('') + CLOSED);

          const { seqs, error } = await follow([...faulty, good, good]);

          // When the only event of a run is damaged every time, the run looks like one without events; the error says
          // so.
          if (count === 1 && error instanceof StreamInterruptedError) return;
          expect(error).toBeUndefined();
          expect(seqs).toEqual(upTo(count));
        },
      ),
    );
  });

  it('even when the first event is lost every time and the server then says that the stream is over', async () => {
    const whole = frames(3);
    const lossy = () => bring(whole.slice(1).join('') + CLOSED);
    const { seqs, cursors } = await follow([lossy, lossy, lossy, lossy, () => bring(whole.join(''))]);
    expect(seqs).toEqual([0, 1, 2]);
    expect(cursors).toHaveLength(5);
  });

  it('from a cursor', async () => {
    const whole = frames(4);
    const { seqs, cursors } = await follow([() => bring(whole[2]!, 'breaks'), () => bring(whole.join(''))], {
      after: 1,
    });
    expect(seqs).toEqual([2, 3]);
    expect(cursors).toEqual([1, 2]);
  });

  it('yields none when the cursor is at the terminal event', async () => {
    for (const count of [1, 4]) {
      const whole = frames(count);
      const rest = (cursor: number | undefined) => bring(whole.slice(after(cursor)).join('') + CLOSED);
      const { seqs, error } = await follow([rest, rest], { after: count - 1 });
      expect({ seqs, error }).toEqual({ seqs: [], error: undefined });
    }
  });

  it('yields none after a 204, at once or on a reconnect', async () => {
    const at = await follow([nothingMore], { after: 3 });
    expect(at).toEqual({ seqs: [], cursors: [3], error: undefined });
    const lost = () => bring(frames(4).slice(0, 3).join(''), 'breaks');
    expect(await follow([lost, nothingMore])).toMatchObject({ seqs: [0, 1, 2], error: undefined });
  });
});

describe('the stream ends with', () => {
  it('the error of its first connection', async () => {
    const lost = new ConnectionError('nobody there');
    const { error } = await follow([], { connect: () => Promise.reject(lost) });
    expect(error).toBe(lost);
  });

  it.each([400, 401, 404, 410])('an HTTP %i, at any time', async (status) => {
    const refused = toAPIError(status, new Headers(), '{"error":{"message":"x","code":"invalid_cursor"}}');
    const { seqs, error } = await follow([
      () => bring(frames(3)[0]!),
      () => {
        throw refused;
      },
    ]);
    expect(seqs).toEqual([0]);
    expect(error).toBe(refused);
  });

  it('a StreamInterruptedError with the cursor when the server does not come back in time', async () => {
    let connections = 0;
    const { seqs, error } = await follow([], {
      reconnectMs: 30_000,
      // The pause after the third failed attempt would end too late.
      waitMs: (retries) => (retries < 3 ? 0 : 40_000),
      connect: async () => {
        if (connections++ === 0) return bring(frames(3)[0]!);
        throw new ConnectionError('nobody there');
      },
    });
    expect(seqs).toEqual([0]);
    expect(error).toBeInstanceOf(StreamInterruptedError);
    expect(error).toMatchObject({ runId: RUN, cursor: 0, cause: new ConnectionError('nobody there') });
    expect(connections).toBe(4);
  });

  it('its first loss when reconnecting is off', async () => {
    const { error, cursors } = await follow([() => bring(frames(3)[0]!)], {
      reconnectMs: 0,
      waitMs: () => 1,
    });
    expect(error).toBeInstanceOf(StreamInterruptedError);
    expect(cursors).toEqual([undefined]);
  });

  it('an error when the server keeps leaving out an event: gaps are never skipped', async () => {
    const whole = frames(4);
    const { seqs, error } = await follow(
      Array(100).fill(() => bring([whole[0], whole[1], whole[3]].join(''))),
      { reconnectMs: 50, waitMs: () => 10 },
    );
    expect(seqs).toEqual([0, 1]);
    expect(error).toMatchObject({ cause: new ConnectionError('Event 2 of run_1 was lost on the way') });
  });

  it('the reason of its signal, also while it waits to reconnect', async () => {
    const abort = new AbortController();
    const { error } = await follow([() => bring('')], {
      signal: abort.signal,
      waitMs: () => {
        setTimeout(() => abort.abort(new Error('enough')));
        return 50_000;
      },
    });
    expect(error).toEqual(new Error('enough'));
  });
});

describe('the pause before a reconnect', () => {
  /** The pauses it computed, and those it took from the server. */
  async function pauses(connections: (() => Connection)[]): Promise<number[]> {
    const retries: number[] = [];
    await follow(connections, {
      waitMs: (n) => {
        retries.push(n);
        return 0;
      },
    });
    return retries;
  }

  it('grows with every attempt that brings no event, and starts small again after an event', async () => {
    const whole = frames(3);
    const nothing = () => bring(': open\n\n', 'breaks');
    expect(
      await pauses([nothing, nothing, () => bring(whole[0]!), nothing, nothing, () => bring(whole.join(''))]),
    ).toEqual([0, 1, 0, 1, 2]);
  });

  it('is never longer than a minute, whatever the server asks for', async () => {
    const waits: number[] = [];
    const abort = new AbortController();
    await follow([() => bring('retry: 99999999999\n\n')], {
      reconnectMs: Number.POSITIVE_INFINITY,
      signal: abort.signal,
      onConnection: (change) => {
        if (change.state === 'open') return;
        waits.push(change.retryInMs);
        abort.abort();
      },
    });
    expect(waits).toEqual([60_000]);
  });

  it('is what Retry-After says, where the server says it', async () => {
    const busy = toAPIError(503, new Headers({ 'retry-after': '0' }), '');
    const whole = frames(2);
    const refuse = () => {
      throw busy;
    };
    expect(await pauses([() => bring(whole[0]!), refuse, refuse, () => bring(whole.join(''))])).toEqual([0]);
  });

  it('is not shorter than the `retry:` of the stream', async () => {
    const whole = frames(2);
    const stretch = (retry: string) => [() => bring(retry + whole[0]), () => bring(whole[1]!)];
    expect(await follow(stretch('retry: 1\n'))).toMatchObject({ seqs: [0, 1], error: undefined });
    const { seqs, error } = await follow(stretch('retry: 60001\n'), { reconnectMs: 60_000 });
    expect(seqs).toEqual([0]);
    expect(error).toBeInstanceOf(StreamInterruptedError);
  });
});

describe('a server that does not number its events', () => {
  const plain = (event: string) => `data: ${JSON.stringify({ event, run_id: RUN })}\n\n`;

  async function names(source: AsyncIterable<RunEvent[]>): Promise<string[]> {
    const seen: string[] = [];
    for await (const batch of source) seen.push(...batch.map(({ event }) => event));
    return seen;
  }

  const read = (connections: Connection[], given: Partial<FollowOptions> = {}) =>
    names(
      followEvents({
        runId: RUN,
        after: undefined,
        stallMs: 1_000,
        reconnectMs: 60_000,
        waitMs: () => 0,
        signal: undefined,
        connect: async () => connections.shift()!,
        ...given,
      }),
    );

  it('is read in one go', async () => {
    const text = plain('message.delta') + plain('run.completed');
    expect(await read([bring(text + CLOSED)])).toEqual(['message.delta', 'run.completed']);
  });

  it('may close a stream in good order without a terminal event', async () => {
    expect(await read([bring(plain('message.delta') + CLOSED)])).toEqual(['message.delta']);
  });

  it.each(['ends', 'breaks'] as const)(
    'does not get a second request when its stream %s early: the error says so',
    async (end) => {
      const connections = [bring(plain('message.delta'), end), bring(plain('run.completed'))];
      const error = await errorOf(read(connections));
      expect(error).toBeInstanceOf(StreamInterruptedError);
      expect((error as Error).message).toMatch(/does not number its events/);
      expect(connections).toHaveLength(1);
    },
  );

  it('gets a second request when no event had come, but its events may then be incomplete', async () => {
    const error = await errorOf(read([bring('', 'breaks'), bring(plain('run.completed'))]));
    expect(error).toBeInstanceOf(StreamInterruptedError);
  });

  it('may have ended without keeping events for a second reader: the error says so', async () => {
    const error = await errorOf(read(Array.from({ length: 9 }, () => bring(CLOSED))));
    expect(error).toBeInstanceOf(StreamInterruptedError);
    expect((error as Error).message).toMatch(/says that the stream is over, but sent no event/);
  });

  it('cannot begin after a cursor', async () => {
    expect(await errorOf(read([bring(plain('run.completed'))], { after: 4 }))).toBeInstanceOf(
      StreamInterruptedError,
    );
  });
});
