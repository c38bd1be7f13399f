/** Every call of the client against the real server: requests are understood, and results are unchanged. */
import { execFileSync } from 'node:child_process';
import {
  AuthenticationError,
  BadRequestError,
  ConflictError,
  NotFoundError,
  PermissionError,
  RateLimitError,
  Talaria,
} from '@talaria/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ServerWithModel, terminal, waitForApproval, waitForStatus } from '../e2e/server-with-model.ts';
import { errorOf } from '../support/error-of.ts';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';

const KEY = 'sk-client-routes';

let world: ServerWithModel;
let client: Talaria;
beforeAll(async () => {
  world = await ServerWithModel.start({ API_SERVER_KEY: KEY, TALARIA_INLINE_GRACE_SECONDS: '0' });
  client = new Talaria({ baseUrl: world.server.url, apiKey: KEY });
});
afterAll(() => world[Symbol.asyncDispose]());

describe('approvals', () => {
  test('list what waits and what was decided; grants can be listed and revoked', async () => {
    const input = script([{ tools: [terminal('rm -rf build')] }, { text: 'done' }]);
    const { run_id } = await client.runs.create({ input, session_id: 'approving' });
    const { request_id } = await waitForApproval(world.api, run_id);
    const pending = await client.approvals.list({ status: 'pending' });
    expect(pending.data).toMatchObject([{ request_id, status: 'pending', run: { run_id } }]);
    await client.runs.respondApproval(run_id, { choice: 'session', request_id });
    await client.runs.wait(run_id);
    const decided: string[] = [];
    for await (const approval of client.approvals.list({ limit: 1 })) decided.push(approval.request_id);
    expect(decided).toContain(request_id);
    const { data } = await client.grants.list();
    expect(data).toMatchObject([{ scope: 'session', session_id: 'approving' }]);
    const { id } = data[0]!;
    expect(await client.grants.revoke(id)).toEqual({ object: 'hermes.grant', id, deleted: true });
    expect(await errorOf(client.grants.revoke(id))).toBeInstanceOf(NotFoundError);
  });
});

test('the feed shows runs as they change, and continues at its cursor', async () => {
  const feed = client.feed();
  const ended = (async (): Promise<string> => {
    for await (const { run } of feed) if (run.status === 'completed') return run.run_id;
    throw new Error('The feed has ended');
  })();
  await waitFor('the feed to begin', () => feed.cursor);
  const begin = feed.cursor;
  const { run_id } = await client.runs.create({ input: 'hello' });
  expect(await ended).toBe(run_id);
  for await (const { event, run } of client.feed({ after: begin })) {
    expect([event, run.run_id, run.status]).toEqual(['run.changed', run_id, 'completed']);
    break;
  }
  const wrong = client.feed({ after: 'nonsense' })[Symbol.asyncIterator]().next();
  expect(await errorOf(wrong)).toBeInstanceOf(BadRequestError);
});

