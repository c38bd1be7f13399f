/** `GET /v1/runs/{id}`: which fields a run has in which status (PROTOCOL.md). */
import { describe, expect, it } from 'vitest';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { expectError } from './checked-api.ts';
import {
  apiOf,
  type GetTarget,
  HeldRun,
  MISSING_RUN,
  say,
  terminal,
  uniqueName,
  WaitingRun,
  waitForStatus,
} from './target.ts';

const ALWAYS = [
  'created_at',
  'input',
  'last_event',
  'model',
  'object',
  'run_id',
  'session_id',
  'status',
  'steps',
  'updated_at',
];
/** After the run's first event. */
const SHOWN = [...ALWAYS, 'last_seq'];
const ENDED = [...SHOWN, 'expires_at'];
const ONE_STEP = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };

export function describePoll(target: GetTarget): void {
  const api = () => apiOf(target());

  describe('the poll', () => {
    it('of a completed run has output and usage, and no fields of the other ends', async () => {
      const runId = await api().create(script([{ text: 'hello', usage: { input: 7, output: 3 } }]));
      await api().finish(runId);
      const run = await api().run(runId);
      expect(Object.keys(run).sort()).toEqual([...ENDED, 'output', 'usage'].sort());
      expect(run).toMatchObject({
        object: 'hermes.run',
        run_id: runId,
        status: 'completed',
        session_id: runId,
        last_event: 'run.completed',
        output: 'hello',
        usage: { input_tokens: 7, output_tokens: 3, total_tokens: 10 },
      });
      expect(run.model).not.toBe('');
    });

    it('with view=head is what a list of heads has', async () => {
      const runId = await api().create(say('head'));
      await api().finish(runId);
      const { output, ...head } = await api().run(runId);
      expect((await api().get(`/v1/runs/${runId}?view=head`)).body).toEqual(head);
      expect((await api().get(`/v1/runs/${runId}?view=full`)).body).toEqual({ ...head, output });
      expectError(await api().get(`/v1/runs/${MISSING_RUN}?view=head`), {
        status: 404,
        code: 'run_not_found',
      });
      expectError(await api().get(`/v1/runs/${runId}?view=tail`), {
        status: 400,
        code: 'invalid_request',
        param: 'view',
      });
    });

    it('of a run that failed before any token was spent has error and error_code only', async () => {
      const runId = await api().create(script([{ error: { status: 400, message: 'no such thing' } }]));
      await api().finish(runId);
      const run = await api().run(runId);
      expect(Object.keys(run).sort()).toEqual([...ENDED, 'error', 'error_code'].sort());
      expect(run).toMatchObject({ status: 'failed', last_event: 'run.failed' });
      expect(run.error).toContain('no such thing');
      expect(run.error_code).not.toBe('');
    });

    it('of a run that failed later has usage_so_far too', async () => {
      const steps = [{ tools: [terminal('echo 1')] }, { error: { status: 400, message: 'too bad' } }];
      const runId = await api().create(script(steps));
      await api().finish(runId);
      const run = await api().run(runId);
      expect(Object.keys(run).sort()).toEqual([...ENDED, 'error', 'error_code', 'usage_so_far'].sort());
      expect(run.usage_so_far).toEqual(ONE_STEP);
    });

    it('of an empty answer says failed, never completed', async () => {
      const runId = await api().create(script([{ empty: true }]));
      expect(await api().finish(runId)).toMatchObject({ event: 'run.failed', error_code: 'empty_output' });
      expect(await api().run(runId)).toMatchObject({ status: 'failed', error_code: 'empty_output' });
    });

    it('of a running run has no usage until tokens were spent, then usage_so_far', async () => {
      const gate = uniqueName('second-step');
      const steps = [{ tools: [terminal('echo 1')] }, { gate, text: 'end' }];
      await using held = await HeldRun.start(target(), steps);
      const before = await api().run(held.runId);
      expect(Object.keys(before).sort()).toEqual(ALWAYS);
      expect(before).toMatchObject({ status: 'running', last_event: '' });
      held.release();
      await target().model.waitingAt(gate);
      const after = await api().run(held.runId);
      expect(Object.keys(after).sort()).toEqual([...SHOWN, 'usage_so_far'].sort());
      expect(after).toMatchObject({
        status: 'running',
        last_event: 'tool.completed',
        usage_so_far: ONE_STEP,
      });
      target().model.open(gate);
      await api().finish(held.runId);
      expect((await api().run(held.runId)).usage).toEqual({
        input_tokens: 20,
        output_tokens: 10,
        total_tokens: 30,
      });
    });

    it('of a cancelled run has usage_so_far when tokens were spent, and no output', async () => {
      await using waiting = await WaitingRun.start(target());
      await api().stop(waiting.runId);
      const run = await waitForStatus(api(), waiting.runId, 'cancelled', 5_000);
      expect(Object.keys(run).sort()).toEqual([...ENDED, 'usage_so_far'].sort());
      expect(run).toMatchObject({ last_event: 'run.cancelled', usage_so_far: ONE_STEP });
    });

    it('of a run that waits for approval shows the pending request, only while it waits', async () => {
      await using waiting = await WaitingRun.start(target());
      const run = await api().run(waiting.runId);
      expect(Object.keys(run).sort()).toEqual([...SHOWN, 'approval', 'usage_so_far'].sort());
      const { frames } = await api().stream(waiting.runId, {
        until: ({ event }) => event.event === 'approval.request',
      });
      const { event, run_id, timestamp, seq, ...asked } = frames.at(-1)!.event;
      expect(run.approval).toEqual(asked);
      expect(run.last_event).toBe('approval.request');
      await api().approve(waiting.runId, 'deny');
      await api().finish(waiting.runId);
      expect(await api().run(waiting.runId)).not.toHaveProperty('approval');
    });

    it('has an empty last_event until the first event, and deltas do not change it', async () => {
      const gate = uniqueName('mid-text');
      const runId = await api().create(script([{ chunks: ['one ', { gate }, 'two'] }]));
      await api().stream(runId, { until: ({ event }) => event.event === 'message.delta' });
      expect((await api().run(runId)).last_event).toBe('');
      target().model.open(gate);
      await api().finish(runId);
      expect((await api().run(runId)).last_event).toBe('run.completed');
    });

    it('gives its times as seconds since the epoch with the milliseconds as a fraction', async () => {
      const before = Date.now() / 1000;
      const runs = await Promise.all(
        Array.from({ length: 5 }, async () => {
          const runId = await api().create(say('tick'));
          await api().finish(runId);
          return api().run(runId);
        }),
      );
      const after = Date.now() / 1000;
      for (const { created_at, updated_at } of runs) {
        expect(created_at).toBeGreaterThanOrEqual(before - 1);
        expect(updated_at).toBeGreaterThanOrEqual(created_at);
        expect(updated_at).toBeLessThanOrEqual(after + 1);
      }
      const times = runs.flatMap(({ created_at, updated_at }) => [created_at, updated_at]);
      expect(times.some((time) => !Number.isInteger(time))).toBe(true);
    });

    it('shows started while the run waits for its turn', async () => {
      const session_id = uniqueName('session');
      await using first = await HeldRun.start(target(), [{ text: 'first' }], { session_id });
      const second = await api().create(say('second'), { session_id });
      const run = await api().run(second);
      expect(run).toMatchObject({ status: 'started', last_event: '', session_id });
      first.release();
      await api().finish(second);
    });

    it('shows running, then completed', async () => {
      await using held = await HeldRun.start(target());
      expect((await api().run(held.runId)).status).toBe('running');
      held.release();
      await waitFor('its end', async () => (await api().run(held.runId)).status === 'completed');
    });

    it('answers 404 run_not_found with the id to an unknown run', async () => {
      expectError(await api().get(`/v1/runs/${MISSING_RUN}`), {
        status: 404,
        code: 'run_not_found',
        message: `Run not found: ${MISSING_RUN}`,
      });
    });
  });
}
