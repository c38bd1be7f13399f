/** `GET /v1/runs/{id}/events`: the bytes, the events and the subscribers (PROTOCOL.md). */
import { isTerminalEvent, type RunEvent } from '@talaria/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { expectError, expectRequestId, expectSecurityHeaders } from './checked-api.ts';
import {
  apiOf,
  type GetTarget,
  HeldRun,
  MISSING_RUN,
  say,
  type Target,
  terminal,
  uniqueName,
} from './target.ts';

const SILENCE_LIMIT_MS = 10_000;

export function describeEventStream(target: GetTarget): void {
  const api = () => apiOf(target());

  describe('the event stream', () => {
    it('has the head of a stream that no proxy may buffer or keep', async () => {
      const runId = await api().create(say('hello'));
      const { headers } = await openRaw(target(), runId);
      expect(headers.get('content-type')).toMatch(/^text\/event-stream\b/);
      expect(headers.get('cache-control')).toBe('no-cache');
      expect(headers.get('x-accel-buffering')).toBe('no');
      expectSecurityHeaders(headers);
      expectRequestId(headers);
    });

    it('is exactly: open, frames of one id and one data line each, stream closed, end', async () => {
      const runId = await api().create(script([{ text: 'héllo\n\n"wörld" \u2028', chunks: 2 }]));
      await api().finish(runId);
      const text = await (await openRaw(target(), runId)).text();
      const blocks = text.split('\n\n');
      expect(blocks[0]).toBe(': open');
      expect(blocks.at(-1)).toBe(': stream closed\n');
      const frames = blocks.slice(1, -1);
      expect(frames.length).toBeGreaterThan(1);
      for (const [seq, frame] of frames.entries()) {
        const [, id, data] = /^id: (\d+)\ndata: (\{[^\n\r]*\})$/.exec(frame) ?? [];
        expect(id, frame).toBe(String(seq));
        const event = JSON.parse(data!) as RunEvent;
        expect(event).toMatchObject({ run_id: runId, seq });
        expect(event.event).toBeTypeOf('string');
        expect(event.timestamp).toBeTypeOf('number');
      }
    });

    it('opens with its first bytes before the run has any event', async () => {
      await using held = await HeldRun.start(target());
      const response = await openRaw(target(), held.runId);
      const reader = response.body!.getReader();
      const { value } = await reader.read();
      expect(Buffer.from(value!).toString()).toBe(': open\n\n');
      await reader.cancel();
    });

    it('repeats the answer in its deltas, and ends with exactly one terminal event', async () => {
      const runId = await api().create(script([{ text: 'The quick brown fox', chunks: 7 }]));
      const { frames, clean } = await api().stream(runId);
      const deltas = frames.map(({ event }) => (event.event === 'message.delta' ? event.delta : ''));
      expect(deltas.join('')).toBe('The quick brown fox');
      expect(frames.filter(({ event }) => isTerminalEvent(event.event))).toHaveLength(1);
      expect(frames.at(-1)?.event).toMatchObject({
        event: 'run.completed',
        output: 'The quick brown fox',
        usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
      });
      expect(clean).toBe(true);
      expect(frames.map(({ event }) => event.event)).not.toContain('run.started');
    });

    it('shows reasoning, and each tool call from start to end', async () => {
      const tools = [terminal('echo hello; exit 3'), terminal('echo fine')];
      const runId = await api().create(script([{ reasoning: 'I think', tools }, { text: 'done' }]));
      const { frames } = await api().stream(runId);
      const events = frames.map(({ event }) => event);
      expect(events[0]).toMatchObject({ event: 'reasoning.available', text: 'I think' });
      const started = events.filter((event) => event.event === 'tool.started');
      const completed = events.filter((event) => event.event === 'tool.completed');
      expect(started.map(({ preview, arguments: args }) => [preview, args])).toEqual([
        ['echo hello; exit 3', { command: 'echo hello; exit 3' }],
        ['echo fine', { command: 'echo fine' }],
      ]);
      const outcome = (i: number) => completed.find((c) => c.tool_call_id === started[i]!.tool_call_id);
      expect(outcome(0)).toMatchObject({ tool: 'terminal', error: true, exit_code: 3 });
      expect(outcome(0)?.preview).toContain('hello');
      expect(outcome(1)).toMatchObject({ tool: 'terminal', error: false, exit_code: 0 });
      expect(outcome(1)?.duration).toBeLessThan(60);
      expect(events.at(-1)?.event).toBe('run.completed');
    });

    it('ends each step with its number, its time and what it alone has used', async () => {
      const steps = [{ text: 'I look.', tools: [terminal('true')] }, { tools: [terminal('true')] }];
      const runId = await api().create(script([...steps, { text: 'done' }]));
      const { frames } = await api().stream(runId);
      const events = frames.map(({ event }) => event).filter(({ event }) => event !== 'message.delta');
      const one = ['step.completed', 'tool.started', 'tool.completed'];
      expect(events.map(({ event }) => event)).toEqual([...one, ...one, 'step.completed', 'run.completed']);
      const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
      const told = events.filter((event) => event.event === 'step.completed');
      expect(told).toMatchObject([
        { step: 1, usage, finish_reason: 'tool_calls' },
        { step: 2, usage, finish_reason: 'tool_calls' },
        { step: 3, usage, finish_reason: 'stop' },
      ]);
      for (const { duration, timestamp } of told) {
        expect(duration).toBeGreaterThanOrEqual(0);
        expect(duration).toBeLessThanOrEqual(timestamp - (await api().run(runId)).created_at + 1);
      }
      expect(await api().run(runId)).toMatchObject({ steps: 3, last_event: 'run.completed' });
    });

    it('shows at most 500 characters of a result', async () => {
      const runId = await api().create(
        script([{ tools: [terminal('head -c 5000 /dev/zero | tr "\\0" x')] }, { text: 'done' }]),
      );
      const { frames } = await api().stream(runId);
      const completed = frames.map(({ event }) => event).find((event) => event.event === 'tool.completed');
      expect(completed?.preview.length).toBeGreaterThan(400);
      expect(completed?.preview.length).toBeLessThanOrEqual(500);
    });

    it('gives every subscriber everything, early, late and after the end', async () => {
      const gate = uniqueName('middle');
      const steps = [{ chunks: ['one ', { gate }, 'two'] }];
      await using held = await HeldRun.start(target(), steps);
      const early = Array.from({ length: 5 }, () => api().stream(held.runId));
      held.release();
      await target().model.waitingAt(gate);
      await api().stream(held.runId, { until: ({ event }) => event.event === 'message.delta' });
      const late = Array.from({ length: 5 }, () => api().stream(held.runId));
      target().model.open(gate);
      const streams = await Promise.all([...early, ...late]);
      const afterTheEnd = await api().stream(held.runId);
      expect(afterTheEnd.frames.at(-1)?.event.event).toBe('run.completed');
      for (const { frames, clean } of streams) {
        expect(clean).toBe(true);
        expect(frames).toEqual(afterTheEnd.frames);
      }
    });

    it('does not affect the run when its reader goes away', async () => {
      const gate = uniqueName('middle');
      await using held = await HeldRun.start(target(), [{ chunks: ['one ', { gate }, 'two'] }]);
      const reading = api().stream(held.runId, { until: ({ event }) => event.event === 'message.delta' });
      held.release();
      await reading;
      expect((await api().run(held.runId)).status).toBe('running');
      target().model.open(gate);
      expect(await api().finish(held.runId)).toMatchObject({ event: 'run.completed', output: 'one two' });
    });

    it('answers 404 for an unknown run, also when the cursor is bad', async () => {
      for (const query of ['', '?last_event_id=5', '?last_event_id=nonsense']) {
        const answer = await api().get(`/v1/runs/${MISSING_RUN}/events${query}`);
        expectError(answer, { status: 404, code: 'run_not_found', message: `Run not found: ${MISSING_RUN}` });
      }
    });
  });
}

