/** Watching: who is woken, for what, and only after it is durable. */
import { expect, it, vi } from 'vitest';
import type { Subject } from '../journal.contract.ts';
import type { Journal } from '../journal.ts';
import {
  approvalRequest,
  claimedRun,
  completed,
  createRun,
  delta,
  LEASE_MS,
  reasoning,
  step,
} from '../testing/records.ts';
import { waitFor } from '../testing/wait.ts';

export function watchContract(subject: Subject): void {
  const { itTimed } = subject;

  it('a listener for events finds the event it was woken for', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    const found: number[] = [];
    const unwatch = journal.watchEvents(claim.runId, () => {
      void journal.readEvents(claim.runId, -1, 100).then((events) => found.push(events.length));
    });
    for (let i = 1; i <= 5; i++) {
      await journal.append(claim, [delta()]);
      await waitFor(() => expect(found.at(-1)).toBe(i));
    }
    unwatch();
  });

  it('a listener for events hears of answers and of the end, but not of other runs', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    const other = await claimedRun(journal);
    const listener = vi.fn();
    journal.watchEvents(claim.runId, listener);
    const ofOther = countWakeups(journal, other.runId);
    await journal.append(claim, [approvalRequest('a')]);
    await waitFor(() => expect(listener).toHaveBeenCalled());
    listener.mockClear();
    const [answer] = await journal.post(claim.runId, { kind: 'approval', choice: 'once', all: false });
    await waitFor(() => expect(listener).toHaveBeenCalled());
    listener.mockClear();
    await journal.append(claim, [completed()], { seenPostedPos: answer!.pos });
    await waitFor(() => expect(listener).toHaveBeenCalled());
    expect(ofOther.byWrites()).toEqual({ events: 0, posts: 0 });
  });

  it('a listener for events hears when a stop cancels a waiting run', async () => {
    const runId = await createRun(subject.journal);
    const listener = vi.fn();
    subject.journal.watchEvents(runId, listener);
    await subject.journal.post(runId, { kind: 'stop' });
    await waitFor(() => expect(listener).toHaveBeenCalled());
  });

  it('a listener for events hears when a claim cancels a stopping run', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    await journal.post(claim.runId, { kind: 'stop' });
    await journal.release(claim);
    const listener = vi.fn();
    journal.watchEvents(claim.runId, listener);
    await journal.claim('w', LEASE_MS, 0);
    await waitFor(() => expect(listener).toHaveBeenCalled());
  });

  it('a listener for posts finds the post it was woken for, and does not hear of the rest', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    const found: number[] = [];
    journal.watchPosts(claim.runId, () => {
      void journal.readPosted(claim.runId, -1).then((posts) => found.push(posts.length));
    });
    const wakeups = countWakeups(journal, claim.runId);
    await journal.append(claim, [reasoning(), approvalRequest('a')]);
    expect(wakeups.byWrites()).toEqual({ events: 1, posts: 0 });
    await journal.post(claim.runId, { kind: 'steer', input: 'x' });
    await waitFor(() => expect(found.at(-1)).toBe(1));
    expect(wakeups.byWrites().posts).toBe(1);
    await journal.post(claim.runId, { kind: 'approval', choice: 'deny', all: false });
    await waitFor(() => expect(found.at(-1)).toBe(2));
    await journal.post(claim.runId, { kind: 'stop' });
    await waitFor(() => expect(found.at(-1)).toBe(3));
  });

  it('a listener for the queue hears of a new run, and can claim it', async () => {
    const { journal } = subject;
    const claimed: string[] = [];
    const unwatch = journal.watchQueue(() => {
      void journal
        .claim('w', LEASE_MS, 1)
        .then((claims) => claimed.push(...claims.map(({ runId }) => runId)));
    });
    const runId = await createRun(journal);
    await waitFor(() => expect(claimed).toEqual([runId]));
    unwatch();
  });

  it('a listener for the queue hears of a release, and of an end that frees the session', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal, { sessionId: 's' });
    const listener = vi.fn();
    journal.watchQueue(listener);
    await journal.release(claim);
    await waitFor(() => expect(listener).toHaveBeenCalled());
    const [again] = await journal.claim('w', LEASE_MS, 1);
    await createRun(journal, { sessionId: 's' });
    listener.mockClear();
    await journal.append(again!, [completed()]);
    await waitFor(() => expect(listener).toHaveBeenCalled());
  });

  it('a listener for the queue hears when a stop makes room in the session', async () => {
    const { journal } = subject;
    const first = await createRun(journal, { sessionId: 's' });
    await createRun(journal, { sessionId: 's' });
    const listener = vi.fn();
    journal.watchQueue(listener);
    await journal.post(first, { kind: 'stop' });
    await waitFor(() => expect(listener).toHaveBeenCalled());
  });

  itTimed('a listener for the queue hears when a suspect has made progress', async () => {
    const { journal, clock } = subject;
    const first = await createRun(journal);
    await createRun(journal);
    for (let i = 0; i < 2; i++) {
      await journal.claim('w', LEASE_MS, 9);
      clock.advance(LEASE_MS);
    }
    const [suspect] = await journal.claim('w', LEASE_MS, 9);
    expect(suspect?.runId).toBe(first);
    const listener = vi.fn();
    journal.watchQueue(listener);
    await journal.append(suspect!, [step()]);
    await waitFor(() => expect(listener).toHaveBeenCalled());
  });

  itTimed('a refused write wakes nobody', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    const wakeups = countWakeups(journal, claim.runId);
    const ofQueue = vi.fn();
    journal.watchQueue(ofQueue);
    await expect(journal.append({ ...claim, epoch: 0 }, [delta()])).rejects.toThrow();
    await expect(
      journal.post(claim.runId, { kind: 'approval', choice: 'once', all: false }),
    ).rejects.toThrow();
    await journal.release({ ...claim, epoch: 0 });
    expect(wakeups.byWrites()).toEqual({ events: 0, posts: 0 });
    expect(ofQueue).not.toHaveBeenCalled();
  });

  it('nobody is called after unwatching, and the others still are', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    const gone = vi.fn();
    const stays = vi.fn();
    const unwatch = [
      journal.watchEvents(claim.runId, gone),
      journal.watchPosts(claim.runId, gone),
      journal.watchQueue(gone),
    ];
    journal.watchEvents(claim.runId, stays);
    journal.watchPosts(claim.runId, stays);
    journal.watchQueue(stays);
    for (const stop of unwatch) stop();
    for (const stop of unwatch) stop();

    await journal.append(claim, [delta()]);
    await journal.post(claim.runId, { kind: 'steer', input: 'x' });
    await createRun(journal);

    await waitFor(() => expect(stays.mock.calls.length).toBeGreaterThanOrEqual(3));
    expect(gone).not.toHaveBeenCalled();
  });

  it('one function can watch twice, and each watch ends by itself', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    const listener = vi.fn();
    const watches = [
      () => journal.watchEvents(claim.runId, listener),
      () => journal.watchPosts(claim.runId, listener),
      () => journal.watchQueue(listener),
    ];
    const causes = [
      () => journal.append(claim, [delta()]),
      () => journal.post(claim.runId, { kind: 'steer', input: 'x' }),
      () => createRun(journal),
    ];
    for (const [i, watch] of watches.entries()) {
      const stops = [watch(), watch()];
      stops[0]!();
      listener.mockClear();
      await causes[i]!();
      await waitFor(() => expect(listener).toHaveBeenCalled());
      stops[1]!();
    }
  });
}

/**
 * Counts how often writes wake the listeners of a run. A store that several servers share also looks at watched runs by
 * itself, at times that no test knows, and wakes both listeners of a run. These wake-ups do not count: they carry no
 * events, while a write of this process always does.
 */
function countWakeups(journal: Journal, runId: string) {
  const count = { events: 0, posts: 0 };
  journal.watchEvents(runId, (_ended, events) => {
    if (events === undefined) count.posts--;
    else count.events++;
  });
  journal.watchPosts(runId, () => {
    count.posts++;
  });
  return { byWrites: () => count };
}
