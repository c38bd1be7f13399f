/** The reference server's own tests of the runs routes (start, auth, events, stop), one by one. */
import { describe, expect, it } from 'vitest';
import { script } from '../support/model-server.ts';
import { apiOf, type GetTarget, HeldRun, modelRequest, say, terminal, waitForStatus } from './target.ts';

export function describeReference(target: GetTarget): void {
  const api = () => apiOf(target());

  describe('what the reference server promises', () => {
    it('starts a run with 202, status started and an id that begins with run_', async () => {
      const answer = await api().post<{ run_id: string; status: string }>('/v1/runs', { input: 'hello' });
      expect(answer.status).toBe(202);
      expect(answer.body.status).toBe('started');
      expect(answer.body.run_id).toMatch(/^run_/);
    });

    it('refuses a body that is not JSON with 400', async () => {
      const headers = { 'content-type': 'application/json' };
      const answer = await api().request('POST', '/v1/runs', { raw: 'not json', headers });
      expect(answer.status).toBe(400);
    });

    it('refuses a body without input with 400 and names the field', async () => {
      const answer = await api().post<{ error: { message: string } }>('/v1/runs', { model: 'test' });
      expect(answer.status).toBe(400);
      expect(answer.body.error.message).toContain('input');
    });

    it('refuses an empty input with 400', async () => {
      expect((await api().post('/v1/runs', { input: '' })).status).toBe(400);
    });

    it('streams run.completed with the answer to a subscriber', async () => {
      const runId = await api().create(say('Hello!'));
      const { frames } = await api().stream(runId);
      expect(frames.at(-1)?.event).toMatchObject({ event: 'run.completed', output: 'Hello!' });
    });

    it.each(['events', 'stop'])('answers 404 to %s of a run that does not exist', async (route) => {
      const method = route === 'stop' ? 'POST' : 'GET';
      expect((await api().request(method, `/v1/runs/run_nonexistent/${route}`)).status).toBe(404);
    });

    it('stops a running agent: 200 stopping, the model call is aborted, the run ends', async () => {
      const prompt = script([{ hang: 'before' }]);
      const runId = await api().create(prompt);
      const call = await modelRequest(target(), prompt);
      const answer = await api().stop(runId);
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({ run_id: runId, status: 'stopping' });
      await waitForStatus(api(), runId, 'cancelled', 5_000);
      await target().model.waitForRequest((request) => request === call && request.aborted, 5_000);
    });

    it('answers 404 to the stop of a run that has completed', async () => {
      const runId = await api().create(say('done'));
      await api().finish(runId);
      expect((await api().stop(runId)).status).toBe(404);
    });

    it('stops a run whose tool ignores every polite signal', async () => {
      const command = "trap '' TERM INT HUP; while :; do sleep 0.05; done";
      const runId = await api().create(script([{ tools: [terminal(command)] }]));
      await api().stream(runId, { until: ({ event }) => event.event === 'tool.started' });
      const answer = await api().stop(runId);
      expect(answer).toMatchObject({ status: 200, body: { status: 'stopping' } });
      await waitForStatus(api(), runId, 'cancelled', 5_000);
    });

    it('closes the event stream of a run that is stopped', async () => {
      await using held = await HeldRun.start(target());
      const streaming = api().stream(held.runId);
      expect((await api().stop(held.runId)).status).toBe(200);
      const { clean, comments, frames } = await streaming;
      expect(clean).toBe(true);
      expect(comments).toContain('stream closed');
      expect(frames.map(({ event }) => event.event)).toEqual(['run.cancelled']);
    });
  });
}

/** Those of them that need a server with a key. */
export function describeReferenceAuth(target: GetTarget): void {
  describe('what the reference server promises about keys', () => {
    it.each([
      ['POST', '/v1/runs', { input: 'hello' }],
      ['GET', '/v1/runs/run_any/events', undefined],
      ['POST', '/v1/runs/run_any/stop', undefined],
    ])('%s %s needs the key', async (method, path, body) => {
      const { key: _, ...keyless } = target();
      expect((await apiOf(keyless).request(method, path, { body })).status).toBe(401);
    });

    it('starts a run with the right key', async () => {
      expect((await apiOf(target()).post('/v1/runs', { input: 'hello' })).status).toBe(202);
    });
  });
}
