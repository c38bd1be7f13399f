import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Behaviour, WebhookReceiver } from '../../../../test/support/webhook-receiver.ts';
import type { JournalFixture } from '../journal/journal.contract.ts';
import type { Journal } from '../journal/journal.ts';
import type { WebhookSecret } from '../journal/outbox.ts';
import { openTempJournal } from '../journal/sqlite/testing/temp-journal.ts';
import { finishedRun, TestClock } from '../journal/testing/records.ts';
import { waitFor } from '../journal/testing/wait.ts';
import { Deliverer, type DelivererOptions } from './deliverer.ts';

const HOUR_MS = 3600 * 1000;
/** For attempts that should last as long as the test. */
const EVER_MS = 600_000;

let clock: TestClock;
let fixture: JournalFixture;
let journal: Journal;
let receivers: WebhookReceiver[];
let deliverers: Deliverer[];
let logged: string[];

beforeEach(async () => {
  clock = new TestClock();
  fixture = await openTempJournal({ now: clock.now });
  journal = fixture.journal;
  receivers = [];
  deliverers = [];
  logged = [];
});
afterEach(async () => {
  for (const deliverer of deliverers) await deliverer.stop();
  for (const receiver of receivers) await receiver[Symbol.asyncDispose]();
  await fixture.dispose();
});

async function receiverThat(behaviour: Behaviour = 204): Promise<WebhookReceiver> {
  const receiver = await WebhookReceiver.start(behaviour);
  receivers.push(receiver);
  return receiver;
}

function deliver(options: Partial<DelivererOptions> = {}): Deliverer {
  const note = (level: string) => (_: object, message: string) => void logged.push(`${level}: ${message}`);
  const deliverer = new Deliverer({
    outbox: journal.outbox,
    secret: undefined,
    allowPrivate: true,
    userAgent: 'talaria/test',
    log: { debug: () => {}, info: note('info'), warn: note('warn'), error: note('error') },
    // The store's clock stands still unless a test moves it, so the time of the next message says nothing.
    pollMs: 5,
    graceMs: 0,
    random: () => 0.5,
    ...options,
  });
  deliverer.start();
  deliverers.push(deliverer);
  return deliverer;
}

/** A run that has ended and has one message to send. */
const announce = (url: string, secret: WebhookSecret = { kind: 'none' }) =>
  finishedRun(journal, { webhook: { url, secret } });

const state = async (runId: string) => (await journal.outbox.state(runId))!;
const settled = (runId: string) =>
  waitFor(async () => {
    const now = await state(runId);
    expect(now.pending).toBe(0);
    return now;
  });
const failedOnce = (runId: string, error: string) =>
  waitFor(async () => expect((await state(runId)).lastError).toBe(error));

describe('a message', () => {
  it('is sent at once when it is added', async () => {
    deliver({ pollMs: EVER_MS });
    const receiver = await receiverThat();
    const runId = await announce(receiver.url);
    expect(await settled(runId)).toMatchObject({ delivered: 1, failed: 0, lastError: null });
    expect(receiver.received).toHaveLength(1);
    expect(receiver.received[0]).toMatchObject({
      headers: { 'content-type': 'application/json', 'user-agent': 'talaria/test' },
      message: { type: 'run.completed', data: { run_id: runId, output: 'done' } },
    });
  });

  it('that was added before is sent at the start', async () => {
    const receiver = await receiverThat();
    const runId = await announce(receiver.url);
    deliver({ pollMs: EVER_MS });
    await settled(runId);
  });

  it.each<[string, WebhookSecret, string]>([
    ["of the run's own secret", { kind: 'own', value: 'the secret of the run' }, 'the secret of the run'],
    ['of the configured secret', { kind: 'configured' }, 'whsec_dGhlIGNvbmZpZ3VyZWQgc2VjcmV0'],
  ])('carries a signature %s that the openai package accepts', async (_, secret, expected) => {
    deliver({ secret: 'whsec_dGhlIGNvbmZpZ3VyZWQgc2VjcmV0' });
    const receiver = await receiverThat();
    await settled(await announce(receiver.url, secret));
    const { body, headers } = receiver.received[0]!;
    const { webhooks } = new OpenAI({ apiKey: 'none' });
    expect(await webhooks.unwrap(body, headers as Record<string, string>, expected)).toMatchObject({
      object: 'event',
      type: 'run.completed',
    });
  });

  it('is not sent unsigned when the configured secret is missing, but is sent when it is back', async () => {
    const first = deliver();
    const receiver = await receiverThat();
    const runId = await announce(receiver.url, { kind: 'configured' });
    await failedOnce(runId, 'the secret of the default webhook is not configured any more');
    await first.stop();
    expect(receiver.received).toEqual([]);
    deliver({ secret: 'the configured secret' });
    clock.advance(5000);
    await settled(runId);
    expect(receiver.received[0]?.headers['webhook-signature']).toMatch(/^v1,/);
  });
});

