/** Which runs have changed: everything is found, whatever the order of commits, and by its owner alone. */
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import type { ChangePlace } from '../changes.ts';
import type { Subject } from '../journal.contract.ts';
import type { Claim, Journal } from '../journal.ts';
import {
  approvalRequest,
  claimedRun,
  completed,
  createRun,
  delta,
  evictExpired,
  finishedRun,
  LEASE_MS,
  NO_HEADS,
  step,
} from '../testing/records.ts';
import { waitFor } from '../testing/wait.ts';

const ALL_CHARS = 1_000_000;

/** The runs that changed after the place, as they are now, and the next place. */
async function read(journal: Journal, after: ChangePlace, owners: readonly string[] = ['ada']) {
  const { changed, place } = await journal.changes.read(owners, after);
  const runs = await journal.changes.runs(
    changed.map(({ ordinal }) => ordinal),
    ALL_CHARS,
  );
  return { runs, ids: runs.map(({ runId }) => runId), changed, place };
}

export function changesContract(subject: Subject): void {
  it('include every kind of write that a run shows, once', async () => {
    const { journal } = subject;
    let { place } = await read(journal, await journal.changes.now());
    const expectChange = async (cause: string, runId: string) => {
      const { runs, place: next } = await read(journal, place);
      expect([cause, runs]).toEqual([cause, [await journal.getRun(runId)]]);
      expect([cause, (await read(journal, next)).ids]).toEqual([cause, []]);
      place = next;
    };
    const runId = await createRun(journal);
    await expectChange('createRun', runId);
    const [claim] = (await journal.claim('w', LEASE_MS, 1)) as [Claim];
    await expectChange('claim', runId);
    await journal.append(claim, [delta()]);
    await expectChange('text', runId);
    await journal.append(claim, [step()]);
    await expectChange('a step', runId);
    await journal.append(claim, [approvalRequest('a')]);
    await expectChange('a question', runId);
    await journal.post(runId, { kind: 'approval', choice: 'once', all: false });
    await expectChange('an answer', runId);
    await journal.release(claim);
    await expectChange('release', runId);
    const [again] = (await journal.claim('w', LEASE_MS, 1)) as [Claim];
    await journal.append(again, [completed()], { seenPostedPos: 100 });
    await expectChange('the end', runId);
    const stopped = await createRun(journal);
    await journal.post(stopped, { kind: 'stop' });
    await expectChange('a stop without a worker', stopped);
  });

  it('do not include renewed leases', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    const { place } = await read(journal, await journal.changes.now());
    await journal.renew('worker', [claim], LEASE_MS);
    expect((await read(journal, place)).ids).toEqual([]);
  });

  it('come in the order of their marks, each run once, in its present state', async () => {
    const { journal } = subject;
    const place = await journal.changes.now();
    const first = await claimedRun(journal);
    const second = await finishedRun(journal);
    await journal.append(first, [delta()]);
    const { changed, ids } = await read(journal, place);
    expect(ids).toEqual([second, first.runId]);
    expect(changed.map(({ mark }) => mark)).toEqual(
      changed.map(({ mark }) => mark).toSorted((a, b) => a - b),
    );
  });

  it('are those of the given owners', async () => {
    const { journal } = subject;
    const place = await journal.changes.now();
    const ada = await createRun(journal, { owner: 'ada' });
    const bob = await createRun(journal, { owner: 'bob' });
    const eve = await createRun(journal, { owner: 'eve' });
    expect((await read(journal, place, ['ada'])).ids).toEqual([ada]);
    expect((await read(journal, place, ['bob', 'eve'])).ids.toSorted()).toEqual([bob, eve].toSorted());
    expect((await read(journal, place, ['mallory'])).ids).toEqual([]);
  });

  it('do not include runs that are deleted', async () => {
    const { journal } = subject;
    const place = await journal.changes.now();
    const gone = await finishedRun(journal);
    const { changed } = await read(journal, place);
    await evictExpired(journal, 0, 10, NO_HEADS);
    expect(await journal.changes.runs([changed[0]!.ordinal], ALL_CHARS)).toEqual([]);
    expect((await read(journal, place)).ids).not.toContain(gone);
  });

  it('are read in parts, if the states are large', async () => {
    const { journal } = subject;
    const place = await journal.changes.now();
    for (let i = 0; i < 3; i++) await finishedRun(journal, {}, completed('x'.repeat(5_000)));
    const { changed } = await journal.changes.read(['ada'], place);
    const ordinals = changed.map(({ ordinal }) => ordinal);
    const take = async (maxChars: number) => (await journal.changes.runs(ordinals, maxChars)).length;
    expect([await take(1), await take(6_000), await take(ALL_CHARS)]).toEqual([1, 2, 3]);
  });

  it('a cursor continues where it was made, also after a restart and after the eviction of the last run', async () => {
    const place = await subject.journal.changes.now();
    const evicted = await finishedRun(subject.journal);
    const { place: next } = await read(subject.journal, place);
    const cursor = subject.journal.changes.seal('ada', next);
    const later = await createRun(subject.journal);
    await evictExpired(subject.journal, 0, 10);
    const journal = await subject.reopen();
    const latest = await createRun(journal);
    const { ids } = await read(journal, await journal.changes.open('ada', cursor));
    expect(ids).toEqual([later, evicted, latest]);
  });

  it('a cursor is of no use to others, and nothing else is one', async () => {
    const { journal } = subject;
    const { changes } = journal;
    const cursor = changes.seal('ada', await changes.now());
    const invalid = { code: 'invalid_cursor', param: 'after' };
    await expect(changes.open('bob', cursor)).rejects.toMatchObject(invalid);
    for (const wrong of ['', '0', `${cursor}A`, 'A'.repeat(cursor.length)]) {
      await expect(changes.open('ada', wrong)).rejects.toMatchObject(invalid);
    }
    await finishedRun(journal);
    await finishedRun(journal);
    const { next } = await journal.listRuns({ owner: 'ada', limit: 1 });
    await expect(changes.open('ada', next!)).rejects.toMatchObject(invalid);
  });

  it('a watcher is woken for every kind of write, when it can be read', async () => {
    const { journal } = subject;
    const woken = vi.fn();
    const unwatch = journal.changes.watch(woken);
    const wakes = async <T>(write: () => Promise<T>): Promise<T> => {
      woken.mockClear();
      const done = await write();
      await waitFor(() => expect(woken).toHaveBeenCalled());
      return done;
    };
    const runId = await wakes(() => createRun(journal));
    const [claim] = (await wakes(() => journal.claim('w', LEASE_MS, 1))) as [Claim];
    await wakes(() => journal.append(claim, [delta()]));
    await wakes(() => journal.append(claim, [step()]));
    await wakes(() => journal.post(runId, { kind: 'steer', input: 'left' }));
    await wakes(() => journal.release(claim));
    await wakes(() => journal.post(runId, { kind: 'stop' }));
    unwatch();
    woken.mockClear();
    await createRun(journal);
    expect(woken).not.toHaveBeenCalled();
  });

  it('readers beside any number of writers end with the present state of every run', async () => {
    const { journal } = subject;
    const work = fc.array(fc.constantFrom('text', 'step', 'steer', 'release'), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(work, { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        async (runs, byCursor) => {
          let place = await journal.changes.now();
          const known = new Map<string, unknown>();
          let writing = true;
          const catchUp = async () => {
            const found = await read(journal, place);
            for (const run of found.runs) known.set(run.runId, run);
            ({ place } = found);
            if (byCursor) place = await journal.changes.open('ada', journal.changes.seal('ada', place));
          };
          const reading = (async () => {
            while (writing) {
              await catchUp();
              await new Promise((resolve) => setImmediate(resolve));
            }
            await catchUp();
          })();
          const ids = await Promise.all(runs.map((jobs) => live(journal, jobs))).finally(() => {
            writing = false;
          });
          await reading;
          for (const runId of ids) expect(known.get(runId)).toEqual(await journal.getRun(runId));
        },
      ),
      { numRuns: 4 },
    );
  });
}

/** The life of a run, up to its end. */
async function live(journal: Journal, jobs: readonly string[]): Promise<string> {
  const runId = await createRun(journal);
  let claim = await claimOf(journal, runId);
  for (const job of jobs) {
    if (job === 'text') await journal.append(claim, [delta()]);
    else if (job === 'step') await journal.append(claim, [step()]);
    else if (job === 'steer') await journal.post(runId, { kind: 'steer', input: 'left' });
    else {
      await journal.release(claim);
      claim = await claimOf(journal, runId);
    }
  }
  await journal.append(claim, [completed()], { seenPostedPos: 1000 });
  return runId;
}

const claimed = new WeakMap<Journal, Map<string, Claim>>();

/** Claims until it has this run; the runs of others that it got meanwhile are theirs. */
async function claimOf(journal: Journal, runId: string): Promise<Claim> {
  const claims = claimed.get(journal) ?? new Map<string, Claim>();
  claimed.set(journal, claims);
  for (;;) {
    for (const claim of await journal.claim('w', LEASE_MS, 9)) claims.set(claim.runId, claim);
    const own = claims.get(runId);
    if (own !== undefined) {
      claims.delete(runId);
      return own;
    }
  }
}
