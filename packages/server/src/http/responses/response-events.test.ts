import { createSseParser, type ResponseEvent, TalariaError } from '@talaria/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { EventBatch, Subscriber } from '../../journal/feeds.ts';
import type { LogRecord } from '../../journal/records.ts';
import { ResponseFold } from '../../responses/response-fold.ts';
import {
  accepted,
  anyRun,
  claimed,
  completed,
  finished,
  HEAD,
  journalOf,
  SECRETS,
  said,
  started,
  startedByClient,
  stepped,
  storedEvents,
  toLog,
  waiting,
} from '../../responses/testing/runs.ts';
import { ResponseEvents } from './response-events.ts';

function allEvents(log: readonly LogRecord[]): ResponseEvent[] {
  const fold = new ResponseFold(HEAD, SECRETS);
  return [...fold.open(), ...log.flatMap((record) => fold.apply(record))];
}

/** A reader of a run whose events come in pieces of these sizes. */
function eventsOf(
  log: readonly LogRecord[],
  sizes: readonly number[] = [1000],
  afterSeq = -1,
  restartsStreams = false,
): ResponseEvents {
  return new ResponseEvents({
    runId: HEAD.runId,
    afterSeq,
    restartsStreams,
    fold: new ResponseFold(HEAD, SECRETS),
    journal: journalOf(log),
    subscribe(after, subscriber) {
      let attached = true;
      void (async () => {
        let rest = storedEvents(log).filter(({ seq }) => seq > after);
        for (let i = 0; rest.length > 0 && attached; i += 1) {
          const size = sizes[i % sizes.length]!;
          subscriber.deliver(rest.slice(0, size) as unknown as EventBatch);
          rest = rest.slice(size);
          if (i % 2 === 0) await subscriber.ready?.();
        }
      })();
      return () => {
        attached = false;
      };
    },
  });
}

/** The events, without the error that follows a failure and is none. */
function decode(bytes: Buffer): ResponseEvent[] {
  return framesIn(bytes).filter(({ type }) => type !== 'error') as ResponseEvent[];
}

function framesIn(bytes: Buffer): { type: string }[] {
  const frames: { type: string }[] = [];
  const parser = createSseParser({
    onMessage: ({ event, data }) => {
      frames.push(JSON.parse(data) as { type: string });
      expect(event).toBe(frames.at(-1)!.type);
    },
  });
  parser.feed(bytes.toString());
  return frames;
}

/** Everything that a stream writes if its reader refuses this many batches and then attaches again. */
async function written(events: ResponseEvents, refusals: number): Promise<ResponseEvent[]> {
  const { promise, resolve, reject } = Promise.withResolvers<ResponseEvent[]>();
  const told = decode(events.open);
  let left = refusals;
  let after = events.after;
  const attach = (): void => {
    const subscriber: Subscriber = {
      deliver(batch) {
        if (left > 0) {
          left -= 1;
          detach();
          queueMicrotask(attach);
          return;
        }
        const { bytes, ended } = events.encode(batch);
        after = batch.at(-1)!.seq;
        told.push(...decode(bytes));
        if (ended) resolve(told);
      },
      fail: reject,
    };
    const detach = events.subscribe(after, subscriber);
  };
  if (events.ended) return told;
  attach();
  return promise;
}

test('are those of one part of a run that waited for its client', async () => {
  const log = toLog([
    accepted,
    claimed,
    stepped('', [{ id: 'c1' }]),
    startedByClient('c1'),
    waiting('c1'),
    claimed,
    finished('c1', 'snow'),
    ...said('It ', 'snows'),
    stepped('It snows'),
    completed('It snows'),
  ]);
  const wait = log.findIndex(({ event }) => event === 'run.waiting');
  const seq = log[wait]!.seq!;
  for (const size of [1, 2, 1000]) {
    for (const [after, part] of [
      [-1, log.slice(0, wait + 1)],
      [seq, log.slice(wait + 1)],
    ] as const) {
      const all = allEvents(part);
      expect(all.at(-1)).toMatchObject({ type: 'response.completed' });
      expect(await written(eventsOf(log, [size], after), 0)).toEqual(all);
      const events = eventsOf(log, [size], after);
      await events.skipTo(all.length - 2);
      expect(await written(events, 0)).toEqual(all.slice(-1));
      await expect(eventsOf(log, [size], after).skipTo(all.length)).rejects.toThrow(/beyond the last event/);
    }
  }
});

const sizes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1 });

