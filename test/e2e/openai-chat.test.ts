/** The official `openai` package against a real server, unchanged except for its base URL. */
import OpenAI, { type RateLimitError } from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { errorOf } from '../support/error-of.ts';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  endsAs,
  markedSleep,
  processesWith,
  ServerWithModel,
  terminal,
  waitForStatus,
} from './server-with-model.ts';

const KEY = 'sk-openai-chat-0001';
const model = 'hermes-agent';

let world: ServerWithModel;
let client: OpenAI;
beforeAll(async () => {
  world = await ServerWithModel.start({ API_SERVER_KEY: KEY, TALARIA_INLINE_GRACE_SECONDS: '0.2' });
  client = new OpenAI({ baseURL: `${world.server.url}/v1`, apiKey: KEY });
});
afterAll(() => world[Symbol.asyncDispose]());

const user = (content: string) => [{ role: 'user' as const, content }];

/** The newest run there is. */
async function newestRun() {
  const [run] = (await world.api.list('?limit=1')).data;
  return run!;
}

async function readAll(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

function runIdOf(response: Response): string {
  return response.headers.get('x-talaria-run-id')!;
}

describe('an answer', () => {
  test('in one piece', async () => {
    const { data, response } = await client.chat.completions
      .create({ model, messages: user(script([{ text: 'four' }])) })
      .withResponse();
    expect(data.choices[0]).toMatchObject({ message: { content: 'four' }, finish_reason: 'stop' });
    expect(data.usage).toEqual({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 });
    expect(data.model).toBe(model);
    expect(await world.api.run(runIdOf(response))).toMatchObject({ output: 'four' });
  });

  test('in chunks, with running tools between them', async () => {
    const prompt = script([{ text: 'I look.', tools: [terminal('echo hi')] }, { text: 'I see.' }]);
    const stream = await client.chat.completions.create({
      model,
      messages: user(prompt),
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = '';
    let usage: unknown;
    const ids = new Set<string>();
    for await (const chunk of stream) {
      // As the package's documentation does: every chunk has choices.
      text += chunk.choices[0]?.delta?.content ?? '';
      usage = chunk.usage ?? usage;
      ids.add(chunk.id);
    }
    expect(text).toBe('I look.\n\nI see.');
    expect(usage).toMatchObject({ total_tokens: 30 });
    expect(ids.size).toBe(1);
  });

  test('in chunks that the package puts together itself', async () => {
    const prompt = script([{ tools: [terminal('echo hi')] }, { text: 'put together' }]);
    const runner = client.chat.completions.stream({ model, messages: user(prompt) });
    expect(await runner.finalContent()).toBe('put together');
    expect((await runner.finalChatCompletion()).choices[0]).toMatchObject({ finish_reason: 'stop' });
    expect(await runner.totalUsage()).toMatchObject({ total_tokens: 30 });
  });

  test('to a picture', async () => {
    const prompt = script([{ text: 'a cat' }]);
    const url = 'data:image/png;base64,iVBORw0KGgo=';
    const { choices } = await client.chat.completions.create({
      model,
      messages: [
        { role: 'system', content: 'Name the animal.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: prompt },
            { type: 'image_url', image_url: { url, detail: 'low' } },
          ],
        },
      ],
    });
    expect(choices[0]!.message.content).toBe('a cat');
    const { body } = await world.model.waitForRequest(({ scriptId }) => prompt.includes(`id=${scriptId} `));
    expect(JSON.stringify(body.messages.at(-1))).toContain(url);
    expect(JSON.stringify(body.messages[0])).toContain('Name the animal.');
  });

  test('over several turns, for a client that keeps the conversation itself', async () => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [];
    for (const text of ['one', 'two', 'three']) {
      messages.push({ role: 'user', content: script([{ text }]) });
      const { choices } = await client.chat.completions.create({ model, messages });
      expect(choices[0]!.message.content).toBe(text);
      messages.push(choices[0]!.message);
    }
  });

  test('with the session headers of Hermes: the server keeps the conversation', async () => {
    const headers = { 'X-Hermes-Session-Id': 'chat-with-ada', 'X-Hermes-Session-Key': 'user:ada' };
    const ask = (prompt: string) =>
      client.chat.completions.create({ model, messages: user(prompt) }, { headers }).withResponse();
    await ask(script([{ text: 'hello Ada' }]));
    const prompt = script([{ text: 'you are Ada' }]);
    const { response } = await ask(prompt);
    expect(response.headers.get('x-hermes-session-id')).toBe('chat-with-ada');
    expect(response.headers.get('x-hermes-session-key')).toBe('user:ada');
    const { body } = await world.model.waitForRequest(({ scriptId }) => prompt.includes(`id=${scriptId} `));
    expect(body.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user']);
  });

  test('without any secret of the server', async () => {
    const stream = client.chat.completions.stream({
      model,
      messages: user(script([{ chunks: [`the key is ${KEY.slice(0, 9)}`, `${KEY.slice(9)}!`] }])),
    });
    expect(await stream.finalContent()).toBe('the key is [redacted]!');
  });
});

test('the models are those of the server', async () => {
  const [only, ...others] = (await client.models.list()).data;
  expect(others).toEqual([]);
  expect(await client.models.retrieve(model)).toEqual(only);
  expect(await errorOf(client.models.retrieve('gpt-none'))).toBeInstanceOf(OpenAI.NotFoundError);
});

test('an approval is asked for in the stream and answered at the run', async () => {
  const prompt = script([{ tools: [terminal('rm -rf build')] }, { text: 'removed' }]);
  const stream = await client.chat.completions.create({ model, messages: user(prompt), stream: true });
  let text = '';
  let answered = 0;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta?.content ?? '';
    // The package has no type for it, but passes it on.
    const { run_id, request_id, command } = chunk as unknown as Record<string, string>;
    if (command === undefined) continue;
    expect(command).toBe('rm -rf build');
    await client.post(`/runs/${run_id}/approval`, { body: { choice: 'once', request_id } });
    answered += 1;
  }
  expect(answered).toBe(1);
  expect(text).toContain('> rm -rf build');
  expect(text.endsWith('removed')).toBe(true);
});

test('an approval that nobody answers is refused in time, and the run continues', async () => {
  await using impatient = await ServerWithModel.start({ TALARIA_APPROVAL_TIMEOUT_SECONDS: '1' });
  const messages = user(script([{ tools: [terminal('rm -rf build')] }, { text: 'I was not let.' }]));
  const other = new OpenAI({ baseURL: `${impatient.server.url}/v1`, apiKey: 'none' });
  const [whole, stream] = await Promise.all([
    other.chat.completions.create({ model, messages }),
    other.chat.completions.create({ model, messages, stream: true }),
  ]);
  expect(whole.choices[0]!.message.content).toBe('I was not let.');
  const reasons: unknown[] = [];
  for await (const chunk of stream) if ('reason' in chunk) reasons.push(chunk.reason);
  expect(reasons).toEqual(['timeout']);
});

describe('an error is of the class of its status', () => {
  const create = (messages: OpenAI.ChatCompletionMessageParam[], of = client) =>
    errorOf(of.chat.completions.create({ model, messages }));

  test('a wrong key', async () => {
    const wrong = client.withOptions({ apiKey: 'sk-wrong' });
    expect(await create(user('x'), wrong)).toBeInstanceOf(OpenAI.AuthenticationError);
  });

  test('no messages', async () => {
    const error = await create([]);
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error).toMatchObject({ code: 'missing_messages', param: 'messages' });
  });

  test.each([
    [{ status: 401, message: 'bad credentials' }, 'provider_auth'],
    [{ status: 400, message: 'no such thing' }, 'provider_bad_request'],
    [{ status: 429, message: 'quota used up' }, 'provider_rate_limit'],
    [{ status: 500, message: 'broken' }, 'provider_unavailable'],
  ] as const)('a run that fails for %o, which is not retried', async (error, code) => {
    await using impatient = await ServerWithModel.start({ TALARIA_MODEL_RETRIES: '0' });
    const other = new OpenAI({ baseURL: `${impatient.server.url}/v1`, apiKey: 'none' });
    const failure = await create(user(script([{ error }])), other);
    expect(failure).toBeInstanceOf(OpenAI.BadRequestError);
    expect(failure).toMatchObject({ status: 400, code, message: expect.stringContaining(error.message) });
    expect((await impatient.api.list()).data, 'the package tries twice more by itself').toHaveLength(1);
  });

  test('a run that fails in a stream', async () => {
    const prompt = script([{ streamError: { message: 'lost it' }, text: 'half' }]);
    const stream = await client.chat.completions.create({ model, messages: user(prompt), stream: true });
    const error = await errorOf(readAll(stream));
    expect(error).toBeInstanceOf(OpenAI.APIError);
    expect(error).toMatchObject({ code: expect.stringMatching(/^provider_/) });
  });

  test('a run that is stopped elsewhere', async () => {
    const asking = create(user(script([{ hang: 'before' }])));
    const run = await waitFor('the run', async () => {
      const [newest] = (await world.api.list('?limit=1&status=running')).data;
      return newest;
    });
    await world.api.stop(run.run_id);
    const error = await asking;
    expect(error).toBeInstanceOf(OpenAI.BadRequestError);
    expect(error).toMatchObject({ code: 'run_cancelled' });
    expect((await newestRun()).run_id, 'no second run').toBe(run.run_id);
  });

  test('a full queue, which the package waits for by itself', async () => {
    await using full = await ServerWithModel.start({
      TALARIA_MAX_CONCURRENT_RUNS: '1',
      TALARIA_MAX_QUEUED_RUNS: '1',
    });
    const impatient = new OpenAI({ baseURL: `${full.server.url}/v1`, apiKey: 'none', maxRetries: 0 });
    const first = impatient.chat.completions.create({
      model,
      messages: user(script([{ gate: 'full', text: 'a' }])),
    });
    await full.model.waitingAt('full');
    const second = impatient.chat.completions.create({ model, messages: user('waits') });
    await waitFor('the second', async () => (await full.api.list('?status=started')).data.length === 1);
    const refused = await create(user('no room'), impatient);
    expect(refused).toBeInstanceOf(OpenAI.RateLimitError);
    expect(refused).toMatchObject({ code: 'rate_limit_exceeded' });
    expect(Number((refused as RateLimitError).headers.get('retry-after'))).toBeGreaterThan(0);

    const patient = impatient.withOptions({ maxRetries: 10 });
    const third = patient.chat.completions.create({ model, messages: user('in the end') });
    full.model.open('full');
    expect((await third).choices[0]!.message.content).toBe('You said: in the end');
    await Promise.all([first, second]);
  });
});

