/**
 * The client against a server of the older dialect: no event numbers, no idempotency keys, flat errors; and the routes
 * for chat, responses and jobs.
 */
import {
  AuthenticationError,
  BadRequestError,
  ConnectionError,
  NotFoundError,
  type ResponseEvent,
  type RunEvent,
  ServerError,
  StreamInterruptedError,
  Talaria,
  type ToolProgress,
} from '@talaria/client';
import * as schemas from '@talaria/protocol/schemas';
import { Value } from 'typebox/value';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { errorOf } from '../support/error-of.ts';
import { PlainServer } from '../support/plain-server/plain-server.ts';
import type { PlainRun } from '../support/plain-server/runs.ts';
import { waitFor } from '../support/wait-for.ts';

const KEY = 'sk-older-dialect';

let server: PlainServer;
let client: Talaria;
beforeAll(async () => {
  server = await PlainServer.start({ key: KEY });
  client = new Talaria({ baseUrl: server.url, apiKey: KEY, maxRetries: 0 });
});
afterAll(() => server[Symbol.asyncDispose]());

/** The run after this one, once somebody reads it. */
function nextRun(previous: PlainRun | undefined): Promise<PlainRun> {
  return waitFor(
    'a reader',
    () => server.lastRun !== previous && server.lastRun?.connected && server.lastRun,
  );
}

/** A run that waits to be played, and a reader of its events. */
async function startRun() {
  const previous = server.lastRun;
  const { run_id } = await client.runs.create({ input: 'wait' });
  const stream = client.runs.streamEvents(run_id);
  const events: RunEvent[] = [];
  const reading = (async () => {
    for await (const event of stream) events.push(event);
  })();
  reading.catch(() => {});
  const run = await nextRun(previous);
  return { run, runId: run_id, stream, events, reading };
}

describe('a run', () => {
  test('is created, followed and returned', async () => {
    const seen: string[] = [];
    const run = await client.runs.run({ input: 'hello' }, { onEvent: ({ event }) => seen.push(event) });
    expect(run).toMatchObject({ status: 'completed', output: 'You said: hello' });
    expect(seen).toEqual(['message.delta', 'run.completed']);
  });

  test('has a stream over one connection, with its text and its end', async () => {
    const { run, stream, reading } = await startRun();
    run.emit('message.delta', { delta: 'a' });
    run.emit('message.delta', { delta: 'b' });
    run.emit('run.completed', { output: 'ab' });
    await reading;
    expect(await stream.text()).toBe('ab');
    expect(await stream.result()).toMatchObject({ event: 'run.completed', output: 'ab' });
    expect(stream.cursor).toBeUndefined();
  });

  test('says that a lost stream cannot be resumed; the run can be waited for', async () => {
    const { run, runId, events, reading } = await startRun();
    run.emit('message.delta', { delta: 'a' });
    await waitFor('the event', () => events.length === 1);
    run.cut();
    const error = await errorOf(reading);
    expect(error).toBeInstanceOf(StreamInterruptedError);
    expect(error).toMatchObject({ runId, cursor: undefined });
    expect((error as Error).message).toMatch(/cannot be resumed: this server does not number its events/);
    expect(server.requests.filter(({ path }) => path === `/v1/runs/${runId}/events`)).toHaveLength(1);

    const waiting = client.runs.wait(runId);
    run.emit('run.completed', { output: 'all the same' });
    expect(await waiting).toMatchObject({ status: 'completed', output: 'all the same' });
  });

  test('is returned after a lost stream if nobody listens to its events', async () => {
    const previous = server.lastRun;
    const running = client.runs.run({ input: 'wait' });
    const run = await nextRun(previous);
    run.emit('message.delta', { delta: 'a' });
    run.cut();
    run.emit('run.failed', { error: 'no luck' });
    expect(await running).toMatchObject({ status: 'failed', error: 'no luck' });
  });

  test('that is stopped may end its stream without a terminal event', async () => {
    const { run, runId, stream, events, reading } = await startRun();
    run.emit('message.delta', { delta: 'a' });
    await waitFor('the event', () => events.length === 1);
    expect(await client.runs.stop(runId)).toMatchObject({ status: 'stopping' });
    await reading;
    expect(await stream.text()).toBe('a');
    expect(await errorOf(stream.result())).toBeInstanceOf(StreamInterruptedError);
    expect(await client.runs.wait(runId)).toMatchObject({ status: 'cancelled' });
  });

  test('asks for approval without an id and is answered without one', async () => {
    const previous = server.lastRun;
    const running = client.runs.run({ input: 'wait' }, { onApproval: async () => 'once' });
    const run = await nextRun(previous);
    run.emit('approval.request', { command: 'rm -rf build', choices: ['once', 'deny'] });
    await waitFor('the answer', () => run.answers.length === 1);
    expect(run.answers).toEqual([{ choice: 'once' }]);
    run.emit('run.completed', { output: 'done' });
    expect(await running).toMatchObject({ status: 'completed' });
  });
});

