/** Heads of evicted runs: lists still show the run, everything else has forgotten it. */
import { createRunId, type RunStatus } from '@talaria/protocol';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Subject } from '../journal.contract.ts';
import type { Claim, Journal, RunFilter } from '../journal.ts';
import type { StoredRun } from '../run-state.ts';
import {
  approvalRequest,
  claimedRun,
  completed,
  createRun,
  evictExpired,
  failed,
  finishedRun,
  HEADS_KEPT,
  NO_HEADS,
  newJob,
  stepRecord,
} from '../testing/records.ts';
import { waitFor } from '../testing/wait.ts';

const HOUR_MS = 3600 * 1000;

export function headsContract(subject: Subject): void {
  const { itTimed } = subject;
  const list = async (filter: Partial<RunFilter> = {}, journal = subject.journal) =>
    (await journal.listRuns({ owner: 'ada', limit: 100, ...filter })).runs;
  const ids = (runs: readonly StoredRun[]) => runs.map(({ runId }) => runId);
  const decided = async () =>
    (await subject.journal.approvals.decisions({ owner: 'ada', limit: 100 })).decisions;

  async function askedRun(sessionId?: string): Promise<string> {
    const { journal } = subject;
    const claim = await claimedRun(journal, sessionId === undefined ? {} : { sessionId });
    await journal.append(claim, [approvalRequest('a')]);
    const [answer] = await journal.post(claim.runId, { kind: 'approval', choice: 'once', all: false });
    await journal.append(claim, [completed()], { seenPostedPos: answer!.pos });
    return claim.runId;
  }

  it('a head has everything that a list shows of the run but its answer, and says that the run is evicted', async () => {
    const { journal } = subject;
    const job = newJob();
    await journal.jobs.create(job, 100);
    const { version } = (await journal.jobs.get(job.jobId))!;
    const request = { prompt: 'hi', shown_input: 'hi', session_named: false };
    const runId = await finishedRun(
      journal,
      { job: { jobId: job.jobId, version }, request },
      stepRecord([], { input_tokens: 5, output_tokens: 2, total_tokens: 7 }),
      failed(),
    );
    const run = (await journal.getRun(runId))!;
    expect(await journal.heads.get(runId)).toEqual(run);
    await evictExpired(journal, 0, 10);

    const head = (await journal.heads.get(runId))!;
    const { status, input, last_event, steps, usage, error, error_code } = run.state;
    expect(head).toMatchObject({ ...run, evicted: true, state: { status, input, last_event, steps, usage } });
    expect(head.state).toMatchObject({ error, error_code, output: null });
    expect(await list()).toEqual([head]);
    expect(await list({ jobId: job.jobId })).toEqual([head]);
    const reopened = await subject.reopen();
    expect(await list({}, reopened)).toEqual([head]);
    expect(await reopened.heads.get(runId)).toEqual(head);
    expect(await reopened.heads.get('run_unknown')).toBeUndefined();
  });

  it('lists are the same before and after some of their runs are evicted', async () => {
    const { journal } = subject;
    await fc.assert(
      fc.asyncProperty(fc.array(anyRun, { minLength: 1, maxLength: 8 }), anyFilter, async (runs, filter) => {
        const owner = createRunId();
        const evicted: string[] = [];
        const working: Claim[] = [];
        for (const { end, sessionId, words, isEvicted } of runs) {
          const request = { prompt: words, shown_input: words, session_named: false };
          // One that is unfinished would hold up the others of its session.
          if (end === undefined) working.push(await claimedRun(journal, { owner, request }));
          else {
            const runId = await finishedRun(journal, { owner, sessionId, request }, end);
            if (isEvicted) evicted.push(runId);
          }
        }
        const before = await readPages(journal, { owner, ...filter });
        await journal.evict(evicted, HEADS_KEPT);
        const after = await readPages(journal, { owner, ...filter });
        expect(ids(after)).toEqual(ids(before));
        expect(after.filter((run) => run.evicted).length).toBe(
          before.filter(({ runId }) => evicted.includes(runId)).length,
        );
        for (const claim of working) await journal.append(claim, [completed()]);
      }),
      { numRuns: 6 },
    );
  });

  itTimed('lists by time have heads, too', async () => {
    const { journal, clock } = subject;
    const runs: string[] = [];
    for (let i = 0; i < 3; i++) {
      runs.push(await finishedRun(journal));
      clock.advance(1_000);
    }
    const middle = (await journal.getRun(runs[1]!))!.createdAt;
    await journal.evict(runs.slice(0, 2), HEADS_KEPT);
    expect(ids(await list({ since: middle }))).toEqual([runs[2], runs[1]]);
    expect(ids(await list({ until: middle }))).toEqual([runs[0]]);
    expect(ids(await list({ since: middle, until: middle + 1, statuses: ['completed', 'failed'] }))).toEqual([
      runs[1],
    ]);
  });

  it('a search finds the prompt and the beginning of the answer, and the head is small however long that was', async () => {
    const { journal } = subject;
    const request = { prompt: 'p', shown_input: 'sort the invoices', session_named: false };
    const answer = `sorted 😀 ${'x'.repeat(2_000_000)} late`;
    const runId = await finishedRun(journal, { request }, completed(answer));
    expect(ids(await list({ words: ['late'] }))).toEqual([runId]);
    await evictExpired(journal, 0, 10);
    expect(ids(await list({ words: ['INVOICES', 'sorted'] }))).toEqual([runId]);
    expect(await list({ words: ['late'] })).toEqual([]);
    expect(JSON.stringify(await journal.heads.get(runId)).length).toBeLessThan(3_000);
  });

  it('eviction is a change, for whoever watches and for whoever comes back', async () => {
    const { journal } = subject;
    const runId = await finishedRun(journal);
    const place = await journal.changes.now();
    let woken = 0;
    const unwatch = journal.changes.watch(() => woken++);
    await evictExpired(journal, 0, 10);
    await waitFor(() => expect(woken).toBeGreaterThan(0));
    unwatch();
    const head = await journal.heads.get(runId);
    const { changed, place: next } = await journal.changes.read(['ada'], place);
    const ordinals = changed.map(({ ordinal }) => ordinal);
    expect(await journal.changes.runs(ordinals, 1_000_000)).toEqual([head]);
    expect((await journal.changes.read(['ada'], next)).changed).toEqual([]);
    expect((await journal.changes.read(['bob'], place)).changed).toEqual([]);
  });

  it('eviction without heads leaves nothing', async () => {
    const { journal } = subject;
    const runId = await askedRun();
    await evictExpired(journal, 0, 10, NO_HEADS);
    expect(await list()).toEqual([]);
    expect(await journal.heads.get(runId)).toBeUndefined();
    expect(await decided()).toEqual([]);
  });

  it('a run that is evicted by several at once has one head', async () => {
    const { journal } = subject;
    const runId = await finishedRun(journal);
    await Promise.all([1, 2, 3].map(() => journal.evict([runId], HEADS_KEPT)));
    expect(ids(await list())).toEqual([runId]);
  });

  it('decisions stay as long as the head of their run', async () => {
    const { journal } = subject;
    const runId = await askedRun();
    await evictExpired(journal, 0, 10);
    const [decision] = await decided();
    const { state, ...head } = (await journal.heads.get(runId))!;
    expect(decision).toMatchObject({ runId, choice: 'once', run: head });
    expect(decision!.run.state).toEqual({ ...state, output: null });
    expect(await journal.heads.sweep(0, 10)).toBe(1);
    expect(await decided()).toEqual([]);
  });

  itTimed('the sweep deletes heads in the order in which their runs ended, counted from there', async () => {
    const { journal, clock } = subject;
    const runs: string[] = [];
    for (let i = 0; i < 4; i++) {
      runs.push(await finishedRun(journal));
      clock.advance(HOUR_MS);
    }
    const whole = runs.pop()!;
    await journal.evict(runs.toReversed(), HEADS_KEPT);
    expect(await journal.heads.sweep(5 * HOUR_MS, 10)).toBe(0);
    expect(await journal.heads.sweep(2 * HOUR_MS, 2)).toBe(2);
    expect(ids(await list())).toEqual([whole, runs[2]]);
    expect(await journal.heads.sweep(2 * HOUR_MS, 2)).toBe(1);
    expect(await journal.heads.sweep(0, 2)).toBe(0);
    expect(ids(await list())).toEqual([whole]);
  });

  it('a page continues after its heads are deleted', async () => {
    const { journal } = subject;
    const runs = [await finishedRun(journal), await finishedRun(journal)];
    await createRun(journal);
    await evictExpired(journal, 0, 10);
    const { next } = await journal.listRuns({ owner: 'ada', limit: 2 });
    expect(ids(await list({ after: next }))).toEqual([runs[0]]);
    await journal.heads.sweep(0, 10);
    expect(await list({ after: next })).toEqual([]);
  });

  it('heads go with their session, and a run of a deleted session leaves none', async () => {
    const { journal } = subject;
    const theirs = await finishedRun(journal, { owner: 'bob', sessionId: 's' });
    const other = await finishedRun(journal, { sessionId: 't' });
    const early = await askedRun('s');
    await journal.evict([theirs, other, early], HEADS_KEPT);
    const late = await askedRun('s');
    await journal.sessions.delete('ada', 's');
    expect(ids(await list())).toEqual([late, other]);
    await evictExpired(journal, 0, 10);
    expect(ids(await list())).toEqual([other]);
    expect(await decided()).toEqual([]);
    expect(ids(await list({ owner: 'bob' }))).toEqual([theirs]);
    // The name is free again: what comes now is a session of its own.
    const next = await finishedRun(journal, { sessionId: 's' });
    await evictExpired(journal, 0, 10);
    expect(ids(await list())).toEqual([next, other]);
  });
}

const anyRun = fc.record({
  end: fc.constantFrom(undefined, completed(), failed()),
  sessionId: fc.constantFrom('s', 't'),
  words: fc.constantFrom('red fox', 'red hen'),
  isEvicted: fc.boolean(),
});

const anyFilter = fc.record(
  {
    statuses: fc.constantFrom<RunStatus[][]>(
      ['completed'],
      ['failed', 'completed'],
      ['started', 'running', 'failed'],
    ),
    sessionId: fc.constantFrom('s', 't'),
    words: fc.constantFrom(['red'], ['fox']),
    limit: fc.constantFrom(1, 2, 100),
  },
  { requiredKeys: ['limit'] },
);

async function readPages(journal: Journal, filter: RunFilter): Promise<StoredRun[]> {
  const runs: StoredRun[] = [];
  for (let after: string | undefined, first = true; first || after !== undefined; first = false) {
    const page = await journal.listRuns({ ...filter, after });
    runs.push(...page.runs);
    after = page.next;
  }
  return runs;
}
