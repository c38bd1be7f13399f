/** `POST /v1/runs/{id}/approval` (PROTOCOL.md). */
import type { RunEvent } from '@talaria/protocol';
import { describe, expect, it } from 'vitest';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { expectError } from './checked-api.ts';
import {
  apiOf,
  commands,
  GATED,
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

const UNKNOWN_REQUEST = `apr_${'0'.repeat(32)}`;

export function describeApprovals(target: GetTarget): void {
  const api = () => apiOf(target());

  const eventsOf = async (runId: string): Promise<RunEvent[]> =>
    (await api().stream(runId)).frames.map(({ event }) => event);

  /** The next question of a run after the one with this id. */
  const nextQuestion = (runId: string, before: string) =>
    waitFor('the next question', async () => {
      const { approval } = await api().run(runId);
      return approval?.request_id !== before && approval;
    });

  describe('an approval', () => {
    it('is asked for with everything a person needs to decide', async () => {
      const before = Date.now() / 1000;
      await using waiting = await WaitingRun.start(target());
      const { approval } = waiting;
      expect(approval.command).toBe(GATED);
      expect(approval.pattern_key).not.toBe('');
      expect(approval.pattern_keys).toContain(approval.pattern_key);
      expect(approval.description).not.toBe('');
      expect([...approval.choices].sort()).toEqual(['always', 'deny', 'once', 'session']);
      expect(approval.expires_at).toBeGreaterThan(before);
    });

    it('given once runs the command, and asks again for the next one', async () => {
      const steps = [
        { tools: [terminal(`mkdir build && ${GATED} && echo gone`)] },
        { tools: [terminal(GATED)] },
        { text: 'done' },
      ];
      await using waiting = await WaitingRun.start(target(), script(steps));
      const { runId, approval } = waiting;
      const answer = await api().approve(runId, 'once');
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({
        object: 'hermes.run.approval_response',
        run_id: runId,
        choice: 'once',
        resolved: 1,
        request_id: approval.request_id,
      });
      const next = await nextQuestion(runId, approval.request_id);
      await api().approve(runId, 'once', { request_id: next.request_id });
      const events = await eventsOf(runId);
      const completed = events.filter((event) => event.event === 'tool.completed');
      expect(completed[0]).toMatchObject({ error: false, exit_code: 0 });
      expect(completed[0]?.preview).toContain('gone');
      const responded = events.filter((event) => event.event === 'approval.responded');
      expect(responded).toMatchObject([
        { choice: 'once', resolved: 1, request_id: approval.request_id },
        { choice: 'once', resolved: 1, request_id: next.request_id },
      ]);
    });

    it('that is denied does not run the command; the model learns it, and the run completes', async () => {
      const prompt = script([
        { tools: [terminal(`touch ran; ${GATED}`)] },
        { tools: [terminal('ls -A')] },
        { text: 'done' },
      ]);
      await using waiting = await WaitingRun.start(target(), prompt);
      expect((await api().approve(waiting.runId, 'deny')).body).toMatchObject({
        choice: 'deny',
        resolved: 1,
      });
      const events = await eventsOf(waiting.runId);
      const [denied, listing] = events.filter((event) => event.event === 'tool.completed');
      expect(denied).toMatchObject({ error: true });
      expect(denied).not.toHaveProperty('exit_code');
      expect(listing?.preview).not.toContain('ran');
      expect(events.at(-1)).toMatchObject({ event: 'run.completed', output: 'done' });
      const { body } = await modelRequest(target(), prompt, 1);
      expect(body.messages.at(-1)).toMatchObject({ role: 'tool' });
    });

    it.each(['approve', 'approved', 'allow'])('takes %s for once', async (alias) => {
      await using waiting = await WaitingRun.start(target());
      expect(await api().approve(waiting.runId, alias)).toMatchObject({
        status: 200,
        body: { choice: 'once' },
      });
      expect(await api().finish(waiting.runId)).toMatchObject({ event: 'run.completed' });
    });

    it('of several gated calls is asked one after the other, in order', async () => {
      await using waiting = await WaitingRun.start(target(), commands(`${GATED}1`, `${GATED}2`));
      const { runId, approval } = waiting;
      expect(approval.command).toBe(`${GATED}1`);
      await api().approve(runId, 'once');
      const next = await nextQuestion(runId, approval.request_id);
      expect(next.command).toBe(`${GATED}2`);
      // The first question's id is not valid any more.
      const stale = await api().approve(runId, 'once', { request_id: approval.request_id });
      expectError(stale, { status: 409, code: 'approval_not_pending' });
      expect((await api().run(runId)).approval?.request_id).toBe(next.request_id);
      await api().approve(runId, 'deny', { request_id: next.request_id });
      const outcomes = (await eventsOf(runId)).filter((event) => event.event === 'tool.completed');
      expect(outcomes.map(({ error }) => error).sort()).toEqual([false, true]);
    });

    it.each(['all', 'resolve_all'])('with %s also answers those that wait behind it', async (flag) => {
      const input = commands(`${GATED}1`, `${GATED}2`, `${GATED}3`);
      await using waiting = await WaitingRun.start(target(), input);
      const { approval, approvals_waiting: behind = [] } = await api().run(waiting.runId);
      expect([approval?.command, ...behind.map(({ command }) => command)]).toEqual(
        ['1', '2', '3'].map((number) => GATED + number),
      );
      const answer = await api().approve(waiting.runId, 'once', { [flag]: true });
      expect(answer.body).toMatchObject({ resolved: 3, request_id: waiting.approval.request_id });
      const events = await eventsOf(waiting.runId);
      expect(events.filter((event) => event.event === 'approval.request')).toHaveLength(1);
      expect(events.filter((event) => event.event === 'approval.responded')).toMatchObject([{ resolved: 3 }]);
      expect(events.filter((event) => event.event === 'tool.completed' && !event.error)).toHaveLength(3);
    });

    it('for the session covers the pattern in every later run of that session, and in no other', async () => {
      const session_id = uniqueName('session');
      await using waiting = await WaitingRun.start(target(), commands(GATED), { session_id });
      await api().approve(waiting.runId, 'session');
      await api().finish(waiting.runId);
      const same = await api().create(commands(GATED), { session_id });
      const events = await eventsOf(same);
      expect(events.map((event) => event.event)).not.toContain('approval.request');
      expect(events.at(-1)).toMatchObject({ event: 'run.completed' });
      await using elsewhere = await WaitingRun.start(target(), commands(GATED));
      expect(elsewhere.approval.command).toBe(GATED);
    });

    it('answered by many at once is accepted from exactly one', async () => {
      await using waiting = await WaitingRun.start(target());
      const choices = Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? 'once' : 'deny'));
      const answers = await Promise.all(choices.map((choice) => api().approve(waiting.runId, choice)));
      const winners = answers.filter(({ status }) => status === 200);
      expect(winners).toHaveLength(1);
      for (const answer of answers) {
        if (answer.status !== 200) expect(answer.status).toBe(409);
      }
      const events = await eventsOf(waiting.runId);
      expect(events.filter((event) => event.event === 'approval.responded')).toMatchObject([
        { choice: winners[0]?.body.choice },
      ]);
    });

    it('is never requested for a command that must never run, which is refused', async () => {
      const runId = await api().create(commands('rm -rf /'));
      const events = await eventsOf(runId);
      expect(events.map((event) => event.event)).not.toContain('approval.request');
      expect(events.find((event) => event.event === 'tool.completed')).toMatchObject({ error: true });
      expect(events.at(-1)).toMatchObject({ event: 'run.completed' });
    });
  });

  describe('an answer that cannot be taken', () => {
    it.each([
      ['an unknown choice', { choice: 'maybe' }, 'invalid_approval_choice'],
      ['no choice', {}, 'invalid_approval_choice'],
      ['a null choice', { choice: null }, 'invalid_approval_choice'],
      ['a choice of another type', { choice: ['once'] }, 'invalid_approval_choice'],
      ['an inherited name as choice', { choice: 'constructor' }, 'invalid_approval_choice'],
      ['a number as request_id', { choice: 'once', request_id: 5 }, 'invalid_approval_request'],
      ['an empty request_id', { choice: 'once', request_id: '' }, 'invalid_approval_request'],
      ['a list as request_id', { choice: 'once', request_id: ['x'] }, 'invalid_approval_request'],
      ['a word for all', { choice: 'once', all: 'yes' }, 'invalid_request'],
      ['a number for resolve_all', { choice: 'once', resolve_all: 1 }, 'invalid_request'],
    ])('for %s is 400 and releases nothing', async (_, body, code) => {
      await using waiting = await WaitingRun.start(target());
      expectError(await api().post(`/v1/runs/${waiting.runId}/approval`, body), { status: 400, code });
      expect((await api().run(waiting.runId)).approval).toEqual(waiting.approval);
    });

    it('for an unknown request_id is 409 and releases nothing', async () => {
      await using waiting = await WaitingRun.start(target());
      for (const request_id of [UNKNOWN_REQUEST, 'nonsense', waiting.approval.request_id.toUpperCase()]) {
        const answer = await api().approve(waiting.runId, 'once', { request_id });
        expectError(answer, { status: 409, code: 'approval_not_pending' });
      }
      expect((await api().run(waiting.runId)).approval).toEqual(waiting.approval);
    });

    it('while nothing is asked is 409 approval_not_pending', async () => {
      await using held = await HeldRun.start(target());
      expectError(await api().approve(held.runId, 'once'), { status: 409, code: 'approval_not_pending' });
    });

    it('after the end is 409 approval_not_active', async () => {
      const runId = await api().create(say('end'));
      await api().finish(runId);
      expectError(await api().approve(runId, 'once'), { status: 409, code: 'approval_not_active' });
    });

    it('given twice is 409 the second time', async () => {
      const gate = uniqueName('after');
      const input = script([{ tools: [terminal(GATED)] }, { gate, text: 'done' }]);
      await using waiting = await WaitingRun.start(target(), input);
      const { request_id } = waiting.approval;
      expect((await api().approve(waiting.runId, 'once', { request_id })).status).toBe(200);
      const again = await api().approve(waiting.runId, 'once', { request_id });
      expectError(again, { status: 409, code: 'approval_not_pending' });
      target().model.open(gate);
      await waitForStatus(api(), waiting.runId, 'completed');
    });

    it('for an unknown run is 404, before the body is checked', async () => {
      expectError(await api().approve(MISSING_RUN, 'once'), { status: 404, code: 'run_not_found' });
      expectError(await api().approve(MISSING_RUN, 'maybe'), { status: 404, code: 'run_not_found' });
    });
  });
}