describe('errors', () => {
  test('are read flat and as plain text', async () => {
    const missing = await errorOf(client.runs.get('run_none'));
    expect(missing).toBeInstanceOf(NotFoundError);
    expect(missing).toMatchObject({ message: 'Run not found: run_none (404)', code: null, type: null });
    expect(await errorOf(client.runs.create({ input: '' }))).toBeInstanceOf(BadRequestError);
    const wrong = new Talaria({ baseUrl: server.url, apiKey: 'sk-wrong' });
    expect(await errorOf(wrong.models.list())).toBeInstanceOf(AuthenticationError);
    expect(await errorOf(client.health.detailed())).toMatchObject({ message: '404: Not Found (404)' });
  });

  test('say what such a server does not have', async () => {
    expect(await errorOf(client.runs.list())).toBeInstanceOf(NotFoundError);
    expect(await errorOf(client.runs.steer('run_none', 'left'))).toBeInstanceOf(NotFoundError);
    expect(await errorOf(client.runs.artifacts.list('run_none'))).toBeInstanceOf(NotFoundError);
  });
});

describe('chat', () => {
  const messages = [{ role: 'user', content: 'good morning' }];

  test('in one piece', async () => {
    const answer = await client.chat.completions.create({ messages, model: 'hermes-agent', temperature: 0 });
    expect(Value.Check(schemas.ChatCompletionSchema, answer)).toBe(true);
    expect(answer.choices[0]!.message.content).toBe('You said: good morning');
    expect(server.requests.at(-1)!.body).toMatchObject({ temperature: 0 });
    expect(server.requests.at(-1)!.headers['idempotency-key']).toMatch(/^idem_/);
  });

  test('as a stream, with tool activity beside it', async () => {
    const progress: ToolProgress[] = [];
    const stream = await client.chat.completions.create(
      { messages, stream: true },
      { onToolProgress: (each) => progress.push(each) },
    );
    let usage: unknown;
    for await (const chunk of stream) {
      expect(Value.Check(schemas.ChatCompletionChunkSchema, chunk)).toBe(true);
      usage = chunk.usage ?? usage;
    }
    expect(await stream.text()).toBe('You said: good morning');
    expect(usage).toMatchObject({ total_tokens: 5 });
    expect(progress.map(({ tool, status }) => [tool, status])).toEqual([
      ['terminal', 'running'],
      ['terminal', 'completed'],
    ]);
  });

  test('in a session: the header is sent and comes back', async () => {
    let session: string | null = null;
    await client.chat.completions.create(
      { messages },
      {
        sessionId: 'my-session',
        onResponse: ({ headers }) => {
          session = headers.get('x-hermes-session-id');
        },
      },
    );
    expect(session).toBe('my-session');
  });

  test('that breaks off is an error, not a short answer', async () => {
    const cut = [{ role: 'user', content: 'break off here' }];
    const stream = await client.chat.completions.create({ messages: cut, stream: true });
    expect(await errorOf(stream.text())).toBeInstanceOf(ConnectionError);
  });

  test('that fails in the middle says why', async () => {
    const failing = [{ role: 'user', content: 'fail' }];
    const stream = await client.chat.completions.create({ messages: failing, stream: true });
    const error = await errorOf(stream.text());
    expect(error).toBeInstanceOf(ServerError);
    expect(error).toMatchObject({ code: 'provider_error' });
  });

  test("without messages is refused with the server's message", async () => {
    expect(await errorOf(client.chat.completions.create({ messages: [] }))).toMatchObject({
      message: "Missing or invalid 'messages' field (400)",
    });
  });
});

