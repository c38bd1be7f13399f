/** A turn of a session in one request: `/api/sessions/{id}/chat` and `/chat/stream` (PROTOCOL.md). */
import type { SessionChatCompletion, SessionChatEvent, SessionMessageList } from '@talaria/protocol';
import { SessionChatEventSchema } from '@talaria/protocol/schemas';
import { describe, expect, it } from 'vitest';
import { script } from '../support/model-server.ts';
import { textOf } from '../support/model-server-script.ts';
import { type PostedStreamOptions, postStream } from '../support/posted-stream.ts';
import { expectError, expectRequestId, expectSecurityHeaders, expectShape } from './checked-api.ts';
import {
  apiOf,
  commands,
  GATED,
  type GetTarget,
  modelRequest,
  say,
  terminal,
  uniqueName,
  waitForStatus,
} from './target.ts';

export function describeSessionChat(target: GetTarget): void {
  const api = () => apiOf(target());
  const pathOf = (id: string, rest = '') => `/api/sessions/${encodeURIComponent(id)}${rest}`;

  async function created(fields: Record<string, unknown> = {}): Promise<string> {
    const { body } = await api().post<{ id: string }>('/api/sessions', { id: uniqueName('talk'), ...fields });
    return body.id;
  }

  const chat = (id: string, body: unknown, headers: Record<string, string> = {}) =>
    api().post<SessionChatCompletion>(pathOf(id, '/chat'), body, headers);

  async function stream(id: string, body: unknown, options: PostedStreamOptions = {}) {
    const streamed = await postStream(api(), pathOf(id, '/chat/stream'), body, options);
    const events = streamed.frames.map(
      ({ event, data }) => ({ event, ...JSON.parse(data) }) as SessionChatEvent,
    );
    for (const event of events) expectShape(SessionChatEventSchema, event);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1));
    for (const { session_id, run_id, ts } of events) {
      expect([session_id, run_id]).toEqual([id, events[0]!.run_id]);
      expect(Math.abs(ts - Date.now() / 1000)).toBeLessThan(120);
    }
    return { ...streamed, events, runId: events[0]?.run_id ?? '', names: events.map(({ event }) => event) };
  }

  describe('a chat in a session', () => {
    it('is answered by a run, and joins the transcript', async () => {
      const id = await created();
      const [first, second] = [say('one'), say('two')];
      const { status, body, headers } = await chat(id, { message: first });
      expect(status).toBe(200);
      expect(body).toMatchObject({
        object: 'hermes.session.chat.completion',
        session_id: id,
        message: { role: 'assistant', content: 'one' },
        usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
        runtime: { model: expect.any(String) },
      });
      expect(headers.get('x-hermes-session-id')).toBe(id);
      expect(headers.get('x-talaria-run-id')).toBe(body.run_id);
      expect(await api().run(body.run_id)).toMatchObject({ status: 'completed', session_id: id });
      await chat(id, { input: second });
      const { body: read } = await api().get<SessionMessageList>(pathOf(id, '/messages'));
      expect(read.data.map(({ content }) => content)).toEqual([first, 'one', second, 'two']);
      const given = (await modelRequest(target(), second)).body.messages.slice(1).map(textOf);
      expect(given).toEqual([first, 'one', second]);
    });

    it.each(['system_message', 'instructions'])("gets its %s after the session's prompt", async (name) => {
      const id = await created({ system_prompt: 'The rules.' });
      const [first, second] = [say('one'), say('two')];
      await chat(id, { message: first, [name]: 'For now.' });
      await chat(id, { message: second });
      const system = async (prompt: string) =>
        textOf((await modelRequest(target(), prompt)).body.messages[0]!);
      expect(await system(first)).toMatch(/The rules\.\s+For now\./);
      expect(await system(second)).not.toContain('For now.');
    });

    it('takes parts of text and images', async () => {
      const id = await created();
      const url = 'data:image/png;base64,iVBORw0KGgo=';
      const message = [
        { type: 'text', text: say('seen') },
        { type: 'image_url', image_url: { url } },
      ];
      expect((await chat(id, { message })).body.message.content).toBe('seen');
    });

    it('with an Idempotency-Key is answered by the same run again', async () => {
      const id = await created();
      const body = { message: say('once') };
      const headers = { 'idempotency-key': uniqueName('key') };
      const [first, again] = [await chat(id, body, headers), await chat(id, body, headers)];
      expect(again.body).toEqual(first.body);
      expect(again.headers.get('idempotency-replayed')).toBe('true');
      expectError(await chat(id, { message: say('other') }, headers), {
        status: 409,
        code: 'idempotency_key_conflict',
      });
    });

    it.each<[string, unknown, string]>([
      ['no message', {}, 'missing_message'],
      ['an empty one', { message: ' ' }, 'missing_message'],
      ['null', { message: null, input: null }, 'missing_message'],
      ['a number', { message: 5 }, 'invalid_request'],
      ['an object for instructions', { message: 'x', system_message: {} }, 'invalid_system_message'],
      ['no object', [], 'body_not_object'],
    ])('with %s is 400', async (_, body, code) => {
      const id = await created();
      expectError(await chat(id, body), { status: 400, code });
      const streamed = await api().post(pathOf(id, '/chat/stream'), body);
      expectError(streamed, { status: 400, code });
    });
  });

  describe('a streamed chat', () => {
    it('begins, speaks, ends and is done', async () => {
      const id = await created();
      const message = script([{ reasoning: 'Hm.', chunks: ['Hello ', 'there'] }]);
      const { status, headers, events, names, runId, clean } = await stream(id, { message });
      expect({ status, clean }).toEqual({ status: 200, clean: true });
      expect(headers.get('content-type')).toMatch(/^text\/event-stream\b/);
      expect(headers.get('x-talaria-run-id')).toBe(runId);
      expect(headers.get('x-hermes-session-id')).toBe(id);
      expectSecurityHeaders(headers);
      expectRequestId(headers);
      const middle = names.slice(2, -3);
      expect(names.slice(0, 2)).toEqual(['run.started', 'message.started']);
      expect(names.slice(-3)).toEqual(['assistant.completed', 'run.completed', 'done']);
      expect(new Set(middle)).toEqual(new Set(['tool.progress', 'assistant.delta']));
      expect(events[0]).toMatchObject({ user_message: { role: 'user', content: message } });
      const deltas = events.map((event) => (event.event === 'assistant.delta' ? event.delta : ''));
      expect(deltas.join('')).toBe('Hello there');
      expect(events.find(({ event }) => event === 'tool.progress')).toMatchObject({
        tool_name: '_thinking',
        delta: 'Hm.',
      });
      expect(events.at(-3)).toMatchObject({
        content: 'Hello there',
        completed: true,
        partial: false,
        interrupted: false,
      });
      expect(events.at(-2)).toMatchObject({ completed: true, usage: { total_tokens: 15 } });
      const ids = events.flatMap((event) => ('message_id' in event ? [event.message_id] : []));
      expect(new Set(ids).size).toBe(1);
      expect(events[1]).toMatchObject({ message: { id: ids[0], role: 'assistant' } });
    });

    it('shows each tool, and which of them failed', async () => {
      const id = await created();
      const message = script([{ tools: [terminal('echo fine'), terminal('exit 3')] }, { text: 'done' }]);
      const { events } = await stream(id, { message });
      const tools = events.filter(({ event }) => event.startsWith('tool.'));
      const started = tools.filter(({ event }) => event === 'tool.started');
      expect(started).toMatchObject([
        { tool_name: 'terminal', preview: 'echo fine', args: { command: 'echo fine' } },
        { tool_name: 'terminal', preview: 'exit 3', args: { command: 'exit 3' } },
      ]);
      const outcome = (name: string) => tools.find(({ event }) => event === name);
      expect(outcome('tool.completed')).toMatchObject({ args: { command: 'echo fine' }, exit_code: 0 });
      expect(outcome('tool.failed')).toMatchObject({ args: { command: 'exit 3' }, exit_code: 3 });
    });

    it('asks for approval, which is given at its run', async () => {
      const id = await created();
      let asked: Promise<unknown> | undefined;
      const { events, names } = await stream(
        id,
        { message: commands(GATED) },
        {
          onFrame: ({ event, data }) => {
            if (event !== 'approval.request') return;
            const { run_id, request_id } = JSON.parse(data) as { run_id: string; request_id: string };
            asked = api().approve(run_id, 'deny', { request_id });
          },
        },
      );
      await asked;
      expect(events.find(({ event }) => event === 'approval.request')).toMatchObject({ command: GATED });
      expect(names).toContain('approval.responded');
      expect(names.at(-2)).toBe('run.completed');
    });

    it('can be stopped by its run', async () => {
      const id = await created();
      const gate = uniqueName('gate');
      const { events, names, runId } = await stream(
        id,
        { message: script([{ chunks: ['so ', 'far', { gate }, 'never'] }]) },
        {
          onFrame: ({ event, data }) => {
            const { run_id, delta } = JSON.parse(data) as { run_id: string; delta?: string };
            if (event === 'assistant.delta' && delta?.endsWith('far')) void api().stop(run_id);
          },
        },
      );
      target().model.open(gate);
      expect(names.slice(-3)).toEqual(['assistant.completed', 'run.cancelled', 'done']);
      expect(events.at(-3)).toMatchObject({ content: 'so far', completed: false, interrupted: true });
      await waitForStatus(api(), runId, 'cancelled');
    });

    it('that fails says so, and is done', async () => {
      const id = await created();
      const { events, names } = await stream(id, {
        message: script([{ error: { status: 400, message: 'No such thing' } }]),
      });
      expect(names.slice(-3)).toEqual(['error', 'run.failed', 'done']);
      expect(events.at(-3)).toMatchObject({ message: expect.any(String), code: expect.any(String) });
      expect(events.at(-2)).toMatchObject({ completed: false, error: expect.any(String) });
    });
  });

  it('a chat whose run fails has the error of the run', async () => {
    const { status, body, headers } = await chat(await created(), {
      message: script([{ error: { status: 400, message: 'No such thing' } }]),
    });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(body).toMatchObject({ error: { message: expect.any(String), code: expect.any(String) } });
    expect(headers.get('x-should-retry')).toBe('false');
  });
}