test('are complete, however they arrive and however often a reader falls behind', () =>
  fc.assert(
    fc.asyncProperty(anyRun, sizes, fc.nat({ max: 3 }), async (log, cuts, refusals) => {
      expect(await written(eventsOf(log, cuts), refusals)).toEqual(allEvents(log));
    }),
  ));

test('are exactly the rest for a reader that has some of them', () =>
  fc.assert(
    fc.asyncProperty(anyRun, sizes, fc.nat(), fc.nat({ max: 2 }), async (log, cuts, seed, refusals) => {
      const all = allEvents(log);
      const had = seed % all.length;
      const events = eventsOf(log, cuts);
      await events.skipTo(had);
      expect(await written(events, refusals)).toEqual(all.slice(had + 1));
    }),
  ));

test('cannot start after an event that does not exist', () =>
  fc.assert(
    fc.asyncProperty(anyRun, fc.nat({ max: 5 }), async (log, beyond) => {
      const skipping = eventsOf(log).skipTo(allEvents(log).length + beyond);
      await expect(skipping).rejects.toMatchObject({ code: 'invalid_cursor', param: 'starting_after' });
    }),
  ));

test('end with the reason when they are cut off, under the number of the last one', async () => {
  const [log] = fc.sample(anyRun, 1);
  const events = eventsOf(log!);
  const told = await written(events, 0);
  const [last] = framesIn(events.interrupted(new TalariaError('gateway_draining')));
  expect(last).toMatchObject({
    type: 'error',
    code: 'gateway_draining',
    message: expect.stringContaining(HEAD.runId),
    sequence_number: told.length - 1,
    error: { type: 'invalid_request_error', code: 'gateway_draining' },
  });
});

const FAILED = toLog([
  accepted,
  claimed,
  { event: 'run.failed', public: { error: 'Too many', error_code: 'provider_rate_limit' } },
]);

test.each([
  [false, 'provider_rate_limit'],
  [true, 'invalid_prompt'],
])('tell a failure once more as an error, for a client that restarts streams: %s', async (restarts, code) => {
  const events = eventsOf(FAILED, [1000], -1, restarts);
  const { promise: bytes, resolve, reject } = Promise.withResolvers<Buffer>();
  events.subscribe(-1, { deliver: (batch) => resolve(events.encode(batch).bytes), fail: reject });
  const [failed, error] = framesIn(await bytes).slice(-2) as unknown as Record<string, object>[];
  expect(failed).toMatchObject({
    type: 'response.failed',
    response: { error: { code, message: 'Too many' } },
  });
  expect(error).toEqual({
    type: 'error',
    sequence_number: failed!.sequence_number,
    code: 'provider_rate_limit',
    message: 'Too many',
    param: null,
    // Nothing in it looks as if the request could succeed later.
    error: { type: 'invalid_request_error', code: 'provider_error', message: 'Too many', param: null },
  });
});

test('fail their reader when the log cannot be read', async () => {
  const [log] = fc.sample(anyRun, 1);
  const failure = new Error('disk');
  const events = new ResponseEvents({
    runId: HEAD.runId,
    fold: new ResponseFold(HEAD, SECRETS),
    journal: { ...journalOf(log!), readLog: () => Promise.reject(failure) },
    subscribe(_after, subscriber) {
      subscriber.deliver(storedEvents(log!) as unknown as EventBatch);
      return () => {};
    },
  });
  await expect(written(events, 0)).rejects.toBe(failure);
});

test('are read only as far as the reader takes them', async () => {
  const output = 'x'.repeat(1000);
  const calls = Array.from({ length: 50 }, (_, i) => `call_${i}`);
  const log = toLog([
    accepted,
    claimed,
    ...calls.flatMap((id) => [stepped('', [{ id }]), started(id), finished(id, output)]),
    completed('done'),
  ]);
  const journal = journalOf(log);
  let read = 0;
  const events = new ResponseEvents({
    runId: HEAD.runId,
    fold: new ResponseFold(HEAD, SECRETS),
    journal: {
      ...journal,
      async readLog(...asked) {
        const records = await journal.readLog(...asked);
        read += records.length;
        return records;
      },
    },
    subscribe(_after, subscriber) {
      subscriber.deliver(storedEvents(log) as unknown as EventBatch);
      return () => {};
    },
  });
  const { promise: enough, resolve } = Promise.withResolvers<void>();
  let taken = 0;
  const taker: Subscriber = {
    deliver(batch) {
      if (taken + batch.length > 4) return resolve();
      taken += batch.length;
      events.encode(batch);
    },
    fail: () => {},
  };
  events.subscribe(-1, taker);
  await enough;
  await new Promise((done) => setImmediate(done));
  expect(taken).toBe(4);
  expect(read).toBeLessThan(20);
});
