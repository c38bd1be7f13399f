/** Client tools and output formats at `/v1/runs` (PROTOCOL.md). */
import type { PendingCall, RunToolOutputs } from '@talaria/protocol';
import * as schemas from '@talaria/protocol/schemas';
import { describe, expect, it } from 'vitest';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { expectError, expectShape } from './checked-api.ts';
import { apiOf, type GetTarget, MISSING_RUN, say } from './target.ts';

const tools = [
  {
    type: 'function',
    function: { name: 'lookup', parameters: { type: 'object', properties: { word: { type: 'string' } } } },
  },
];
const lookup = (word: string) => ({ name: 'lookup', arguments: { word } });

export function describeClientTools(target: GetTarget): void {
  const api = () => apiOf(target());
  const answer = (runId: string, body: unknown) =>
    api().post<RunToolOutputs>(`/v1/runs/${runId}/tool_outputs`, body);

  async function waitingRun(...words: string[]): Promise<{ runId: string; calls: PendingCall[] }> {
    const runId = await api().create(script([{ tools: words.map(lookup) }, { text: 'found' }]), { tools });
    const calls = await waitFor('the run to wait for its client', async () => {
      const run = await api().run(runId);
      return run.last_event === 'run.waiting' && run.pending_calls;
    });
    return { runId, calls };
  }

  describe('a client tool', () => {
    it('is called, and its output continues the run', async () => {
      const { runId, calls } = await waitingRun('one', 'two');
      const run = await api().run(runId);
      expectShape(schemas.RunSchema, run);
      expect(run.status).toBe('waiting_for_tool');
      expect(calls.map(({ arguments: { word } }) => word)).toEqual(['one', 'two']);
      const outputs = calls.map(({ tool_call_id }) => ({ tool_call_id, output: 'here' }));
      const taken = await answer(runId, { outputs });
      expect(taken.status).toBe(200);
      expectShape(schemas.RunToolOutputsSchema, taken.body);
      const { frames } = await api().stream(runId);
      const events = frames.map(({ event }) => event);
      expect(events.filter(({ event }) => event === 'run.waiting')).toHaveLength(1);
      expect(events.at(-1)).toMatchObject({ event: 'run.completed', output: 'found' });
      expect((await answer(runId, { outputs })).status, 'the same again').toBe(200);
      const others = outputs.map((output) => ({ ...output, output: 'elsewhere' }));
      expectError(await answer(runId, { outputs: others }), { status: 409, code: 'call_not_pending' });
    });

    it('is listed by its status, and stopped at once', async () => {
      const { runId } = await waitingRun('one');
      const listed = (await api().list('?status=waiting_for_tool')).data.map(({ run_id }) => run_id);
      expect(listed).toContain(runId);
      expect((await api().stop(runId)).status).toBe(200);
      await waitFor('the end', async () => (await api().run(runId)).status === 'cancelled');
    });

    it('is refused if it is malformed', async () => {
      for (const wrong of [
        'x',
        [{}],
        [{ type: 'function', function: { name: 'a b' } }],
        [{ type: 'function', function: { name: 'a', parameters: { properties: { b: { type: 'text' } } } } }],
        [...tools, ...tools],
      ]) {
        const refused = await api().post('/v1/runs', { input: say('x'), tools: wrong });
        expectError(refused, { status: 400, code: 'invalid_tools' });
      }
    });

    it('refuses malformed outputs, after the check that the run exists', async () => {
      const { runId } = await waitingRun('one');
      for (const body of [{}, { outputs: [] }, { outputs: [{ output: 'x' }] }]) {
        expectError(await answer(runId, body), { status: 400, code: 'invalid_tool_outputs' });
      }
      expectError(await answer(MISSING_RUN, {}), { status: 404, code: 'run_not_found' });
      await api().stop(runId);
    });
  });

  describe('structured output', () => {
    const output_schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };

    it('is available as text and as a value', async () => {
      const runId = await api().create(script([{ text: 'one' }, { text: '{"n": 1}' }]), { output_schema });
      await api().finish(runId);
      expect(await api().run(runId)).toMatchObject({ output: '{"n": 1}', output_parsed: { n: 1 } });
    });

    it('fails after three tries', async () => {
      const steps = Array.from({ length: 3 }, () => ({ text: 'one' }));
      const runId = await api().create(script(steps), { output_schema });
      await api().finish(runId);
      expect(await api().run(runId)).toMatchObject({ status: 'failed', error_code: 'invalid_output' });
    });

    it('needs a valid schema', async () => {
      const refused = await api().post('/v1/runs', { input: say('x'), output_schema: 'x' });
      expectError(refused, { status: 400, code: 'invalid_output_schema' });
    });
  });
}