describe('runs', () => {
  test('create, get, wait', async () => {
    const created = await client.runs.create({ input: 'hello', session_id: 's' });
    expect(created).toMatchObject({ status: 'started', replayed: false });
    expect(await client.runs.get(created.run_id)).toMatchObject({ object: 'hermes.run', session_id: 's' });
    expect(await client.runs.wait(created.run_id)).toMatchObject({ output: 'You said: hello' });
  });

  test('the same key gives the same run', async () => {
    const idempotencyKey = 'the-same';
    const first = await client.runs.create({ input: 'once' }, { idempotencyKey });
    const second = await client.runs.create({ input: 'once' }, { idempotencyKey });
    expect(second).toMatchObject({ run_id: first.run_id, replayed: true });
    const other = client.runs.create({ input: 'twice' }, { idempotencyKey });
    expect(await errorOf(other)).toMatchObject({ code: 'idempotency_key_conflict' });
  });

  test('fork', async () => {
    const run = await client.runs.run({ input: script([{ text: 'one' }]) });
    expect(await errorOf(client.runs.fork(run.run_id))).toMatchObject({
      code: 'missing_input',
      param: 'input',
    });
    const params = { input: script([{ text: 'two' }]), instructions: 'Be brief.' };
    const idempotencyKey = 'one-fork';
    const created = await client.runs.fork(run.run_id, params, { idempotencyKey });
    expect(created).toMatchObject({ status: 'started', replayed: false });
    expect(await client.runs.fork(run.run_id, params, { idempotencyKey })).toMatchObject({
      run_id: created.run_id,
      replayed: true,
    });
    expect(await client.runs.wait(created.run_id)).toMatchObject({
      output: 'two',
      forked_from: { run_id: run.run_id, seq: run.last_seq },
    });
    const again = await client.runs.fork(run.run_id, { at: 0 });
    expect(await client.runs.wait(again.run_id)).toMatchObject({ output: 'one', forked_from: { seq: 0 } });
    expect(await errorOf(client.runs.fork(run.run_id, { at: 999 }))).toBeInstanceOf(BadRequestError);
  });

  test('list reads all pages in a loop, and one page with await', async () => {
    const session_id = 'pages';
    const made: string[] = [];
    for (let i = 0; i < 7; i++) made.unshift((await client.runs.create({ input: 'x', session_id })).run_id);
    const looped: string[] = [];
    for await (const { run_id } of client.runs.list({ session_id, limit: 3 })) looped.push(run_id);
    expect(looped).toEqual(made);

    const page = await client.runs.list({ session_id, limit: 3 });
    expect(page).toMatchObject({ object: 'list', has_more: true });
    expect(page.data.map(({ run_id }) => run_id)).toEqual(made.slice(0, 3));
    const next = await client.runs.list({ session_id, limit: 3, after: page.next_cursor! });
    expect(next.data.map(({ run_id }) => run_id)).toEqual(made.slice(3, 6));
  });

  test('stop', async () => {
    const { run_id } = await client.runs.create({ input: script([{ hang: 'before' }]) });
    expect(await client.runs.stop(run_id)).toEqual({ run_id, status: 'stopping' });
    expect(await client.runs.streamEvents(run_id).result()).toMatchObject({ event: 'run.cancelled' });
    expect(await errorOf(client.runs.stop(run_id))).toMatchObject({ code: 'run_not_active', status: 404 });
  });

  test('steer', async () => {
    const { run_id } = await client.runs.create({ input: script([{ gate: 'steer', text: 'a' }]) });
    await world.model.waitingAt('steer');
    expect(await client.runs.steer(run_id, 'more, please')).toMatchObject({ accepted: true });
    world.model.open('steer');
    const steered: string[] = [];
    for await (const event of client.runs.streamEvents(run_id)) {
      if (event.event === 'run.steered') steered.push(event.input);
    }
    expect(steered).toEqual(['more, please']);
  });

  test('respondApproval', async () => {
    const { run_id } = await client.runs.create({
      input: script([{ tools: [terminal('rm -rf build')] }, { text: 'done' }]),
    });
    const { request_id } = await waitForApproval(world.api, run_id);
    const stale = client.runs.respondApproval(run_id, { choice: 'once', request_id: 'apr_0' });
    expect(await errorOf(stale)).toBeInstanceOf(ConflictError);
    expect(await client.runs.respondApproval(run_id, { choice: 'once', request_id })).toMatchObject({
      resolved: 1,
      request_id,
    });
    expect(await client.runs.wait(run_id)).toMatchObject({ status: 'completed' });
  });

  test('streamEvents after a cursor, and after one that does not exist', async () => {
    const { run_id } = await client.runs.create({
      input: script([{ text: 'a b c', chunks: 3, delayMs: 30 }]),
    });
    const all: number[] = [];
    for await (const { seq } of client.runs.streamEvents(run_id)) all.push(seq);
    const rest: number[] = [];
    for await (const { seq } of client.runs.streamEvents(run_id, { after: 0 })) rest.push(seq);
    expect(rest).toEqual(all.slice(1));
    const atEnd = client.runs.streamEvents(run_id, { after: all.at(-1)! });
    for await (const event of atEnd) expect.fail(`there is nothing after the end: ${event.event}`);
    const beyond = client.runs.streamEvents(run_id, { after: 999 }).result();
    expect(await errorOf(beyond)).toMatchObject({ status: 400, code: 'invalid_cursor' });
  });
});

test('calls have their whole arguments and output', async () => {
  const command = `echo ${'y'.repeat(3_000)}`;
  const { run_id } = await client.runs.run({
    input: script([{ tools: [terminal(command)] }, { text: 'done' }]),
  });
  for await (const event of client.runs.streamEvents(run_id)) {
    if (event.event !== 'tool.started') continue;
    const call = await client.runs.calls.get(run_id, event.tool_call_id);
    expect(call).toMatchObject({ arguments: { command }, error: false });
    expect(call.output).toContain('y'.repeat(3_000));
  }
  const unknown = client.runs.calls.get(run_id, 'a/b');
  expect(await errorOf(unknown)).toMatchObject({ status: 404, code: 'call_not_found' });
});

