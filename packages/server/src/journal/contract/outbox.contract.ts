/** The webhook outbox: messages are added with their record, claimed by one worker at a time, and settled for good. */
import { expect, it } from 'vitest';
import type { Subject } from '../journal.contract.ts';
import type { Claim, Journal, NewRun } from '../journal.ts';
import { type ClaimedMessage, FAILED_KEPT_MS, type MessageClaim, type Webhook } from '../outbox.ts';
import {
  approvalRequest,
  cancelledRecord,
  claimedRun,
  completed,
  counting,
  createRun,
  delta,
  evictExpired,
  failed,
  finishedRun,
  resumed,
  stopRequested,
  toolStarted,
} from '../testing/records.ts';

const LEASE_MS = 30_000;
const ALL: MessageClaim = { leaseMs: LEASE_MS, limit: 100, perReceiver: 100 };
const NOTHING = { pending: 0, failed: 0 };

function webhook(host = 'hooks.example.com', secret: Webhook['secret'] = { kind: 'none' }): Webhook {
  return { url: `https://${host}/hook?token=t`, secret };
}
const own: Webhook['secret'] = { kind: 'own', value: 'the secret of the run' };

export function outboxContract(subject: Subject): void {
  const { itTimed } = subject;
  const claim = (options: Partial<MessageClaim> = {}) => subject.journal.outbox.claim({ ...ALL, ...options });
  const finished = (hook: Webhook = webhook(), run: Partial<NewRun> = {}) =>
    finishedRun(subject.journal, { ...run, webhook: hook });
  const claimOne = async (): Promise<ClaimedMessage> => {
    const [message, ...more] = await claim();
    expect(more).toEqual([]);
    return message!;
  };
  const body = ({ body: text }: ClaimedMessage) => JSON.parse(text) as Record<string, unknown>;

  it('has a message for the end of a run and for each of its approvals, and for nothing else', async () => {
    const { journal } = subject;
    const run = await claimedRun(journal, { webhook: webhook() });
    await journal.append(run, [delta(), toolStarted(), approvalRequest('a'), delta()]);
    await journal.post(run.runId, { kind: 'approval', choice: 'once', all: false });
    await journal.append(run, [resumed(), approvalRequest('b')]);
    expect(await journal.outbox.counts()).toEqual({ pending: 2, failed: 0 });
    await journal.append(run, [failed()], { seenPostedPos: 100 });
    const types: unknown[] = [];
    for (;;) {
      const [message] = await claim();
      if (message === undefined) break;
      types.push(body(message).type);
      await journal.outbox.settle(message, { kind: 'delivered' });
    }
    expect(types).toEqual(['approval.request', 'approval.request', 'run.failed']);
  });

  it('carries the event as the stream shows it', async () => {
    const { journal } = subject;
    const sessionId = 'a "quoted" session';
    const runId = await finishedRun(
      journal,
      { sessionId, webhook: webhook() },
      delta('a'),
      completed('a "done"\n'),
    );
    const message = await claimOne();
    const [event] = await journal.readEvents(runId, 0, 10);
    expect(message).toMatchObject({ runId, url: webhook().url, attempts: 0, epoch: 1 });
    expect(body(message)).toEqual({
      id: message.id,
      object: 'event',
      type: 'run.completed',
      created_at: event!.at / 1000,
      session_id: sessionId,
      data: {
        event: 'run.completed',
        run_id: runId,
        timestamp: event!.at / 1000,
        seq: 1,
        ...JSON.parse(event!.payload),
      },
    });
    expect(message.id).toBe(`evt_${runId.slice(4)}_1`);
  });

  it('announces every kind of end, also of a run that nobody holds', async () => {
    const { journal } = subject;
    for (const end of [completed(), failed(), cancelledRecord()]) {
      await finishedRun(journal, { webhook: webhook() }, end);
    }
    const queued = await createRun(journal, { webhook: webhook() });
    await journal.post(queued, { kind: 'stop' });
    const stopping = await claimedRun(journal, { webhook: webhook() });
    await journal.post(stopping.runId, { kind: 'stop' });
    await journal.release(stopping);
    await journal.claim('w', LEASE_MS, 1);
    expect((await claim()).map((message) => body(message).type)).toEqual([
      'run.completed',
      'run.failed',
      'run.cancelled',
      'run.cancelled',
      'run.cancelled',
    ]);
  });

  it('has no message for a run without a webhook, nor for a refused append', async () => {
    const { journal } = subject;
    await finishedRun(journal);
    const run = await claimedRun(journal, { webhook: webhook() });
    await journal.post(run.runId, { kind: 'steer', input: 'left' });
    await expect(journal.append(run, [completed()])).rejects.toThrow();
    await expect(journal.append({ ...run, epoch: 9 }, [completed()])).rejects.toThrow();
    expect(await journal.outbox.counts()).toEqual(NOTHING);
    expect(await claim()).toEqual([]);
    expect(await journal.outbox.due()).toEqual({ now: false, nextInMs: undefined });
  });

  it('ignores the webhook of a replayed request', async () => {
    const { journal } = subject;
    const idempotency = { key: 'k', bodyHash: 'b' };
    await finished(webhook('first.example.com'), { idempotency });
    const again = await journal.createRun(
      {
        runId: 'run_1',
        owner: 'ada',
        sessionId: 's',
        request: { prompt: 'x', session_named: false },
        idempotency,
        webhook: webhook('second.example.com'),
      },
      { maxQueued: 10, ownerShare: 10 },
    );
    expect(again.kind).toBe('replayed');
    expect(await journal.outbox.state('run_1')).toBeUndefined();
    expect((await claimOne()).url).toContain('first');
  });

  it('gives a message to one worker at a time', async () => {
    await finished();
    const [first, second] = await Promise.all([claim(), claim()]);
    expect([...first, ...second]).toHaveLength(1);
    expect(await claim()).toEqual([]);
  });

  itTimed('keeps a message until it is delivered, across restarts and the eviction of its run', async () => {
    const runId = await finished(webhook('a.example.com', own));
    const before = await claimOne();
    expect(await evictExpired(subject.journal, 0, 10)).toEqual([runId]);
    const journal = await subject.reopen();
    subject.clock.advance(ALL.leaseMs);
    const [message] = await journal.outbox.claim(ALL);
    expect(message).toMatchObject({ id: before.id, body: before.body, url: before.url, secret: own });
    expect(message!.epoch).toBeGreaterThan(before.epoch);
    await journal.outbox.settle(message!, { kind: 'delivered' });
    expect(await journal.outbox.counts()).toEqual(NOTHING);
    expect(await journal.outbox.state(runId)).toBeUndefined();
  });

  it('never returns a delivered message again', async () => {
    const { outbox } = subject.journal;
    await finished();
    const message = await claimOne();
    expect(await outbox.settle(message, { kind: 'delivered' })).toBe(true);
    expect(await outbox.settle(message, { kind: 'delivered' })).toBe(false);
    expect(await claim()).toEqual([]);
    expect((await outbox.state(message.runId))?.delivered).toBe(1);
  });

  itTimed(
    'lets another worker claim a message when the lease has ended, and only that worker settle it',
    async () => {
      const { journal, clock } = subject;
      await finished();
      const lost = await claimOne();
      clock.advance(LEASE_MS - 1);
      expect(await claim()).toEqual([]);
      clock.advance(1);
      const taken = await claimOne();
      expect(taken.id).toBe(lost.id);
      for (const kind of ['delivered', 'returned'] as const) {
        expect(await journal.outbox.settle(lost, { kind })).toBe(false);
      }
      expect(await journal.outbox.settle(lost, { kind: 'failed', error: 'x' })).toBe(false);
      expect(await journal.outbox.state(taken.runId)).toMatchObject({ pending: 1, lastError: null });
      expect(await journal.outbox.settle(taken, { kind: 'delivered' })).toBe(true);
    },
  );

  itTimed('accepts a settlement after the lease has ended, if nobody else claimed the message', async () => {
    const { journal, clock } = subject;
    await finished();
    const message = await claimOne();
    clock.advance(LEASE_MS * 2);
    expect(await journal.outbox.settle(message, { kind: 'delivered' })).toBe(true);
    expect(await journal.outbox.counts()).toEqual(NOTHING);
  });

  it('counts a message once at any moment, also while it is settled', async () => {
    const { outbox } = subject.journal;
    for (let i = 0; i < 10; i++) {
      const runId = await finished();
      let settling = true;
      const settled = outbox.settle(await claimOne(), { kind: 'delivered' }).finally(() => {
        settling = false;
      });
      while (settling) {
        const { pending, delivered, failed: given } = (await outbox.state(runId))!;
        expect({ sum: pending + delivered + given, pending, delivered, given }).toMatchObject({ sum: 1 });
        // The answer to the settlement has to arrive.
        await new Promise(setImmediate);
      }
      await settled;
    }
  });

  it('stores an error of any text', async () => {
    const { journal } = subject;
    const runId = await finished();
    await journal.outbox.settle(await claimOne(), { kind: 'failed', error: 'a\0b \ud800' });
    expect(await journal.outbox.state(runId)).toMatchObject({ lastError: expect.stringMatching(/^a.b ./) });
  });

  itTimed('keeps a postponed message for its delay, and counts the attempts', async () => {
    const { journal, clock } = subject;
    const runId = await finished();
    const first = await claimOne();
    await journal.outbox.settle(first, { kind: 'postponed', delayMs: 5000, error: 'answered 500' });
    expect(await journal.outbox.due()).toEqual({ now: false, nextInMs: 5000 });
    expect(await journal.outbox.state(runId)).toEqual({
      url: webhook().url,
      pending: 1,
      delivered: 0,
      failed: 0,
      lastError: 'answered 500',
    });
    clock.advance(4999);
    expect(await claim()).toEqual([]);
    clock.advance(1);
    expect(await journal.outbox.due()).toEqual({ now: true, nextInMs: undefined });
    expect(await claimOne()).toMatchObject({ id: first.id, body: first.body, attempts: 1, ageMs: 5000 });
    expect(await journal.outbox.due()).toEqual({ now: false, nextInMs: LEASE_MS });
  });

  it('makes a returned message claimable at once, without counting an attempt', async () => {
    const { outbox } = subject.journal;
    await finished();
    const first = await claimOne();
    expect(await outbox.settle(first, { kind: 'returned' })).toBe(true);
    expect(await claimOne()).toMatchObject({ id: first.id, attempts: 0, epoch: first.epoch + 1 });
  });

  itTimed('gives up a message for good, and counts it for a while', async () => {
    const { journal, clock } = subject;
    const runId = await finished();
    await journal.outbox.settle(await claimOne(), { kind: 'failed', error: 'answered 410' });
    expect(await claim()).toEqual([]);
    expect(await journal.outbox.due()).toEqual({ now: false, nextInMs: undefined });
    expect(await journal.outbox.counts()).toEqual({ pending: 0, failed: 1 });
    expect(await journal.outbox.state(runId)).toMatchObject({
      pending: 0,
      failed: 1,
      lastError: 'answered 410',
    });
    await evictExpired(journal, 0, 10);
    expect(await journal.outbox.counts()).toEqual({ pending: 0, failed: 1 });
    clock.advance(FAILED_KEPT_MS);
    // Also while no claim would clear it.
    expect(await journal.outbox.counts()).toEqual(NOTHING);
    await claim();
    expect(await journal.outbox.counts()).toEqual(NOTHING);
  });

  itTimed('does not wait for a time that a wrong clock set', async () => {
    const { journal, clock } = subject;
    const YEAR_MS = 365 * 24 * 3600 * 1000;
    clock.advance(YEAR_MS);
    const runs = [await finished(webhook('a.example.com')), await finished(webhook('b.example.com'))];
    const [asked] = await claim({ limit: 1 });
    await journal.outbox.settle(asked!, { kind: 'postponed', delayMs: 5000, error: 'answered 500' });
    clock.advance(-YEAR_MS);
    expect((await journal.outbox.due()).now).toBe(true);
    const messages = await claim();
    expect(messages.map(({ runId }) => runId).sort()).toEqual(runs.sort());
    // Its age does not count below zero until then either: it would be retried for a year.
    clock.advance(1000);
    await journal.outbox.settle(messages[0]!, { kind: 'postponed', delayMs: 0, error: 'answered 500' });
    expect(await claimOne()).toMatchObject({ ageMs: 1000 });
  });

  it('knows the secret of a run while one of its messages may need it, and no longer', async () => {
    const { journal } = subject;
    const run = await claimedRun(journal, { webhook: webhook('a.example.com', own) });
    await journal.append(run, [approvalRequest('a')]);
    const asking = await claimOne();
    expect(asking.secret).toEqual(own);
    await journal.outbox.settle(asking, { kind: 'delivered' });
    await journal.append(run, [completed()]);
    const ending = await claimOne();
    expect(ending.secret).toEqual(own);
    await journal.outbox.settle(ending, { kind: 'postponed', delayMs: 0, error: 'x' });
    const again = await claimOne();
    expect(again.secret).toEqual(own);
    await journal.outbox.settle(again, { kind: 'failed', error: 'x' });
    expect(await journal.outbox.state(run.runId)).toMatchObject({ delivered: 1, failed: 1 });
  });

  it.each<Webhook['secret']>([{ kind: 'none' }, { kind: 'configured' }])(
    'says how a message is signed: %o',
    async (secret) => {
      await finished(webhook('a.example.com', secret));
      expect((await claimOne()).secret).toEqual(secret);
    },
  );

  it('gives no receiver more than its share, whoever holds the messages', async () => {
    for (let i = 0; i < 5; i++) await finished();
    const atOnce = await Promise.all(counting(8).map(() => claim({ perReceiver: 2 })));
    const first = atOnce.flat();
    expect(first).toHaveLength(2);
    expect(await claim({ perReceiver: 2 })).toEqual([]);
    expect(await subject.journal.outbox.due()).toMatchObject({ now: true });
    await subject.journal.outbox.settle(first[0]!, { kind: 'postponed', delayMs: 60_000, error: 'x' });
    expect(await claim({ perReceiver: 2 })).toHaveLength(1);
  });

  it('takes receivers in turn: many messages for one delay none for another', async () => {
    for (let i = 0; i < 6; i++) await finished(webhook('busy.example.com'));
    await finished(webhook('quiet.example.com'));
    await finished(webhook('other.example.com:8443'));
    const hosts = (await claim({ limit: 4 })).map(({ url }) => new URL(url).host);
    expect(hosts.sort()).toEqual([
      'busy.example.com',
      'busy.example.com',
      'other.example.com:8443',
      'quiet.example.com',
    ]);
    await finished(webhook('late.example.com'));
    expect((await claim({ limit: 1 })).map(({ url }) => new URL(url).host)).toEqual(['late.example.com']);
  });

  it("sends a run's messages to a receiver in order: the next waits while the one before is being sent", async () => {
    const { journal } = subject;
    const run = await claimedRun(journal, { webhook: webhook() });
    await journal.append(run, [approvalRequest('a'), stopRequested(), cancelledRecord()], {
      seenPostedPos: 100,
    });
    const asking = await claimOne();
    expect(body(asking).type).toBe('approval.request');
    await journal.outbox.settle(asking, { kind: 'postponed', delayMs: 60_000, error: 'x' });
    // But it does not wait until that one succeeds.
    expect(body(await claimOne()).type).toBe('run.cancelled');
  });

  it('returns the longest due first', async () => {
    const runs: string[] = [];
    for (let i = 0; i < 4; i++) runs.push(await finished());
    expect((await claim({ limit: 3 })).map(({ runId }) => runId)).toEqual(runs.slice(0, 3));
  });

  it('wakes watchers when there is something to send', async () => {
    const { journal } = subject;
    let woken = 0;
    const unwatch = journal.outbox.watch(() => woken++);
    const run = await claimedRun(journal, { webhook: webhook() });
    await journal.append(run, [delta()]);
    expect(woken).toBe(0);
    await journal.append(run, [approvalRequest('a')]);
    expect(woken).toBe(1);
    const message = await claimOne();
    await journal.outbox.settle(message, { kind: 'returned' });
    expect(woken).toBe(2);
    await journal.post(run.runId, { kind: 'stop' });
    unwatch();
    await endRun(journal, run);
    expect(woken).toBe(2);
  });

  it('stays fast with many messages for many receivers', async () => {
    for (const i of counting(16)) await finished(webhook(`h${i % 8}.example.com`));
    const seen = new Set<string>();
    for (;;) {
      const messages = await claim({ limit: 5, perReceiver: 2 });
      if (messages.length === 0) break;
      for (const message of messages) {
        expect(seen.has(message.id)).toBe(false);
        seen.add(message.id);
        await subject.journal.outbox.settle(message, { kind: 'delivered' });
      }
    }
    expect(seen.size).toBe(16);
  });
}

async function endRun(journal: Journal, run: Claim): Promise<void> {
  await journal.append(run, [cancelledRecord()], { seenPostedPos: 100 });
}