export function describeKeepalive(target: GetTarget): void {
  let held: HeldRun;
  /** The other tests of the topic run during the silence. */
  let silence: Promise<{ text: string; ms: number }>;

  beforeAll(async () => {
    held = await HeldRun.start(target());
    const response = await openRaw(target(), held.runId);
    const reader = response.body!.getReader();
    expect(Buffer.from((await reader.read()).value!).toString()).toBe(': open\n\n');
    const openedAt = performance.now();
    silence = reader.read().then(async ({ value }) => {
      const ms = performance.now() - openedAt;
      await reader.cancel();
      return { text: Buffer.from(value!).toString(), ms };
    });
    // The test reports a failure.
    silence.catch(() => {});
  });
  afterAll(() => held?.[Symbol.asyncDispose]());

  it('a silent stream sends a keepalive before ten seconds of silence are over', async () => {
    const { text, ms } = await silence;
    expect(text).toBe(': keepalive\n\n');
    expect(ms).toBeLessThan(SILENCE_LIMIT_MS);
    await waitFor(
      'the run to be as before',
      async () => (await apiOf(target()).run(held.runId)).status === 'running',
    );
  });
}

export async function openRaw(
  { baseUrl, key }: Target,
  runId: string,
  options: { query?: string; headers?: Record<string, string> } = {},
): Promise<Response> {
  const response = await fetch(`${baseUrl}/v1/runs/${runId}/events${options.query ?? ''}`, {
    headers: { ...(key === undefined ? {} : { authorization: `Bearer ${key}` }), ...options.headers },
  });
  expect(response.status).toBe(200);
  return response;
}