describe('artifacts', () => {
  let runId: string;
  beforeAll(async () => {
    const command = 'mkdir -p src && printf "hello ü" > a.txt && printf 0123456789 > src/b.txt';
    const input = script([{ tools: [terminal(command)] }, { text: 'done' }]);
    runId = (await client.runs.run({ input })).run_id;
  });

  test('list', async () => {
    const { data } = await client.runs.artifacts.list(runId);
    expect(data.map(({ path, type }) => [path, type])).toEqual([
      ['a.txt', 'file'],
      ['src', 'directory'],
    ]);
    const deep = await client.runs.artifacts.list(runId, { recursive: true, path: 'src' });
    expect(deep.data.map(({ path }) => path)).toEqual(['src/b.txt']);
  });

  test('reads as text, in part, and as a stream that may be left', async () => {
    const { artifacts } = client.runs;
    expect(await (await artifacts.read(runId, 'a.txt')).text()).toBe('hello ü');
    const part = await artifacts.read(runId, 'src/b.txt', { start: 2, end: 5 });
    expect(part.status).toBe(206);
    expect(await part.text()).toBe('234');
    expect(await (await artifacts.read(runId, 'src/b.txt', { start: 7 })).text()).toBe('789');
    const left = await artifacts.read(runId, 'src/b.txt');
    expect(left.headers.get('content-length')).toBe('10');
    await left.body!.cancel();
  });

  test('archive', async () => {
    const response = await client.runs.artifacts.archive(runId, { format: 'tar' });
    const tar = Buffer.from(await response.arrayBuffer());
    const names = execFileSync('tar', ['-t'], { input: tar, encoding: 'utf8' }).split('\n').filter(Boolean);
    expect(
      names
        .map((name) => name.replace(/^\.\/|\/$/g, ''))
        .filter(Boolean)
        .sort(),
    ).toEqual(['a.txt', 'src', 'src/b.txt']);
  });

  test('writes text, bytes and streams, and removes', async () => {
    const { artifacts } = client.runs;
    const { sha256, size } = await artifacts.write(runId, 'in/text', 'hellö');
    expect(size).toBe(6);
    await artifacts.write(runId, 'in/text', new Uint8Array([0, 255]), { ifMatch: sha256 });
    expect(Buffer.from(await (await artifacts.read(runId, 'in/text')).arrayBuffer())).toEqual(
      Buffer.from([0, 255]),
    );
    const again = artifacts.write(runId, 'in/text', 'late', { ifMatch: sha256 });
    expect(await errorOf(again)).toMatchObject({ status: 412, code: 'precondition_failed' });
    const taken = artifacts.write(runId, 'in/text', 'late', { ifNoneMatch: '*' });
    expect(await errorOf(taken)).toMatchObject({ status: 412 });
    await artifacts.write(runId, 'in/stream', new Blob(['a', 'b']).stream());
    expect(await (await artifacts.read(runId, 'in/stream')).text()).toBe('ab');
    expect(await errorOf(artifacts.remove(runId, 'in'))).toMatchObject({ code: 'invalid_path' });
    expect(await artifacts.remove(runId, 'in', { recursive: true })).toMatchObject({ deleted: true });
  });

  test.each(['missing.txt', '../../etc/passwd'])('%s is an error, not an empty file', async (path) => {
    const error = await errorOf(client.runs.artifacts.read(runId, path));
    expect(['artifact_not_found', 'invalid_path']).toContain((error as NotFoundError).code);
  });
});

