/** Reading: the stream, the log, posts, listings and counts. */
import { expect, it } from 'vitest';
import type { Subject } from '../journal.contract.ts';
import type { RunFilter } from '../journal.ts';
import type { NewRecord } from '../records.ts';
import {
  approvalRequest,
  claimedRun,
  completed,
  context,
  counting,
  createRun,
  delta,
  evictExpired,
  failed,
  finishedRun,
  LEASE_MS,
  names,
  newJob,
  reasoning,
  step,
  toolStarted,
} from '../testing/records.ts';

interface Created {
  runId: string;
  at: number;
}

export function readContract(subject: Subject): void {
  const list = async (filter: Partial<RunFilter> = {}) =>
    (await subject.journal.listRuns({ owner: 'ada', limit: 100, ...filter })).runs.map(({ runId }) => runId);

  it('returns nothing for a run that does not exist', async () => {
    const { journal } = subject;
    expect(await journal.getRun('run_unknown')).toBeUndefined();
    await expect(journal.readEvents('run_unknown', -1, 10)).rejects.toMatchObject({ code: 'run_not_found' });
    expect(await journal.readLog('run_unknown', -1)).toEqual([]);
    expect(await journal.readPosted('run_unknown', -1)).toEqual([]);
    expect(await journal.firstShownAfter('run_unknown', -1)).toBeUndefined();
  });

  it('a name that no database can store belongs to nobody', async () => {
    const { journal } = subject;
    const name = 'a\0b';
    expect(await journal.getRun(name)).toBeUndefined();
    expect(await list({ sessionId: name })).toEqual([]);
    expect(await journal.sessions.get('ada', name)).toBeUndefined();
    expect(await journal.sessions.messages('ada', name, { from: 0 })).toEqual([]);
    await expect(journal.sessions.delete('ada', name)).rejects.toMatchObject({ code: 'session_not_found' });
    expect(await journal.responses.get('ada', name)).toBeUndefined();
    await expect(journal.responses.context('ada', name)).rejects.toMatchObject({
      code: 'previous_response_not_found',
    });
    expect(await journal.jobs.get(name)).toBeUndefined();
  });

  it('events come after the cursor, in order, up to the limit, with private records in between or not', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    for (let i = 0; i < 12; i++) {
      await journal.append(claim, [context(), delta(`${i}`), ...(i % 3 ? [] : [context(), context()])]);
    }
    const seqs = async (after: number, limit: number) =>
      (await journal.readEvents(claim.runId, after, limit)).map(({ seq }) => seq);

    expect(await seqs(-1, 100)).toEqual(counting(12));
    expect(await seqs(-1, 5)).toEqual([0, 1, 2, 3, 4]);
    expect(await seqs(4, 5)).toEqual([5, 6, 7, 8, 9]);
    expect(await seqs(9, 5)).toEqual([10, 11]);
    expect(await seqs(11, 5)).toEqual([]);
    expect(await seqs(500, 5)).toEqual([]);
  });

  it('a page of events ends with the one that reaches the requested size', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    await journal.append(
      claim,
      ['a', 'b', 'c', 'd'].map((letter) => delta(letter.repeat(1000))),
    );
    const seqs = async (after: number, maxChars: number) =>
      (await journal.readEvents(claim.runId, after, 10, maxChars)).map(({ seq }) => seq);

    expect(await seqs(-1, 1)).toEqual([0]);
    expect(await seqs(-1, 1500)).toEqual([0, 1]);
    expect(await seqs(1, 1500)).toEqual([2, 3]);
    expect(await seqs(-1, 100_000)).toEqual([0, 1, 2, 3]);
    expect(await seqs(3, 1)).toEqual([]);
  });

  it('an event is its name, time and public payload, without the private one', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    const [stored] = await journal.append(claim, [toolStarted()]);
    const [event] = await journal.readEvents(claim.runId, -1, 10);
    expect({ ...event, payload: JSON.parse(event!.payload) }).toEqual({
      seq: 0,
      event: 'tool.started',
      at: stored!.at,
      payload: toolStarted().public,
    });
  });

  it('runs do not see the records of each other', async () => {
    const { journal } = subject;
    const a = await claimedRun(journal);
    const b = await claimedRun(journal);
    await journal.append(a, [delta('a')]);
    await journal.append(b, [delta('b')]);
    expect(await journal.readEvents(a.runId, -1, 10)).toMatchObject([{ payload: '{"delta":"a"}' }]);
  });

  it('the log leaves out text deltas and keeps everything else after the position', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    await journal.append(claim, [delta(), reasoning(), delta(), step(), delta()]);
    await journal.append(claim, [delta(), completed()]);
    expect(names(await journal.readLog(claim.runId, -1))).toEqual([
      'run.accepted',
      'run.claimed',
      'reasoning.available',
      'step.completed',
      'run.completed',
    ]);
    expect((await journal.readLog(claim.runId, 3)).map(({ pos }) => pos)).toEqual([5, 8]);
    expect(await journal.readLog(claim.runId, 8)).toEqual([]);
  });

  it('the log is read up to the requested size, and at least one record', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    const long = (): NewRecord => ({ event: 'run.noticed', private: { text: 'x'.repeat(1000) } });
    await journal.append(claim, [delta(), long(), long(), completed()]);
    const positions = async (maxChars: number) =>
      (await journal.readLog(claim.runId, 1, maxChars)).map(({ pos }) => pos);
    expect(await positions(1)).toEqual([3]);
    expect(await positions(1001)).toEqual([3]);
    expect(await positions(2000)).toEqual([3, 4]);
    expect(await positions(1_000_000)).toEqual([3, 4, 5]);
  });

  it('posts are stops, steers and answers after the position', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    const [steer] = await journal.post(claim.runId, { kind: 'steer', input: 'left' });
    await journal.append(claim, [delta(), approvalRequest('a')]);
    const [answer] = await journal.post(claim.runId, { kind: 'approval', choice: 'once', all: false });
    await journal.append(claim, [reasoning()]);
    const [stop] = await journal.post(claim.runId, { kind: 'stop' });
    expect(await journal.readPosted(claim.runId, -1)).toEqual([steer, answer, stop]);
    expect(await journal.readPosted(claim.runId, steer!.pos)).toEqual([answer, stop]);
    expect(await journal.readPosted(claim.runId, stop!.pos)).toEqual([]);
  });

  it('the first shown after a position is the seq of the next delta or reasoning', async () => {
    const { journal } = subject;
    const claim = await claimedRun(journal);
    const records = await journal.append(claim, [
      toolStarted(),
      step(),
      delta(),
      delta(),
      step(),
      reasoning(),
      step(),
    ]);
    const shown = (i: number) => journal.firstShownAfter(claim.runId, records[i]!.pos);
    expect(await journal.firstShownAfter(claim.runId, -1)).toBe(2);
    expect(await shown(1)).toBe(2);
    expect(await shown(2)).toBe(3);
    expect(await shown(3)).toBe(5);
    expect(await shown(5)).toBeUndefined();
  });

  it('the previous turn is the newest completed run before, of the same owner and session', async () => {
    const { journal } = subject;
    const in_s = { sessionId: 's' };
    await finishedRun(journal, in_s);
    const turn = await finishedRun(journal, in_s);
    await finishedRun(journal, in_s, failed());
    await finishedRun(journal, { ...in_s, owner: 'bob' });
    await finishedRun(journal, { sessionId: 't' });
    const present = (await journal.getRun(await createRun(journal, in_s)))!;
    const later = await journal.getRun(await createRun(journal, in_s));
    expect(await journal.previousTurn(present)).toBe(turn);
    expect(await journal.previousTurn(later!)).toBe(turn);
    const first = (await journal.getRun(await createRun(journal, { sessionId: 'new' })))!;
    expect(await journal.previousTurn(first)).toBeUndefined();
  });

  it('listing gives the runs of one owner, newest first, page by page', async () => {
    const { journal } = subject;
    const ids: string[] = [];
    for (let i = 0; i < 7; i++) {
      ids.unshift(await createRun(journal));
      await createRun(journal, { owner: 'bob' });
    }
    expect(await list()).toEqual(ids);
    expect(await list({ limit: 3 })).toEqual(ids.slice(0, 3));
    const paged: string[] = [];
    for (let after: string | undefined; paged.length === 0 || after !== undefined; ) {
      const { runs, next } = await journal.listRuns({ owner: 'ada', limit: 3, after });
      paged.push(...runs.map(({ runId }) => runId));
      after = next;
    }
    expect(paged).toEqual(ids);
    expect((await journal.listRuns({ owner: 'ada', limit: 6 })).next).toBeDefined();
    expect((await journal.listRuns({ owner: 'ada', limit: 7 })).next).toBeUndefined();
    expect(await list({ owner: 'nobody' })).toEqual([]);
  });

  it('listing ends a page with the run that reaches the size, and continues after it', async () => {
    const { journal } = subject;
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.unshift(await finishedRun(journal, {}, completed('x'.repeat(10_000))));
    const page = async (maxChars: number, after?: string) => {
      const { runs, next } = await journal.listRuns({ owner: 'ada', limit: 10, maxChars, after });
      return { ids: runs.map(({ runId }) => runId), next };
    };
    const first = await page(25_000);
    expect(first).toEqual({ ids: ids.slice(0, 3), next: expect.any(String) });
    expect(await page(25_000, first.next)).toEqual({ ids: ids.slice(3), next: undefined });
    // A run that is larger by itself is a page of its own, so that a listing always advances.
    expect(await page(1)).toEqual({ ids: ids.slice(0, 1), next: expect.any(String) });
    expect(await page(1_000_000)).toEqual({ ids, next: undefined });
  });

  it('listing filters by status and session, alone and together', async () => {
    const { journal } = subject;
    const doneInS = await finishedRun(journal, { sessionId: 's' });
    const doneInT = await finishedRun(journal, { sessionId: 't' });
    const runningInT = (await claimedRun(journal, { sessionId: 't' })).runId;
    const waitingInS = await createRun(journal, { sessionId: 's' });

    expect(await list({ statuses: ['completed'] })).toEqual([doneInT, doneInS]);
    expect(await list({ statuses: ['started'] })).toEqual([waitingInS]);
    expect(await list({ sessionId: 't' })).toEqual([runningInT, doneInT]);
    expect(await list({ sessionId: 't', statuses: ['completed'] })).toEqual([doneInT]);
    expect(await list({ sessionId: 's', statuses: ['running'] })).toEqual([]);
    expect(await list({ sessionId: 's', owner: 'bob' })).toEqual([]);
    const { next: after } = await journal.listRuns({ owner: 'ada', limit: 1, statuses: ['completed'] });
    expect(await list({ statuses: ['completed'], after })).toEqual([doneInS]);
    expect(await list({ sessionId: 't', statuses: ['completed'], after })).toEqual([]);
  });

  it('listing takes several statuses, each run once and newest first', async () => {
    const { journal } = subject;
    const done = [await finishedRun(journal), await finishedRun(journal)];
    const lost = await finishedRun(journal, {}, failed());
    const running = (await claimedRun(journal)).runId;
    await createRun(journal);

    const statuses = ['completed', 'running', 'failed'] as const;
    expect(await list({ statuses })).toEqual([running, lost, ...done.reverse()]);
    expect(await list({ statuses: ['failed', 'cancelled'] })).toEqual([lost]);
    const paged: string[] = [];
    for (let after: string | undefined; paged.length === 0 || after !== undefined; ) {
      const { runs, next } = await journal.listRuns({ owner: 'ada', limit: 1, statuses, after });
      paged.push(...runs.map(({ runId }) => runId));
      after = next;
    }
    expect(paged).toEqual([running, lost, ...done]);
  });

  it('listing takes several statuses within a session', async () => {
    const { journal } = subject;
    const done = await finishedRun(journal, { sessionId: 's' });
    await finishedRun(journal, { sessionId: 't' });
    const lost = await finishedRun(journal, { sessionId: 's' }, failed());
    await createRun(journal, { sessionId: 's' });
    expect(await list({ sessionId: 's', statuses: ['completed', 'failed'] })).toEqual([lost, done]);
  });

  it('listing filters by job, and runs name theirs', async () => {
    const { journal } = subject;
    const job = newJob({ times: null });
    await journal.jobs.create(job, 100);
    const { version } = (await journal.jobs.get(job.jobId))!;
    const ofJob = await createRun(journal, { job: { jobId: job.jobId, version } });
    await createRun(journal);
    expect(await list({ jobId: job.jobId })).toEqual([ofJob]);
    expect(await list({ jobId: job.jobId, statuses: ['started', 'running'] })).toEqual([ofJob]);
    expect(await list({ jobId: job.jobId, statuses: ['failed'] })).toEqual([]);
    expect(await list({ jobId: 'a\0b' })).toEqual([]);
    expect(await list({ jobId: job.jobId, owner: 'bob' })).toEqual([]);
    expect((await journal.listRuns({ owner: 'ada', limit: 9 })).runs.map((run) => run.jobId)).toEqual([
      null,
      job.jobId,
    ]);
  });

  subject.itTimed(
    'listing filters by when runs were created: from a time on, and before another',
    async () => {
      const { journal } = subject;
      const created: { runId: string; at: number }[] = [];
      for (let i = 0; i < 4; i++) {
        const runId = await createRun(journal);
        created.push({ runId, at: (await journal.getRun(runId))!.createdAt });
        subject.clock.advance(1_000);
      }
      const [first, second, third, fourth] = created as [Created, Created, Created, Created];
      expect(await list({ since: second.at })).toEqual([fourth.runId, third.runId, second.runId]);
      expect(await list({ until: third.at })).toEqual([second.runId, first.runId]);
      expect(await list({ since: second.at, until: third.at })).toEqual([second.runId]);
      expect(await list({ since: second.at, statuses: ['started', 'running'], limit: 2 })).toEqual([
        fourth.runId,
        third.runId,
      ]);
      expect(await list({ since: fourth.at + 1 })).toEqual([]);
      expect(await list({ until: first.at })).toEqual([]);
    },
  );

  it('a search finds runs with all of the words, in the prompt or the answer, ignoring case', async () => {
    const { journal } = subject;
    const asking = (shown_input: string) => ({
      request: { prompt: shown_input, shown_input, session_named: false },
    });
    const one = await finishedRun(journal, asking('Sort the INVOICES'), completed('Done: Grüße'));
    const other = await finishedRun(journal, asking('Sort the photos'), completed('100% done'));
    expect(await list({ words: ['sort'] })).toEqual([other, one]);
    expect(await list({ words: ['invoices', 'GRÜSSE'.replace('SS', 'ß')] })).toEqual([one]);
    expect(await list({ words: ['invoices', 'photos'] })).toEqual([]);
    expect(await list({ words: ['100%'] })).toEqual([other]);
    expect(await list({ words: ['output'] })).toEqual([]);
    const { runs, next } = await journal.listRuns({ owner: 'ada', limit: 1, words: ['sort'] });
    expect(runs.map(({ runId }) => runId)).toEqual([other]);
    expect(await list({ words: ['sort'], after: next })).toEqual([one]);
  });

  it('a search that has read enough ends its page, and continues after it', async () => {
    const { journal } = subject;
    const asking = (shown_input: string) => ({
      request: { prompt: shown_input, shown_input, session_named: false },
    });
    const needle = await createRun(journal, asking('needle'));
    await createRun(journal, asking('x'.repeat(500)));
    const page = await journal.listRuns({ owner: 'ada', limit: 10, words: ['needle'], maxChars: 1 });
    expect(page).toEqual({ runs: [], next: expect.any(String) });
    expect(await list({ words: ['needle'], after: page.next })).toEqual([needle]);
  });

  it('listing continues after a restart, and when the runs of the page before were evicted', async () => {
    const older = await createRun(subject.journal, { sessionId: 's' });
    await subject.journal.claim('w', LEASE_MS, 1);
    const newer = await finishedRun(subject.journal);
    const { runs, next } = await subject.journal.listRuns({ owner: 'ada', limit: 1 });
    expect(runs.map(({ runId }) => runId)).toEqual([newer]);
    await evictExpired(subject.journal, 0, 10);
    const journal = await subject.reopen();
    const second = await journal.listRuns({ owner: 'ada', limit: 1, after: next });
    expect(second).toMatchObject({ runs: [{ runId: older }] });
    expect(second.next).toBeUndefined();
  });

  it('listing refuses an invalid cursor, or that of another owner', async () => {
    const { journal } = subject;
    for (let i = 0; i < 2; i++) await createRun(journal);
    const { next } = await journal.listRuns({ owner: 'ada', limit: 1 });
    for (const [owner, after] of [
      ['bob', next],
      ['ada', 'c1'],
      ['ada', next!.slice(1)],
    ] as const) {
      await expect(journal.listRuns({ owner, limit: 1, after })).rejects.toMatchObject({
        code: 'invalid_cursor',
      });
    }
  });

  it('listed runs are what getRun gives', async () => {
    const claim = await claimedRun(subject.journal);
    await subject.journal.append(claim, [approvalRequest('a'), step()]);
    const { runs } = await subject.journal.listRuns({ owner: 'ada', limit: 1 });
    expect(runs).toEqual([await subject.journal.getRun(claim.runId)]);
  });

  it('the depth of the queue counts unfinished runs, held or not', async () => {
    const { journal } = subject;
    expect(await journal.queueDepth()).toMatchObject({ queued: 0, leased: 0, waiting: 0 });
    const runIds = [];
    for (let i = 0; i < 4; i++) runIds.push(await createRun(journal));
    const [first, second] = await journal.claim('w', LEASE_MS, 2);
    expect(await journal.queueDepth()).toMatchObject({ queued: 2, leased: 2, waiting: 0 });
    await journal.append(first!, [completed()]);
    expect(await journal.queueDepth()).toMatchObject({ queued: 2, leased: 1, waiting: 0 });
    await journal.release(second!);
    expect(await journal.queueDepth()).toMatchObject({ queued: 3, leased: 0, waiting: 0 });
    await journal.post(runIds[3]!, { kind: 'stop' });
    expect(await journal.queueDepth()).toMatchObject({ queued: 2, leased: 0, waiting: 0 });
    expect(await (await subject.reopen()).queueDepth()).toMatchObject({ queued: 2, leased: 0, waiting: 0 });
  });
}