describe('a receiver that fails', () => {
  it('gets the message again, with the same id and a new time, until it accepts it', async () => {
    let now = 1_700_000_000_000;
    deliver({ now: () => now });
    const receiver = await receiverThat(500);
    const runId = await announce(receiver.url);
    await failedOnce(runId, 'the receiver answered 500');
    receiver.behaviour = 'close';
    clock.advance(5000);
    await failedOnce(runId, 'the receiver closed the connection');
    receiver.behaviour = 200;
    now += 25_000;
    clock.advance(20_000);
    expect(await settled(runId)).toMatchObject({ delivered: 1, failed: 0 });
    expect(receiver.received).toHaveLength(3);
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(receiver.received.map(({ headers }) => headers['webhook-timestamp'])).toEqual([
      '1700000000',
      '1700000000',
      '1700000025',
    ]);
    expect(logged).toEqual([]);
  });

  it('for a day is given up, and that is logged', async () => {
    const settle = vi.spyOn(journal.outbox, 'settle');
    deliver();
    const receiver = await receiverThat(503);
    const runId = await announce(receiver.url);
    for (let attempts = 1; ; attempts++) {
      await waitFor(() =>
        expect(settle.mock.settledResults.filter(({ type }) => type === 'fulfilled')).toHaveLength(attempts),
      );
      if ((await state(runId)).pending === 0) break;
      clock.advance(4 * HOUR_MS);
    }
    expect(receiver.received).toHaveLength(7);
    expect(await settled(runId)).toMatchObject({ failed: 1, lastError: 'the receiver answered 503' });
    expect(logged).toEqual(['warn: a webhook message is given up: the receiver answered 503']);
    expect(await journal.outbox.counts()).toEqual({ pending: 0, failed: 1 });
  });

  it('for longer than a restart takes is logged, once, if it is the configured one', async () => {
    const receiver = await receiverThat(500);
    const other = await receiverThat(500);
    const settle = vi.spyOn(journal.outbox, 'settle');
    const allSettled = (count: number) =>
      waitFor(() =>
        expect(settle.mock.settledResults.filter(({ type }) => type === 'fulfilled')).toHaveLength(count),
      );
    deliver({ defaultUrl: receiver.url });
    const runs = [await announce(receiver.url), await announce(receiver.url), await announce(other.url)];
    for (const [before, delayMs] of [5_000, 20_000, 80_000].entries()) {
      await allSettled(runs.length * (before + 1));
      expect(logged).toHaveLength(before < 2 ? 0 : 1);
      clock.advance(delayMs);
    }
    await allSettled(runs.length * 4);
    expect(logged).toEqual(['warn: the default webhook fails: the receiver answered 500']);
    receiver.behaviour = 204;
    other.behaviour = 204;
    clock.advance(HOUR_MS);
    for (const runId of runs) await settled(runId);
    expect(logged.slice(1)).toEqual(['warn: the default webhook accepts messages again']);
  });

  it('with 410 gets no second attempt', async () => {
    deliver();
    const receiver = await receiverThat(410);
    const runId = await announce(receiver.url);
    expect(await settled(runId)).toMatchObject({ failed: 1, delivered: 0 });
    expect(receiver.received).toHaveLength(1);
    expect(logged).toHaveLength(1);
  });

  it('by not answering reaches the timeout, and gets the message again', async () => {
    deliver({ attemptMs: 100 });
    const receiver = await receiverThat('hang');
    const runId = await announce(receiver.url);
    await failedOnce(runId, 'no answer within 0.1 s');
    receiver.behaviour = 200;
    clock.advance(5000);
    await settled(runId);
  });

  it('delays no other, however many messages wait for it', async () => {
    const hanging = await receiverThat('hang');
    const quick = await receiverThat();
    for (let i = 0; i < 70; i++) await announce(hanging.url);
    deliver({ attemptMs: EVER_MS });
    await hanging.receives(4);
    const runs: string[] = [];
    for (let i = 0; i < 10; i++) runs.push(await announce(quick.url));
    for (const runId of runs) await settled(runId);
    expect(hanging.received).toHaveLength(4);
  });
});

describe('a name that leads to a private address', () => {
  it('fails the message for good, with that reason', async () => {
    deliver({ allowPrivate: false });
    const receiver = await receiverThat();
    const runId = await announce(receiver.url.replace('127.0.0.1', 'localhost'));
    expect(await settled(runId)).toMatchObject({
      failed: 1,
      lastError: 'the receiver has an address that is not public',
    });
    expect(receiver.received).toEqual([]);
  });
});

describe('several servers', () => {
  it('on one store send each message once', async () => {
    const receiver = await receiverThat();
    for (let i = 0; i < 3; i++) deliver();
    const runs: string[] = [];
    for (let i = 0; i < 30; i++) runs.push(await announce(receiver.url));
    for (const runId of runs) await settled(runId);
    expect(receiver.received.map(({ message }) => message.data.run_id).sort()).toEqual(runs.sort());
  });

  it('finish what they are sending when they stop, if that is quick', async () => {
    const receiver = await receiverThat('hang');
    const first = deliver({ attemptMs: EVER_MS, graceMs: EVER_MS });
    const runId = await announce(receiver.url);
    await receiver.receives(1);
    const stopped = first.stop();
    receiver.answerHanging(204);
    await stopped;
    expect(await state(runId)).toMatchObject({ pending: 0, delivered: 1 });
  });

  it('continue where a stopped one was: it returns what it was sending', async () => {
    const receiver = await receiverThat('hang');
    const first = deliver({ attemptMs: EVER_MS });
    const runId = await announce(receiver.url);
    await receiver.receives(1);
    await first.stop();
    expect(await state(runId)).toMatchObject({ pending: 1, lastError: null });
    receiver.behaviour = 204;
    deliver();
    await settled(runId);
  });
});