describe('sessions', () => {
  test('list, get, messages, fork, delete', async () => {
    const [session_id, other] = ['talk/1 ü', 'talk 2'];
    await client.runs.run({ input: 'one', session_id });
    await client.runs.run({ input: 'two', session_id });
    await client.runs.run({ input: 'three', session_id: other });

    expect(await client.sessions.get(session_id)).toMatchObject({ session_id, turns: 2, message_count: 4 });
    const texts: unknown[] = [];
    for await (const { content } of client.sessions.messages(session_id, { limit: 3 })) texts.push(content);
    expect(texts).toEqual(['one', 'You said: one', 'two', 'You said: two']);
    expect(await client.sessions.messages(session_id, { after: '2' })).toMatchObject({
      data: [{ index: 3, role: 'assistant' }],
      has_more: false,
    });

    const fork = await client.sessions.fork(session_id, { session_id: 'branch', messages: 2 });
    expect(fork).toMatchObject({ session_id: 'branch', forked_from: session_id, message_count: 2 });
    const taken = client.sessions.fork(session_id, { session_id: other });
    expect(await errorOf(taken)).toBeInstanceOf(ConflictError);

    const listed: string[] = [];
    for await (const session of client.sessions.list({ limit: 2 })) listed.push(session.session_id);
    expect(listed.slice(0, 3)).toEqual(['branch', other, session_id]);

    expect(await client.sessions.delete(session_id)).toMatchObject({
      ok: true,
      deleted: true,
      id: session_id,
    });
    expect(await errorOf(client.sessions.get(session_id))).toMatchObject({ code: 'session_not_found' });
    expect(await errorOf(client.sessions.get(session_id))).toBeInstanceOf(NotFoundError);
  });

  test('create, update, and find', async () => {
    const { id, session } = await client.sessions.create({ title: 'found by title', system_prompt: 'x' });
    expect(session).toMatchObject({ id, title: 'found by title', has_system_prompt: true });
    expect(await client.sessions.update(id, { pinned: true, end_reason: 'left' })).toMatchObject({
      id,
      pinned: true,
      end_reason: 'left',
      title: 'found by title',
    });
    const found: string[] = [];
    for await (const one of client.sessions.list({ title: 'found by title' })) found.push(one.id);
    expect(found).toEqual([id]);
    const all: string[] = [];
    for await (const one of client.sessions.list({ limit: 1 })) all.push(one.id);
    const rest: string[] = [];
    for await (const one of client.sessions.list({ limit: 1, offset: 1 })) rest.push(one.id);
    expect(rest).toEqual(all.slice(1));
    const error = await errorOf(client.sessions.create({ id }));
    expect(error).toMatchObject({ code: 'session_exists' });
    expect(error).toBeInstanceOf(ConflictError);
  });

  test('chat, without and with streaming', async () => {
    const { id } = await client.sessions.create();
    const answer = await client.sessions.chat(id, { message: 'one' });
    expect(answer).toMatchObject({ session_id: id, message: { content: 'You said: one' } });
    const stream = await client.sessions.chatStream(id, { message: 'two' });
    const names: string[] = [];
    for await (const event of stream) names.push(event.event);
    expect(names[0]).toBe('run.started');
    expect(names.at(-1)).toBe('done');
    expect(await stream.text()).toBe('You said: two');
    const latest = await client.sessions.messages(id, { order: 'latest', limit: 1 });
    expect(latest.data).toMatchObject([{ content: 'You said: two' }]);
    expect(await (await client.sessions.chatStream(id, { message: 'three' })).text()).toBe('You said: three');
  });

  test('a chat that fails is an error, without and with streaming', async () => {
    const { id } = await client.sessions.create();
    const message = script([{ error: { status: 400, message: 'No such thing' } }]);
    const code = 'provider_bad_request';
    expect(await errorOf(client.sessions.chat(id, { message }))).toMatchObject({ code });
    const stream = await client.sessions.chatStream(id, { message });
    expect(await errorOf(stream.text())).toMatchObject({ code });
  });
});

test('completions, without and with streaming', async () => {
  const { choices } = await client.completions.create({ prompt: 'one' });
  expect(choices[0]).toMatchObject({ text: 'You said: one', finish_reason: 'stop' });
  const stream = await client.completions.create({ prompt: 'two', stream: true });
  expect(await stream.text()).toBe('You said: two');
  const prompt = script([{ error: { status: 400, message: 'No such thing' } }]);
  const failing = await client.completions.create({ prompt, stream: true });
  expect(await errorOf(failing.text())).toMatchObject({ code: 'provider_bad_request' });
});

test('embeddings are the provider’s, and here it has none', async () => {
  const error = await errorOf(client.embeddings.create({ model: 'small', input: 'text' }));
  expect(error).toMatchObject({ status: 404, code: 'embeddings_unavailable' });
});