describe('a client that leaves', () => {
  test('in a stream has its run stopped, with all its processes', async () => {
    const { command, marker } = markedSleep();
    const stream = await client.chat.completions.create({
      model,
      messages: user(script([{ tools: [terminal(command)] }, { text: 'never' }])),
      stream: true,
    });
    const { run_id } = await newestRun();
    await waitFor('the command', () => processesWith(marker).length > 0);
    stream.controller.abort();
    await endsAs(world.api, run_id, 'run.cancelled');
    expect(processesWith(marker)).toEqual([]);
  });

  test('while it waits for an answer without streaming, too', async () => {
    const { command, marker } = markedSleep();
    const abort = new AbortController();
    const asking = errorOf(
      client.chat.completions.create(
        { model, messages: user(script([{ tools: [terminal(command)] }, { text: 'never' }])) },
        { signal: abort.signal },
      ),
    );
    await waitFor('the command', () => processesWith(marker).length > 0);
    const { run_id } = await newestRun();
    abort.abort();
    expect(await asking).toBeInstanceOf(OpenAI.APIUserAbortError);
    await endsAs(world.api, run_id, 'run.cancelled');
    expect(processesWith(marker)).toEqual([]);
  });

  test('while its run waits for approval, or for its turn', async () => {
    const ask = async (prompt: string, headers = {}) => {
      const params = { model, messages: user(prompt), stream: true as const };
      const { data, response } = await client.chat.completions.create(params, { headers }).withResponse();
      return { stream: data, runId: runIdOf(response) };
    };
    const headers = { 'X-Hermes-Session-Id': 'one-at-a-time' };
    const gated = script([{ tools: [terminal('rm -rf build')] }, { text: 'never' }]);
    const asking = await ask(gated, headers);
    await waitForStatus(world.api, asking.runId, 'waiting_for_approval');
    const queued = await ask('its turn never comes', headers);
    queued.stream.controller.abort();
    await endsAs(world.api, queued.runId, 'run.cancelled');
    expect((await world.api.run(asking.runId)).status).toBe('waiting_for_approval');
    asking.stream.controller.abort();
    await endsAs(world.api, asking.runId, 'run.cancelled');
  });

  test('after it has its answer leaves a completed run', async () => {
    const { response } = await client.chat.completions
      .create({ model, messages: user('bye') })
      .withResponse();
    expect(await world.api.run(runIdOf(response))).toMatchObject({ status: 'completed' });
  });
});
