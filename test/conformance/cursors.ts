/** Resuming a stream: everything after the cursor, once and in order, or an error (PROTOCOL.md). */
import { createSseParser } from '@talaria/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Frame } from '../support/api.ts';
import { script } from '../support/model-server.ts';
import { expectError } from './checked-api.ts';
import { openRaw } from './event-stream.ts';
import { apiOf, type GetTarget, HeldRun, uniqueName } from './target.ts';

export function describeCursors(target: GetTarget): void {
  const api = () => apiOf(target());
  let runId: string;
  let all: Frame[];
  const last = () => all.length - 1;

  async function framesAfter(query: string, headers: Record<string, string> = {}): Promise<Frame[]> {
    const frames: Frame[] = [];
    const parser = createSseParser({
      onMessage: ({ id, data }) => void frames.push({ id, data, event: JSON.parse(data) }),
    });
    parser.feed(await (await openRaw(target(), runId, { query, headers })).text());
    return frames;
  }

  describe('a cursor', () => {
    beforeAll(async () => {
      const tools = [1, 2, 3].map((i) => ({ name: 'terminal', arguments: { command: `echo ${i}` } }));
      runId = await api().create(script([{ text: 'some text', tools }, { text: 'done' }]));
      all = (await api().stream(runId)).frames;
      expect(all.length).toBeGreaterThan(6);
    });

    it('is served from every position: exactly the events after it', async () => {
      for (let n = 0; n < last(); n += 1) {
        expect(await framesAfter('', { 'last-event-id': String(n) })).toEqual(all.slice(n + 1));
      }
    });

    it.each(['last_event_id', 'last_seq'])('can be given as ?%s=', async (name) => {
      expect(await framesAfter(`?${name}=2`)).toEqual(all.slice(3));
    });

    it('in the header wins over the query, because a browser repeats its first URL', async () => {
      expect(await framesAfter('?last_event_id=0', { 'last-event-id': '3' })).toEqual(all.slice(4));
    });

    it('at the last event of a finished run is 204, which tells an EventSource to stop', async () => {
      const asked = { headers: { 'last-event-id': String(last()) } };
      expect(await api().request('GET', `/v1/runs/${runId}/events`, asked)).toMatchObject({
        status: 204,
        body: '',
      });
      expect(await api().get(`/v1/runs/${runId}/events?last_seq=${last()}`)).toMatchObject({ status: 204 });
    });

    it('that is empty counts as absent', async () => {
      expect(await framesAfter('?last_event_id=')).toEqual(all);
    });

    const bad: [string, string][] = [
      ['negative', '-1'],
      ['not a number', 'abc'],
      ['a fraction', '1.5'],
      ['an exponent', '1e1'],
      ['hexadecimal', '0x1'],
      ['signed', '%2B1'],
      ['NaN', 'NaN'],
      ['Infinity', 'Infinity'],
      ['padded', '%201'],
      ['with a zero byte', '1%00'],
      ['in other digits', '%D9%A1'],
      ['huge', '9'.repeat(15)],
      ['beyond all numbers', '9'.repeat(400)],
      ['of an overflow', '18446744073709551616'],
      ['an object', '[object Object]'],
    ];
    it.each(bad)('that is %s is refused with 400 invalid_cursor', async (_, value) => {
      for (const name of ['last_event_id', 'last_seq']) {
        const answer = await api().get(`/v1/runs/${runId}/events?${name}=${value}`);
        expectError(answer, { status: 400, code: 'invalid_cursor' });
      }
    });

    it.each(['-1', 'abc', '1.5', '9'.repeat(400)])('%s in the header is refused', async (value) => {
      const headers = { 'last-event-id': value };
      const answer = await api().request('GET', `/v1/runs/${runId}/events`, { headers });
      expectError(answer, { status: 400, code: 'invalid_cursor' });
    });

    it('beyond the last event is refused, also by one', async () => {
      const answer = await api().get(`/v1/runs/${runId}/events?last_event_id=${last() + 1}`);
      expectError(answer, { status: 400, code: 'invalid_cursor' });
    });

    it('that is bad is refused even if another one overrides it', async () => {
      const headers = { 'last-event-id': '0' };
      const answer = await api().request('GET', `/v1/runs/${runId}/events?last_seq=-1`, { headers });
      expectError(answer, { status: 400, code: 'invalid_cursor' });
    });

    it('that is given twice is refused', async () => {
      const answer = await api().get(`/v1/runs/${runId}/events?last_event_id=1&last_event_id=2`);
      expectError(answer, { status: 400, code: 'invalid_cursor' });
    });
  });

  describe('a cursor of an unfinished run', () => {
    let held: HeldRun;
    const gate = uniqueName('cursor');

    beforeAll(async () => {
      held = await HeldRun.start(target(), [{ chunks: ['one', { gate }, 'two'] }]);
    });
    afterAll(() => held[Symbol.asyncDispose]());

    it('is refused while there is no event at all', async () => {
      const answer = await api().get(`/v1/runs/${held.runId}/events?last_event_id=0`);
      expectError(answer, { status: 400, code: 'invalid_cursor' });
    });

    it('at the newest event gives what comes later and nothing before', async () => {
      held.release();
      const { frames } = await api().stream(held.runId, { until: () => true });
      expect(frames).toHaveLength(1);
      const rest = api().stream(held.runId, { after: 0 });
      target().model.open(gate);
      const whole = await api().stream(held.runId);
      expect((await rest).frames).toEqual(whole.frames.slice(1));
    });
  });
}
