/** `POST /v1/runs/{id}/steer` (PROTOCOL.md). */
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
} from './target.ts';

export function describeSteer(target: GetTarget): void {
  const api = () => apiOf(target());
  const steer = (runId: string, input: unknown) => api().post(`/v1/runs/${runId}/steer`, { input });

  describe('steer', () => {
    it('reaches the model at the next step, and the stream as run.steered', async () => {
      const gate = uniqueName('steer');
      const prompt = script([{ gate, tools: [terminal('echo 1')] }, { text: 'done' }]);
      const runId = await api().create(prompt);
      await target().model.waitingAt(gate);
      const answer = await steer(runId, 'look at the café instead');
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({ object: 'hermes.run.steer', run_id: runId, accepted: true });
      target().model.open(gate);
      const { frames } = await api().stream(runId);
      const names = frames.map(({ event }) => event.event);
      expect(names.filter((name) => name === 'run.steered')).toHaveLength(1);
      expect(names.indexOf('run.steered')).toBeGreaterThan(names.indexOf('tool.completed'));
      const { body } = await modelRequest(target(), prompt, 1);
      const last = body.messages.at(-1);
      expect(last?.role).toBe('user');
      expect(JSON.stringify(last?.content)).toContain('look at the café instead');
      expect(names.at(-1)).toBe('run.completed');
    });

    it('given during the last step causes another one, and several arrive in order', async () => {
      const gate = uniqueName('steer');
      const prompt = script([{ gate, text: 'first answer' }, { text: 'second answer' }]);
      const runId = await api().create(prompt);
      await target().model.waitingAt(gate);
      await steer(runId, 'more A');
      await steer(runId, 'more B');
      target().model.open(gate);
      expect(await api().finish(runId)).toMatchObject({ event: 'run.completed', output: 'second answer' });
      const { body } = await modelRequest(target(), prompt, 1);
      const text = JSON.stringify(body.messages);
      expect(text.indexOf('more A')).toBeGreaterThan(text.indexOf('first answer'));
      expect(text.indexOf('more B')).toBeGreaterThan(text.indexOf('more A'));
    });

    it.each([
      ['empty', ''],
      ['blank', ' \n\t'],
      ['absent', undefined],
      ['null', null],
      ['a number', 5],
      ['a list', ['x']],
      ['an object', { text: 'x' }],
    ])('with an input that is %s is 400 invalid_steer_input', async (_, input) => {
      await using held = await HeldRun.start(target());
      expectError(await steer(held.runId, input), {
        status: 400,
        code: 'invalid_steer_input',
        param: 'input',
      });
    });

    it('of a run that has not started is 409', async () => {
      const session_id = uniqueName('session');
      await using first = await HeldRun.start(target(), [{ text: 'first' }], { session_id });
      const second = await api().create(say('second'), { session_id });
      expectError(await steer(second, 'hurry'), { status: 409, code: 'run_not_accepting_steer' });
      first.release();
      await api().finish(second);
    });

    it('of a finished run is 409, and adds no event', async () => {
      const runId = await api().create(say('end'));
      const { frames } = await api().stream(runId);
      expectError(await steer(runId, 'wait'), { status: 409, code: 'run_not_accepting_steer' });
      expect((await api().stream(runId)).frames).toEqual(frames);
    });

    it('beyond 32 that wait is 429; the accepted ones reach the model in order, and then there is room', async () => {
      const gates = [uniqueName('steer'), uniqueName('steer')] as const;
      const prompt = script([
        { gate: gates[0], tools: [terminal('true')] },
        { gate: gates[1], text: 'done' },
      ]);
      const runId = await api().create(prompt);
      await target().model.waitingAt(gates[0]);
      const inputs = Array.from({ length: 32 }, (_, n) => `steer no. ${n}.`);
      for (const input of inputs) expect((await steer(runId, input)).status).toBe(200);
      expectError(await steer(runId, 'one too many'), { status: 429, code: 'too_many_steers' });

      target().model.open(gates[0]);
      await target().model.waitingAt(gates[1]);
      const { body } = await modelRequest(target(), prompt, 1);
      const given = JSON.stringify(body.messages).match(/steer no\. \d+\./g);
      expect(given).toEqual(inputs);
      expect((await steer(runId, 'room again')).status).toBe(200);
      target().model.open(gates[1]);
      const { frames } = await api().stream(runId);
      expect(frames.filter(({ event }) => event.event === 'run.steered')).toHaveLength(33);
    });

    it('of an unknown run is 404, before the body is checked', async () => {
      expectError(await steer(MISSING_RUN, 'x'), { status: 404, code: 'run_not_found' });
      expectError(await steer(MISSING_RUN, ''), { status: 404, code: 'run_not_found' });
    });
  });
}
