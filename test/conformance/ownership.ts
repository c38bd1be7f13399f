/** A run belongs to its key: to another key it looks exactly like a run that does not exist. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { textOf } from '../support/model-server-script.ts';
import { CheckedApi, expectError } from './checked-api.ts';
import { exchange, head } from './raw-http.ts';
import {
  apiOf,
  commands,
  GATED,
  type GetTarget,
  HeldRun,
  MISSING_RUN,
  modelRequest,
  say,
  uniqueName,
  WaitingRun,
} from './target.ts';

const REQUESTS: [string, string, string?][] = [
  ['GET', ''],
  ['HEAD', ''],
  ['DELETE', ''],
  ['PATCH', '', '{"keep":true}'],
  ['PATCH', '', '{"keep":5}'],
  ['PATCH', '', 'not json'],
  ['GET', '/events'],
  ['GET', '/events?last_event_id=0'],
  ['GET', '/events?last_event_id=999999'],
  ['GET', '/events?last_event_id=nonsense'],
  ['HEAD', '/events'],
  ['POST', '/fork'],
  ['POST', '/fork', '{"at":0}'],
  ['POST', '/fork', '{"at":-1}'],
  ['POST', '/fork', 'not json'],
  ['POST', '/stop'],
  ['POST', '/stop', 'not json'],
  ['POST', '/approval', '{"choice":"once"}'],
  ['POST', '/approval', '{"choice":"once","all":true}'],
  ['POST', '/approval', '{"choice":"maybe"}'],
  ['POST', '/approval', '{"choice":"once","request_id":5}'],
  ['POST', '/approval', 'not json'],
  ['POST', '/approval', '[]'],
  ['POST', '/steer', '{"input":"x"}'],
  ['POST', '/steer', '{"input":""}'],
  ['POST', '/steer', 'not json'],
  ['GET', '/artifacts'],
  ['GET', '/artifacts?recursive=maybe'],
  ['GET', '/artifacts/content'],
  ['HEAD', '/artifacts/content?path=file'],
  ['GET', '/artifacts/content?path=../file'],
  ['GET', '/artifacts/archive'],
  ['GET', '/artifacts/archive?format=rar'],
  ['PUT', '/artifacts/content', 'content'],
  ['PUT', '/artifacts/content?path=file', 'content'],
  ['PUT', '/artifacts/content?path=../file', 'content'],
  ['DELETE', '/artifacts/content?path=file'],
  ['DELETE', '/artifacts/content?path=file&recursive=maybe'],
  ['GET', '/artifacts?at=0'],
  ['HEAD', '/artifacts/content?path=file&at=0'],
  ['GET', '/artifacts/archive?at=999999'],
  ['PUT', '/artifacts/content?path=file&at=0', 'content'],
  ['GET', '/diff'],
  ['GET', '/diff?format=patch'],
  ['HEAD', '/diff?format=patch'],
  ['GET', '/diff?from=999999'],
  ['GET', '/diff?to=nonsense&format=html&path=../file'],
  ['POST', '/artifacts'],
  ['GET', '/stop'],
  ['PUT', '/events'],
  ['GET', '/nothing'],
];

export function describeOwnership(target: GetTarget): void {
  const mine = () => apiOf(target());
  const other = () => new CheckedApi(target().baseUrl, target().otherKey);

  describe("another key's run", () => {
    let held: HeldRun;
    let waiting: WaitingRun;
    let finished: string;

    beforeAll(async () => {
      held = await HeldRun.start(target());
      waiting = await WaitingRun.start(target(), commands(GATED));
      finished = await mine().create(say('mine'));
      await mine().finish(finished);
    });
    afterAll(async () => {
      await held[Symbol.asyncDispose]();
      await waiting[Symbol.asyncDispose]();
    });

    const states: [string, () => string][] = [
      ['running', () => held.runId],
      ['waiting for approval', () => waiting.runId],
      ['finished', () => finished],
    ];
    const table = REQUESTS.flatMap(([method, path, body]) =>
      states.map(([state, id]) => ({ method, path, body, state, id })),
    );

    it.each(table)(
      'that is $state answers $method $path $body like no run',
      async ({ method, path, body, id }) => {
        const ask = async (runId: string) => {
          const { baseUrl, otherKey } = target();
          const answer = await exchange(
            baseUrl,
            head(baseUrl, method, `/v1/runs/${runId}${path}`, [
              ['Authorization', `Bearer ${otherKey}`],
              ['Content-Length', String(body?.length ?? 0)],
            ]),
            body ?? '',
          );
          const { date: _, 'x-request-id': __, ...headers } = Object.fromEntries(answer!.headers);
          return { status: answer!.status, headers, body: answer!.body.replaceAll(runId, '<id>') };
        };
        const theirs = await ask(id());
        expect(theirs).toEqual(await ask(MISSING_RUN));
        expect([404, 405]).toContain(theirs.status);
      },
    );

    it('is in no list, with any filter', async () => {
      const run = await mine().run(waiting.runId);
      for (const query of ['?limit=200', `?session_id=${run.session_id}`, '?status=waiting_for_approval']) {
        const ids = (await other().list(query)).data.map(({ run_id }) => run_id);
        for (const [, id] of states) expect(ids).not.toContain(id());
      }
      expect((await mine().list(`?session_id=${run.session_id}`)).data).toHaveLength(1);
    });

    it('was not touched by any of this', async () => {
      expect((await mine().run(held.runId)).status).toBe('running');
      expect((await mine().run(waiting.runId)).approval).toEqual(waiting.approval);
    });
  });

  describe('keys do not share', () => {
    it('cursors', async () => {
      for (const text of ['older', 'newer']) await mine().finish(await mine().create(say(text)));
      const { next_cursor: cursor } = await mine().list('?limit=1');
      expect((await mine().get(`/v1/runs?after=${cursor}`)).status).toBe(200);
      const answer = await other().get(`/v1/runs?after=${cursor}`);
      expectError(answer, { status: 400, code: 'invalid_cursor', param: 'after' });
    });

    it('idempotency keys', async () => {
      const headers = { 'idempotency-key': uniqueName('key') };
      const first = await mine().create(say('one'), {}, headers);
      const second = await other().create(say('two'), {}, headers);
      expect(second).not.toBe(first);
    });

    it('sessions: neither the turn nor the transcript nor its grants', async () => {
      const session_id = uniqueName('session');
      await using waiting = await WaitingRun.start(target(), commands(GATED), { session_id });
      await mine().approve(waiting.runId, 'session');
      await mine().finish(waiting.runId);
      await using held = await HeldRun.start(target(), [{ text: 'secret' }], { session_id });
      const prompt = say('other');
      const runId = await other().create(prompt, { session_id });
      expect(await other().finish(runId)).toMatchObject({ output: 'other' });
      const { body } = await modelRequest(target(), prompt);
      expect(body.messages.map(({ role }) => role)).toEqual(['system', 'user']);
      expect(textOf(body.messages[1]!)).toBe(prompt);
      expect((await mine().run(held.runId)).status).toBe('running');
      const { key: _, otherKey, ...rest } = target();
      await using asks = await WaitingRun.start({ ...rest, key: otherKey }, commands(GATED), { session_id });
      expect(asks.approval.command).toBe(GATED);
    });
  });
}
