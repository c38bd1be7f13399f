/** `GET /v1/runs/{id}/calls/{tool_call_id}` (PROTOCOL.md). */
import type { RunCall } from '@talaria/protocol';
import { describe, expect, it } from 'vitest';
import { script } from '../support/model-server.ts';
import { expectError } from './checked-api.ts';
import { apiOf, type GetTarget, MISSING_RUN, terminal, WaitingRun } from './target.ts';

export function describeCalls(target: GetTarget): void {
  const api = () => apiOf(target());
  const getCall = (runId: string, callId: string) =>
    api().get<RunCall>(`/v1/runs/${runId}/calls/${encodeURIComponent(callId)}`);

  describe('a tool call', () => {
    it('has its whole arguments and output, of which events show the beginning', async () => {
      const command = `printf '%02000d' 7; : ${'x'.repeat(5_000)}; exit 3`;
      const runId = await api().create(script([{ tools: [terminal(command)] }, { text: 'done' }]));
      await api().finish(runId);
      const { frames } = await api().stream(runId);
      const started = frames.map(({ event }) => event).find((event) => event.event === 'tool.started')!;
      const { status, body } = await getCall(runId, started.tool_call_id);
      expect(status).toBe(200);
      expect(body).toMatchObject({
        object: 'hermes.run.call',
        run_id: runId,
        tool_call_id: started.tool_call_id,
        tool: started.tool,
        arguments: { command },
        error: true,
        exit_code: 3,
        started_at: started.timestamp,
      });
      expect(body.output).toContain(`${'0'.repeat(1999)}7`);
      expect(body.completed_at).toBeGreaterThanOrEqual(body.started_at);
      expect(body).not.toHaveProperty('approval');
    });

    it('that waits for an approval says so, and has no outcome', async () => {
      await using waiting = await WaitingRun.start(target());
      const { tool_call_id, request_id, pattern_key, description } = waiting.approval;
      const { body } = await getCall(waiting.runId, tool_call_id);
      expect(body).toMatchObject({
        output: null,
        error: null,
        completed_at: null,
        approval: { request_id, pattern_key, description },
      });
      expect(body.approval).not.toHaveProperty('choice');
      await api().approve(waiting.runId, 'deny');
      await api().finish(waiting.runId);
      const denied = (await getCall(waiting.runId, tool_call_id)).body;
      expect(denied).toMatchObject({ error: true, approval: { request_id, choice: 'deny' } });
      expect(denied.approval?.answered_at).toBeGreaterThanOrEqual(denied.approval!.requested_at);
    });

    it('that the run does not have is 404, and so is any call of a run that does not exist', async () => {
      const runId = await api().create(script([{ text: 'done' }]));
      for (const id of ['call_none', '%', 'a/b', 'ü']) {
        expectError(await getCall(runId, id), { status: 404, code: 'call_not_found' });
      }
      expectError(await getCall(MISSING_RUN, 'call_none'), { status: 404, code: 'run_not_found' });
      await api().finish(runId);
    });
  });
}
