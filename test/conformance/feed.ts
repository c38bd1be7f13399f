/** `GET /v1/feed` (PROTOCOL.md). */
import { type Run, SSE_OPEN } from '@talaria/protocol';
import * as schemas from '@talaria/protocol/schemas';
import { describe, expect, it } from 'vitest';
import { Api } from '../support/api.ts';
import { FeedReader } from '../support/feed-reader.ts';
import { script } from '../support/model-server.ts';
import { expectError, expectShape } from './checked-api.ts';
import { apiOf, type GetTarget, HeldRun, say, WaitingRun } from './target.ts';

const isOver = ({ status }: Run) => ['completed', 'failed', 'cancelled'].includes(status);

export function describeFeed(target: GetTarget): void {
  const api = () => apiOf(target());

  describe('the feed', () => {
    it('is an event stream that begins with a comment', async () => {
      const abort = new AbortController();
      const { baseUrl, key } = target();
      const response = await fetch(`${baseUrl}/v1/feed`, {
        headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
        signal: abort.signal,
      });
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('text/event-stream');
      expect(response.headers.get('cache-control')).toBe('no-cache');
      expect(response.headers.get('x-accel-buffering')).toBe('no');
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      const { value } = await response.body!.getReader().read();
      expect(new TextDecoder().decode(value).startsWith(SSE_OPEN)).toBe(true);
      abort.abort();
    });

    it('shows a run from its beginning to its end, each time as a list of heads does', async () => {
      await using feed = await FeedReader.open(api());
      const runId = await api().create(say('hello'));
      const last = await feed.shows(runId, isOver);
      const { data } = await api().list('?view=head');
      expect(last).toEqual(data.find(({ run_id }) => run_id === runId));
      expect(last).not.toHaveProperty('output');
      for (const { change } of feed.frames) expectShape(schemas.RunChangedSchema, change);
    });

    it('without a cursor shows nothing of what was before', async () => {
      const runId = await api().create(say('before'));
      await api().finish(runId);
      await using feed = await FeedReader.open(api());
      const later = await api().create(say('after'));
      await feed.shows(later, isOver);
      expect(feed.latest(runId)).toBeUndefined();
    });

    it('shows steps, tokens and questions while the run works', async () => {
      await using feed = await FeedReader.open(api());
      await using waiting = await WaitingRun.start(target());
      const run = await feed.shows(waiting.runId, ({ approval }) => approval !== undefined);
      expect(run).toMatchObject({ status: 'waiting_for_approval', steps: 1, approval: waiting.approval });
      expect(run.usage_so_far?.total_tokens).toBeGreaterThan(0);
    });

    it('shows how far a run has got while its text comes', async () => {
      await using feed = await FeedReader.open(api());
      const chunks = ['a', { gate: 'text' }, 'b'];
      const runId = await api().create(script([{ chunks }]));
      await target().model.waitingAt('text');
      await feed.shows(runId, ({ last_seq }) => last_seq === 0);
      target().model.open('text');
      const last = await feed.shows(runId, isOver);
      expect(last.last_seq).toBe((await api().run(runId)).last_seq);
    });

    it('with a cursor shows every run that has changed since, in its latest state, then live ones', async () => {
      await using held = await HeldRun.start(target());
      const first = await FeedReader.open(api());
      const early = await api().create(say('early'));
      await first.shows(early, isOver);
      const { cursor } = first;
      await first[Symbol.asyncDispose]();
      const missed = await api().create(say('missed'));
      await api().finish(missed);
      held.release();
      await api().finish(held.runId);

      await using resumed = await FeedReader.open(api(), cursor);
      for (const runId of [missed, held.runId]) await resumed.shows(runId, isOver);
      expect(resumed.frames.filter(({ change }) => change.run.run_id === missed)).toHaveLength(1);
      const live = await api().create(say('live'));
      await resumed.shows(live, isOver);
    });

    it('continues at the cursor of its beginning, and of any frame', async () => {
      const first = await FeedReader.open(api());
      const begin = first.cursor;
      const runs = [await api().create(say('one')), await api().create(say('two'))];
      for (const runId of runs) await first.shows(runId, isOver);
      const cursors = [begin, ...first.frames.map(({ id }) => id)];
      await first[Symbol.asyncDispose]();
      for (const [i, cursor] of cursors.entries()) {
        await using resumed = await FeedReader.open(api(), cursor);
        // What the frames up to the cursor have not shown in its last state has to come.
        const known = new Map(first.frames.slice(0, i).map(({ change }) => [change.run.run_id, change.run]));
        const isMissing = (runId: string) => known.get(runId)?.last_event !== 'run.completed';
        for (const runId of runs.filter(isMissing)) await resumed.shows(runId, isOver);
      }
    });

    it('takes the cursor from the query, too; the header wins, and empty ones count as absent', async () => {
      const begin = await FeedReader.open(api());
      const { cursor } = begin;
      await begin[Symbol.asyncDispose]();
      const { baseUrl, key } = target();
      const runId = await api().create(say('hi'));
      await api().finish(runId);
      const auth: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
      for (const [query, header] of [
        [`?after=${cursor}`, undefined],
        [`?after=${cursor}`, ''],
        ['?after=', cursor],
      ] as const) {
        const abort = new AbortController();
        const response = await fetch(`${baseUrl}/v1/feed${query}`, {
          headers: header === undefined ? auth : { ...auth, 'last-event-id': header },
          signal: abort.signal,
        });
        let text = '';
        for await (const chunk of response.body!) {
          text += new TextDecoder().decode(chunk as Uint8Array);
          if (text.includes(runId)) break;
        }
        abort.abort();
        expect(text).toContain(runId);
      }
    });

    it.each(['0', 'x', '-1', 'A'.repeat(48)])('refuses the cursor %s', async (cursor) => {
      const refused = { status: 400, code: 'invalid_cursor' };
      expectError(await api().get(`/v1/feed?after=${cursor}`), refused);
      const headers = { 'last-event-id': cursor };
      expectError(await api().request('GET', '/v1/feed', { headers }), refused);
    });
  });
}

export function describeFeedOwnership(target: GetTarget): void {
  it('the feed of a key shows no run of another, and takes no cursor of another', async () => {
    const mine = apiOf(target());
    const other = new Api(target().baseUrl, target().otherKey);
    await using feed = await FeedReader.open(mine);
    await using otherFeed = await FeedReader.open(other);
    const theirs = await other.create(say('theirs'));
    await otherFeed.shows(theirs, isOver);
    const own = await mine.create(say('mine'));
    await feed.shows(own, isOver);
    expect(feed.latest(theirs)).toBeUndefined();
    expect(otherFeed.latest(own)).toBeUndefined();
    expectError(await mine.get(`/v1/feed?after=${otherFeed.cursor}`), {
      status: 400,
      code: 'invalid_cursor',
    });
  });
}
