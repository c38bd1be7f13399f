/** `GET /v1/runs` (PROTOCOL.md). */
import { beforeAll, describe, expect, it } from 'vitest';
import { script } from '../support/model-server.ts';
import { expectError } from './checked-api.ts';
import { apiOf, type GetTarget, largeTags, say, uniqueName, WaitingRun } from './target.ts';

export function describeList(target: GetTarget): void {
  const api = () => apiOf(target());

  describe('the list of runs', () => {
    const session = uniqueName('list');
    const inSession = (query = '') => api().list(`?session_id=${session}${query}`);
    /** In the order of creation. */
    const runIds: string[] = [];
    const newestFirst = () => [...runIds].reverse();

    beforeAll(async () => {
      for (let i = 0; i < 7; i += 1) runIds.push(await api().create(say(`${i}`), { session_id: session }));
      for (const runId of runIds) await api().finish(runId);
    });

    it('is newest first, with the runs as the poll shows them', async () => {
      const page = await inSession();
      expect(page.data.map(({ run_id }) => run_id)).toEqual(newestFirst());
      expect(page).toMatchObject({ object: 'list', has_more: false, next_cursor: null });
      for (const run of page.data) expect(run).toEqual(await api().run(run.run_id));
    });

    it('is the newest runs of all sessions without a filter', async () => {
      const runId = await api().create(say('newest'));
      const page = await api().list('?limit=1');
      expect(page.data[0]?.run_id).toBe(runId);
      expect(page.has_more).toBe(true);
      await api().finish(runId);
    });

    it.each([1, 2, 3, 6, 7, 8])('in pages of %i gives every run once', async (limit) => {
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page = await inSession(`&limit=${limit}${cursor === null ? '' : `&after=${cursor}`}`);
        expect(page.data.length).toBeLessThanOrEqual(limit);
        expect(page.has_more).toBe(page.next_cursor !== null);
        seen.push(...page.data.map(({ run_id }) => run_id));
        cursor = page.next_cursor;
      } while (cursor !== null);
      expect(seen).toEqual(newestFirst());
    });

    it('continues from a cursor although newer runs came meanwhile', async () => {
      const first = await api().list('?limit=2');
      const runId = await api().create(say('meanwhile'));
      await api().finish(runId);
      const second = await api().list(`?limit=2&after=${first.next_cursor}`);
      const ids = [...first.data, ...second.data].map(({ run_id }) => run_id);
      expect(new Set(ids).size).toBe(4);
      expect(ids).not.toContain(runId);
    });

    it('can be filtered by status and session together', async () => {
      const completed = await inSession('&status=completed');
      expect(completed.data.map(({ run_id }) => run_id)).toEqual(newestFirst());
      for (const status of [
        'started',
        'running',
        'waiting_for_approval',
        'stopping',
        'failed',
        'cancelled',
      ]) {
        expect((await inSession(`&status=${status}`)).data).toEqual([]);
      }
    });

    it('takes several statuses', async () => {
      const both = await inSession('&status=failed,completed');
      expect(both.data.map(({ run_id }) => run_id)).toEqual(newestFirst());
      expect((await inSession('&status=failed,cancelled')).data).toEqual([]);
      const repeated = `&status=${Array.from({ length: 500 }, () => 'failed,completed')}`;
      expect((await inSession(repeated)).data).toEqual(both.data);
    });

    it('shows prompts, steps and the last seq, and no answers in heads', async () => {
      const whole = await inSession();
      const heads = await inSession('&view=head');
      expect(heads.data).toEqual(whole.data.map(({ output: _, ...head }) => head));
      for (const [i, head] of heads.data.entries()) {
        const { frames } = await api().stream(head.run_id);
        expect(head).toMatchObject({
          input: expect.stringContaining(`"${6 - i}"`),
          last_seq: frames.at(-1)?.event.seq,
        });
        expect(head.steps).toBeGreaterThan(0);
      }
    });

    it('can be filtered by time', async () => {
      const { data } = await inSession();
      const third = data[4]!.created_at;
      const ids = async (query: string) => (await inSession(query)).data.map(({ run_id }) => run_id);
      const since = await ids(`&since=${third}`);
      const until = await ids(`&until=${third}`);
      expect([...since, ...until]).toEqual(newestFirst());
      expect(since).toContain(data[4]!.run_id);
      expect(await ids('&since=99999999999')).toEqual([]);
    });

    it('can be searched for words of the prompt or the answer', async () => {
      const word = uniqueName('word');
      const runId = await api().create(say(`Here is ${word} indeed`), { session_id: session });
      await api().finish(runId);
      runIds.push(runId);
      const found = async (q: string) =>
        (await api().list(`?q=${encodeURIComponent(q)}&session_id=${session}`)).data.map((run) => run.run_id);
      expect(await found(word.toUpperCase())).toEqual([runId]);
      expect(await found(`indeed ${word}`)).toEqual([runId]);
      expect(await found(`${word} elsewhere`)).toEqual([]);
    });

    it.each(['agent', 'parent_run_id'])('of an %s that no run has is empty', async (name) => {
      const page = await inSession(`&${name}=nobody`);
      expect(page).toMatchObject({ data: [], has_more: false, next_cursor: null });
    });

    it('of a job that has no runs is empty', async () => {
      expect((await api().list('?job_id=000000000000')).data).toEqual([]);
    });

    it('shows pending approvals in their runs', async () => {
      await using waiting = await WaitingRun.start(target());
      const page = await api().list('?status=waiting_for_approval');
      const found = page.data.find(({ run_id }) => run_id === waiting.runId);
      expect(found?.approval).toEqual(waiting.approval);
      for (const run of page.data) expect(run.status).toBe('waiting_for_approval');
    });

    it('of an unknown session is empty', async () => {
      const page = await api().list(`?session_id=${uniqueName('nobody')}`);
      expect(page).toEqual({ object: 'list', data: [], has_more: false, next_cursor: null });
    });

    it('finds a session by a name with any printable characters', async () => {
      const session_id = `ü %_*'" & ${uniqueName('odd')} 日本`;
      const runId = await api().create(say('odd'), { session_id });
      const page = await api().list(`?session_id=${encodeURIComponent(session_id)}`);
      expect(page.data.map((run) => [run.run_id, run.session_id])).toEqual([[runId, session_id]]);
      await api().finish(runId);
    });

    it.each(['limit=1', 'limit=200', 'limit=007', '', 'limit=', 'after=', 'unknown=1'])(
      'accepts ?%s',
      async (query) => {
        expect((await api().get(`/v1/runs?${query}`)).status).toBe(200);
      },
    );

    it('has 50 runs to a page by default', async () => {
      const count = (await api().list('?limit=200')).data.length;
      expect((await api().list()).data).toHaveLength(Math.min(50, count));
    });

    it.each([
      ['limit=0', 'invalid_request', 'limit'],
      ['limit=201', 'invalid_request', 'limit'],
      ['limit=-1', 'invalid_request', 'limit'],
      ['limit=1.5', 'invalid_request', 'limit'],
      ['limit=1e2', 'invalid_request', 'limit'],
      ['limit=abc', 'invalid_request', 'limit'],
      ['limit=%00', 'invalid_request', 'limit'],
      ['limit=99999999999999999999', 'invalid_request', 'limit'],
      ['limit=1&limit=2', 'invalid_request', 'limit'],
      ['status=done', 'invalid_request', 'status'],
      ['status=COMPLETED', 'invalid_request', 'status'],
      ['status=constructor', 'invalid_request', 'status'],
      ['status=failed&status=completed', 'invalid_request', 'status'],
      ['status=failed,', 'invalid_request', 'status'],
      [`q=${'a'.repeat(1001)}`, 'invalid_request', 'q'],
      ['view=whole', 'invalid_request', 'view'],
      ['since=yesterday', 'invalid_request', 'since'],
      ['until=-1', 'invalid_request', 'until'],
      ['q=a&q=b', 'invalid_request', 'q'],
      ['session_id=a&session_id=b', 'invalid_request', 'session_id'],
      ['after=nonsense', 'invalid_cursor', 'after'],
      ['after=c0', 'invalid_cursor', 'after'],
      ['after=c1', 'invalid_cursor', 'after'],
      ['after=-1', 'invalid_cursor', 'after'],
      ['after=%00', 'invalid_cursor', 'after'],
      ['after=c99999999999999999999999', 'invalid_cursor', 'after'],
      ['after=c1&after=c2', 'invalid_request', 'after'],
    ])('refuses ?%s with 400', async (query, code, param) => {
      expectError(await api().get(`/v1/runs?${query}`), { status: 400, code, param });
    });

    // The last test of the topic: after it, a page without a filter has megabytes.
    const early = 'of runs with long outputs comes in pages that end early, and every run comes once';
    it(early, { tags: largeTags() }, async () => {
      const session_id = uniqueName('long');
      const long = 'x'.repeat(1_000_000);
      // With a history of its own no run gets the long ones before it.
      const fields = { session_id, conversation_history: [{ role: 'user', content: 'Hello' }] };
      const created: string[] = [];
      for (let n = 0; n < 6; n += 1) {
        const prompt = script([{ chunks: [{ repeat: 'x', times: long.length }] }]);
        created.push(await api().create(prompt, fields));
      }
      // A session works on one run at a time, so the last one ends last.
      await api().finish(created.at(-1)!);
      const seen: string[] = [];
      let pages = 0;
      for (let after = ''; ; pages += 1) {
        const page = await api().list(`?session_id=${session_id}&limit=200${after}`);
        expect(JSON.stringify(page).length).toBeLessThan(5_100_000);
        for (const { output } of page.data) expect(output === long).toBe(true);
        seen.push(...page.data.map(({ run_id }) => run_id));
        if (!page.has_more) break;
        after = `&after=${page.next_cursor}`;
      }
      expect(seen).toEqual(created.reverse());
      expect(pages).toBe(1);
    });
  });
}