describe('chat', () => {
  const messages = (content: string) => [{ role: 'user', content }];

  test('without streaming, in a session', async () => {
    const ask = (text: string) => {
      const options = { sessionId: 'chat-session', sessionKey: 'ada' };
      return client.chat.completions.create({ messages: messages(script([{ text }])) }, options);
    };
    expect((await ask('one')).choices[0]!.message.content).toBe('one');
    expect(await ask('two')).toMatchObject({ object: 'chat.completion', usage: { total_tokens: 15 } });
    const [newest] = (await client.runs.list({ session_id: 'chat-session' })).data;
    expect(newest).toMatchObject({ output: 'two' });
  });

  test('as a stream, with events beside it; an approval is answered at the run', async () => {
    const input = script([{ text: 'I see.', tools: [terminal('rm -rf build')] }, { text: 'Gone.' }]);
    const progress: string[] = [];
    const stream = await client.chat.completions.create(
      { messages: messages(input), stream: true },
      {
        onToolProgress: ({ tool, status }) => progress.push(`${tool} ${status}`),
        onApprovalRequest: ({ run_id, request_id }) =>
          void client.runs.respondApproval(run_id, { choice: 'once', request_id }),
      },
    );
    for await (const { choices } of stream) expect(choices).toHaveLength(1);
    const text = await stream.text();
    expect(text.startsWith('I see.\n\n')).toBe(true);
    expect(text, 'what a person reads').toContain('> rm -rf build');
    expect(text.endsWith('Gone.')).toBe(true);
    expect(progress).toEqual(['terminal running', 'terminal completed']);
  });

  test('of a run that fails is its error, requested once', async () => {
    const failing = script([{ error: { status: 401, message: 'no' } }]);
    const asked = client.chat.completions.create({ messages: messages(failing) });
    expect(await errorOf(asked)).toMatchObject({ status: 400, code: 'provider_auth' });
    const answers = world.model.requests.filter(({ scriptId }) => failing.includes(`id=${scriptId} `));
    expect(answers).toHaveLength(1);
    const stream = await client.chat.completions.create({ messages: messages(failing), stream: true });
    expect(await errorOf(stream.text())).toMatchObject({ code: 'provider_auth' });
  });

  test('that is left in the middle has its run stopped', async () => {
    const stream = await client.chat.completions.create({
      messages: messages(script([{ chunks: ['a', { gate: 'left' }, 'b'] }])),
      stream: true,
    });
    const [run] = (await client.runs.list({ limit: 1 })).data;
    for await (const { choices } of stream) if (choices[0]?.delta.content === 'a') break;
    expect(await client.runs.wait(run!.run_id)).toMatchObject({ status: 'cancelled' });
  });
});

test('reads what the server reports about itself', async () => {
  expect(await client.health.get()).toMatchObject({ status: 'ok', platform: 'hermes-agent' });
  expect(await client.health.detailed()).toMatchObject({ gateway_state: 'running' });
  expect((await client.models.list()).data[0]).toMatchObject({ object: 'model' });
  expect((await client.capabilities.get()).features).toMatchObject({ run_idempotency: true });
  expect((await client.models.options()).providers).toHaveLength(1);
  expect((await client.skills.list()).data).toEqual([]);
  expect((await client.toolsets.list()).data.map(({ name }) => name)).toContain('file');
});

describe('errors', () => {
  test("have the class of their status, with the server's message", async () => {
    const { url } = world.server;
    const missing = 'run_00000000000000000000000000000000';
    expect(await errorOf(client.runs.get(missing))).toMatchObject({
      status: 404,
      code: 'run_not_found',
      type: 'invalid_request_error',
      message: `Run not found: ${missing} (404 run_not_found)`,
    });
    expect(await errorOf(client.runs.get(missing))).toBeInstanceOf(NotFoundError);
    expect(await errorOf(client.runs.create({ input: '' }))).toBeInstanceOf(BadRequestError);
    expect(await errorOf(client.runs.create({ input: '' }))).toMatchObject({ param: 'input' });
    const wrong = new Talaria({ baseUrl: url, apiKey: 'sk-wrong' });
    expect(await errorOf(wrong.models.list())).toBeInstanceOf(AuthenticationError);
    expect(await wrong.health.get()).toMatchObject({ status: 'ok' });
    const page = new Talaria({ baseUrl: url, apiKey: KEY, headers: { origin: 'https://evil.example' } });
    expect(await errorOf(page.models.list())).toBeInstanceOf(PermissionError);
  });

  test('a full queue is retried after the time that the server names, and is then an error', {
    tags: ['soak'],
  }, async () => {
    await using full = await ServerWithModel.start({
      TALARIA_MAX_CONCURRENT_RUNS: '1',
      TALARIA_MAX_QUEUED_RUNS: '1',
    });
    const impatient = new Talaria({ baseUrl: full.server.url, maxRetries: 0 });
    const first = await impatient.runs.create({ input: script([{ gate: 'full', text: 'a' }]) });
    await waitForStatus(full.api, first.run_id, 'running');
    const second = await impatient.runs.create({ input: 'waits' });
    const refused = await errorOf(impatient.runs.create({ input: 'no room' }));
    expect(refused).toBeInstanceOf(RateLimitError);
    expect(Number((refused as RateLimitError).headers.get('retry-after'))).toBeGreaterThan(0);

    const patient = new Talaria({ baseUrl: full.server.url, maxRetries: 10 });
    const third = patient.runs.run({ input: 'in the end' });
    full.model.open('full');
    expect(await third).toMatchObject({ status: 'completed' });
    expect(await impatient.runs.wait(second.run_id)).toMatchObject({ status: 'completed' });
  });
});
