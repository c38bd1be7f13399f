/** `POST /v1/runs/{id}/stop` (PROTOCOL.md). */
import { describe, expect, it } from 'vitest';
import { script } from '../support/model-server.ts';
import { expectError } from './checked-api.ts';
import {
  apiOf,
  type GetTarget,
  HeldRun,
  MISSING_RUN,
  modelRequest,
  say,
  terminal,
  uniqueName,
  WaitingRun,
  waitForStatus,
} from './target.ts';

const STOP_LIMIT_MS = 5_000;

export function describeStop(target: GetTarget): void {
  const api = () => apiOf(target());

  async function expectStopped(runId: string): Promise<void> {
    const askedAt = performance.now();
    const answer = await api().stop(runId);
    expect(answer).toMatchObject({ status: 200, body: { run_id: runId, status: 'stopping' } });
    expect(await api().finish(runId)).toMatchObject({ event: 'run.cancelled' });
    expect(performance.now() - askedAt).toBeLessThan(STOP_LIMIT_MS);
    expect((await api().run(runId)).status).toBe('cancelled');
  }

  describe('stop', () => {
    it('ends a run in a model call that has not begun to answer', async () => {
      const prompt = script([{ hang: 'before' }]);
      const runId = await api().create(prompt);
      await modelRequest(target(), prompt);
      await expectStopped(runId);
    });

    it('ends a run in a model call that stopped in the middle', async () => {
      const runId = await api().create(script([{ text: 'never to be finished', hang: 'mid' }]));
      await api().stream(runId, { until: ({ event }) => event.event === 'message.delta' });
      await expectStopped(runId);
    });

    it('ends a run in a tool call', async () => {
      const runId = await api().create(script([{ tools: [terminal('sleep 60 & sleep 60')] }]));
      await api().stream(runId, { until: ({ event }) => event.event === 'tool.started' });
      await expectStopped(runId);
    });

    it('ends a run that waits for approval', async () => {
      await using waiting = await WaitingRun.start(target());
      await expectStopped(waiting.runId);
      expectError(await api().approve(waiting.runId, 'once'), { status: 409, code: 'approval_not_active' });
    });

    it('ends a run that has not started, and its model is never called', async () => {
      const session_id = uniqueName('session');
      await using first = await HeldRun.start(target(), [{ text: 'first' }], { session_id });
      const prompt = say('never said');
      const second = await api().create(prompt, { session_id });
      await expectStopped(second);
      first.release();
      await api().finish(first.runId);
      const asked = target().model.requests.filter(({ body }) => JSON.stringify(body).includes('never said'));
      expect(asked).toEqual([]);
    });

    it('needs no body, and ignores one', async () => {
      const bodies = ['', 'not json', '[]', '{"status":"completed"}', '\xff\xfe'];
      for (const raw of bodies) {
        await using held = await HeldRun.start(target());
        const headers = { 'content-type': 'application/json' };
        const answer = await api().request('POST', `/v1/runs/${held.runId}/stop`, { raw, headers });
        expect(answer.status, JSON.stringify(raw)).toBe(200);
        await waitForStatus(api(), held.runId, 'cancelled', STOP_LIMIT_MS);
      }
    });

    it('sent ten times at once cancels once; every answer is stopping or already finished', async () => {
      await using held = await HeldRun.start(target());
      const answers = await Promise.all(Array.from({ length: 10 }, () => api().stop(held.runId)));
      expect(answers.map(({ status }) => status)).toContain(200);
      for (const answer of answers) {
        if (answer.status === 200) expect(answer.body).toEqual({ run_id: held.runId, status: 'stopping' });
        else expectError(answer, { status: 404, code: 'run_not_active' });
      }
      const { frames } = await api().stream(held.runId);
      expect(frames.map(({ event }) => event.event)).toEqual(['run.cancelled']);
    });

    it.each([
      ['completed', say('end')],
      ['failed', script([{ error: { status: 400, message: 'no' } }])],
    ] as const)('of a %s run is 404 run_not_active and changes nothing', async (status, prompt) => {
      const runId = await api().create(prompt);
      await api().finish(runId);
      const before = await api().run(runId);
      expectError(await api().stop(runId), { status: 404, code: 'run_not_active' });
      expect(await api().run(runId)).toEqual(before);
      expect(before.status).toBe(status);
    });

    it('of a cancelled run is 404 run_not_active', async () => {
      await using held = await HeldRun.start(target());
      await expectStopped(held.runId);
      expectError(await api().stop(held.runId), { status: 404, code: 'run_not_active' });
    });

    it('of an unknown run is 404 run_not_found', async () => {
      expectError(await api().stop(MISSING_RUN), {
        status: 404,
        code: 'run_not_found',
        message: `Run not found: ${MISSING_RUN}`,
      });
    });
  });
}
