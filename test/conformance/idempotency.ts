/** `Idempotency-Key`: a retried POST never starts a second run (PROTOCOL.md). */
import type { RunCreated } from '@talaria/protocol';
import { describe, expect, it } from 'vitest';
import { expectError } from './checked-api.ts';
import { apiOf, type GetTarget, HeldRun, largeTags, say, uniqueName } from './target.ts';

export function describeIdempotency(target: GetTarget): void {
  const api = () => apiOf(target());
  const post = (key: string, body: unknown) =>
    api().post<RunCreated>('/v1/runs', body, { 'idempotency-key': key });

  describe('an idempotency key', () => {
    it('replays the first run, with its present status and the header that says so', async () => {
      const key = uniqueName('key');
      const body = { input: say('once only') };
      const first = await post(key, body);
      expect(first).toMatchObject({ status: 202, body: { status: 'started', replayed: false } });
      expect(first.headers.has('idempotency-replayed')).toBe(false);
      await api().finish(first.body.run_id);
      const second = await post(key, body);
      expect(second.status).toBe(202);
      expect(second.body).toEqual({ run_id: first.body.run_id, status: 'completed', replayed: true });
      expect(second.headers.get('idempotency-replayed')).toBe('true');
    });

    it('used twenty times at once starts one run', async () => {
      const key = uniqueName('key');
      const session_id = uniqueName('session');
      const body = { input: say('concurrent'), session_id };
      const answers = await Promise.all(Array.from({ length: 20 }, () => post(key, body)));
      expect(new Set(answers.map((answer) => answer.body.run_id)).size).toBe(1);
      expect(answers.filter((answer) => !answer.body.replayed)).toHaveLength(1);
      for (const { status, body: created, headers } of answers) {
        expect(status).toBe(202);
        expect(headers.get('idempotency-replayed')).toBe(created.replayed ? 'true' : null);
      }
      expect((await api().list(`?session_id=${session_id}`)).data).toHaveLength(1);
      await api().finish(answers[0]!.body.run_id);
    });

    it('with twenty different bodies at once accepts one and refuses the others', async () => {
      const key = uniqueName('key');
      const session_id = uniqueName('session');
      const bodies = Array.from({ length: 20 }, (_, i) => ({ input: say(`${i}`), session_id }));
      const answers = await Promise.all(bodies.map((body) => post(key, body)));
      expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 409)).toHaveLength(19);
      expect((await api().list(`?session_id=${session_id}`)).data).toHaveLength(1);
    });

    it('ignores the order of fields, at any depth, and white space', async () => {
      const key = uniqueName('key');
      const raw = '{"input":[{"role":"user","content":"hi"}],"session_id":"s"}';
      const other = '{ "session_id":"s",\n"input":[{"content":"hi","role":"user"}]}';
      const headers = { 'idempotency-key': key };
      const first = await api().request<RunCreated>('POST', '/v1/runs', { raw, headers });
      const second = await api().request<RunCreated>('POST', '/v1/runs', { raw: other, headers });
      expect(second.body).toMatchObject({ run_id: first.body.run_id, replayed: true });
    });

    it('ignores the order of very many fields, too', { tags: largeTags() }, async () => {
      const key = uniqueName('key');
      const names = Array.from({ length: 20_000 }, (_, n) => `k${(n * 7919) % 20_000}`);
      const body = (order: string[]) => ({
        input: 'many',
        fields: Object.fromEntries(order.map((name) => [name, 1])),
      });
      const first = await post(key, body(names));
      expect(first.status).toBe(202);
      const second = await post(key, body(names.toReversed()));
      expect(second.body).toMatchObject({ run_id: first.body.run_id, replayed: true });
      const other = { ...body(names), further: 1 };
      expectError(await post(key, other), { status: 409, code: 'idempotency_key_conflict' });
    });

    it.each([
      ['another input', { input: 'b' }],
      ['a further field', { input: 'a', instructions: 'x' }],
      ['a further unknown field', { input: 'a', anything: 1 }],
      ['a list for a string', { input: ['a'] }],
    ])('with %s is 409 idempotency_key_conflict', async (_, other) => {
      const key = uniqueName('key');
      const first = await post(key, { input: 'a' });
      expect(first.status).toBe(202);
      expectError(await post(key, other), { status: 409, code: 'idempotency_key_conflict' });
      expect(await post(key, { input: 'a' })).toMatchObject({
        status: 202,
        body: { run_id: first.body.run_id },
      });
    });

    it('tells apart keys that differ in case', async () => {
      const key = uniqueName('key');
      const first = await post(key, { input: 'a' });
      const second = await post(key.toUpperCase(), { input: 'a' });
      expect(second.body.run_id).not.toBe(first.body.run_id);
    });

    it('shows the status of an unfinished run', async () => {
      const key = uniqueName('key');
      await using held = await HeldRun.start(target());
      const session_id = (await api().run(held.runId)).session_id;
      const body = { input: say('behind'), session_id };
      const first = await post(key, body);
      expect((await post(key, body)).body).toEqual({
        run_id: first.body.run_id,
        status: 'started',
        replayed: true,
      });
      held.release();
      await api().finish(first.body.run_id);
    });

    it.each(['!', '~', 'a'.repeat(255), '"quoted"', 'a,b;c=d'])('may be %s', async (key) => {
      const unique = key.length === 255 ? key.slice(36) + crypto.randomUUID() : key + crypto.randomUUID();
      expect((await post(unique, { input: 'x' })).status).toBe(202);
    });

    it('of a refused request is not used up', async () => {
      const key = uniqueName('key');
      expect((await post(key, { input: '' })).status).toBe(400);
      expect((await post(key, { input: 'now' })).body).toMatchObject({ replayed: false });
    });
  });
}