describe('responses', () => {
  test('are created, read, continued and deleted', async () => {
    const { responses } = client;
    const first = await responses.create({ input: 'one', conversation_history: [] });
    expect(Value.Check(schemas.ResponseObjectSchema, first)).toBe(true);
    expect(await responses.get(first.id)).toEqual(first);
    const second = await responses.create({ input: 'two', previous_response_id: first.id });
    expect(second.id).not.toBe(first.id);
    expect(await responses.delete(first.id)).toMatchObject({ id: first.id, deleted: true });
    expect(await errorOf(responses.get(first.id))).toBeInstanceOf(NotFoundError);
    const lost = responses.create({ input: 'three', previous_response_id: first.id });
    expect(await errorOf(lost)).toMatchObject({ message: `Previous response not found: ${first.id} (404)` });
  });

  test('stream their events, typed, and end with the whole response', async () => {
    const stream = await client.responses.create({ input: 'one two', stream: true });
    const events: ResponseEvent[] = [];
    for await (const event of stream) {
      const { type, sequence_number, ...payload } = event;
      expect(sequence_number).toBe(events.length);
      expect(Value.Check(schemas.RESPONSE_EVENT_PAYLOADS[type], payload)).toBe(true);
      events.push(event);
    }
    expect(events.at(-1)!.type).toBe('response.completed');
    expect(await stream.text()).toBe('You said: one two');
    expect(await client.responses.get((await stream.result()).id)).toEqual(await stream.result());
  });

  test('that break off are an error', async () => {
    const stream = await client.responses.create({ input: 'break off', stream: true });
    expect(await errorOf(stream.result())).toBeInstanceOf(ConnectionError);
  });
});

test('jobs are created, listed, changed, paused, resumed, run and deleted', async () => {
  const { jobs } = client;
  const job = await jobs.create({ name: 'report', schedule: 'every 30m', prompt: 'Report.', repeat: 3 });
  expect(Value.Check(schemas.JobSchema, job)).toBe(true);
  expect(job).toMatchObject({ schedule: { kind: 'interval', minutes: 30 }, repeat: { times: 3 } });
  expect(await jobs.list()).toEqual([job]);
  expect(await jobs.get(job.id)).toEqual(job);
  expect(await jobs.update(job.id, { schedule: '0 9 * * 1' })).toMatchObject({ schedule: { kind: 'cron' } });
  expect(await jobs.pause(job.id)).toMatchObject({ state: 'paused', enabled: false });
  expect(await jobs.list()).toEqual([]);
  expect(await jobs.list({ include_disabled: true })).toHaveLength(1);
  expect(await jobs.resume(job.id)).toMatchObject({ state: 'scheduled', enabled: true });
  expect(await jobs.run(job.id)).toMatchObject({ id: job.id });
  expect(await jobs.delete(job.id)).toEqual({ ok: true });
  expect(await errorOf(jobs.get(job.id))).toMatchObject({ message: 'Job not found (404)' });
  expect(await errorOf(jobs.create({ name: '', schedule: '' }))).toMatchObject({
    message: 'Name is required (400)',
  });
});
