/** `/v1/responses` with OpenAI's own package, which knows only where the server is. */
import OpenAI, { BadRequestError, ConflictError, NotFoundError } from 'openai';
import type { Response, ResponseStreamEvent } from 'openai/resources/responses/responses';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { errorOf } from '../support/error-of.ts';
import { script } from '../support/model-server.ts';
import { textOf } from '../support/model-server-script.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { waitFor } from '../support/wait-for.ts';
import { ServerWithModel, terminal, waitForApproval } from './server-with-model.ts';

const KEY = 'sk-openai-responses';

let subject: ServerWithModel<ServerProcess>;
beforeAll(async () => {
  subject = await ServerWithModel.startProcess({ API_SERVER_KEY: KEY, TALARIA_INLINE_GRACE_SECONDS: '0' });
});
afterAll(() => subject[Symbol.asyncDispose]());

/** For the server's present address. */
const openai = (): OpenAI => new OpenAI({ apiKey: KEY, baseURL: `${subject.server.url}/v1` });
const model = 'gpt-whatever';

const gateName = (): string => `gate-${Math.random().toString(36).slice(2)}`;

async function eventsOf(stream: AsyncIterable<ResponseStreamEvent>): Promise<ResponseStreamEvent[]> {
  const events: ResponseStreamEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

const numbers = (events: readonly ResponseStreamEvent[]): number[] =>
  events.map((event) => event.sequence_number);
const counting = (from: number, length: number): number[] => Array.from({ length }, (_, i) => from + i);

const approvalOf = (response: Response) =>
  (response as unknown as { approval: { command: string } | null }).approval;

const ended = (responseId: string): Promise<Response> =>
  waitFor(`the end of ${responseId}`, async () => {
    const response = await openai().responses.retrieve(responseId);
    return response.status !== 'queued' && response.status !== 'in_progress' && response;
  });

/** What the model got for the answer `reply`, without the system prompt. */
async function sentFor(reply: string): Promise<[string, string][]> {
  const { body } = await subject.model.waitForRequest(({ body: { messages } }) =>
    textOf(messages.at(-1)!).includes(`"${reply}"`),
  );
  return body.messages.slice(1).map((message) => [message.role, toText(textOf(message))]);
}

/** A prompt that makes the model say this, and its text in a conversation. */
const say = (text: string): string => script([{ text }]);
const toText = (content: string): string => /"text":"([^"]*)"/.exec(content)?.[1] ?? content;

describe('a response in one piece', () => {
  test('has the text, the calls and their outputs', async () => {
    const command = `echo ${'x'.repeat(600)}`;
    const response = await openai().responses.create({
      model,
      input: script([{ text: 'Let me see.', tools: [terminal(command)] }, { text: 'There it is.' }]),
      instructions: 'Be brief.',
      metadata: { order: '7' },
    });
    expect(response).toMatchObject({
      object: 'response',
      status: 'completed',
      model,
      instructions: 'Be brief.',
      metadata: { order: '7' },
      error: null,
      output_text: 'Let me see.There it is.',
      usage: {
        input_tokens: 20,
        output_tokens: 10,
        total_tokens: 30,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens_details: { reasoning_tokens: 0 },
      },
    });
    expect(response.id).toMatch(/^resp_[0-9a-f]{28}$/);
    const [before, call, answer] = response.output;
    expect(before).toMatchObject({ type: 'message', content: [{ text: 'Let me see.' }] });
    expect(call).toMatchObject({ type: 'mcp_call', name: 'terminal', status: 'completed' });
    if (call?.type !== 'mcp_call') throw new Error('no call');
    expect(JSON.parse(call.arguments)).toEqual({ command });
    expect(call.output).toContain('x'.repeat(600));
    expect(answer).toMatchObject({ type: 'message', content: [{ text: 'There it is.' }] });
    expect(await openai().responses.retrieve(response.id)).toEqual(response);
  });

  test('is unknown after it was deleted', async () => {
    const { id } = await openai().responses.create({ model, input: say('a') });
    await openai().responses.delete(id);
    expect(await errorOf(openai().responses.retrieve(id))).toBeInstanceOf(NotFoundError);
    expect(await errorOf(openai().responses.delete(id))).toMatchObject({
      status: 404,
      code: 'response_not_found',
    });
  });

  test('is not kept when it is not stored', async () => {
    const { id, store } = (await openai().responses.create({
      model,
      input: say('a'),
      store: false,
    })) as Response & {
      store: boolean;
    };
    expect(store).toBe(false);
    expect(await errorOf(openai().responses.retrieve(id))).toBeInstanceOf(NotFoundError);
    const next = openai().responses.create({ model, input: say('b'), previous_response_id: id });
    expect(await errorOf(next)).toBeInstanceOf(NotFoundError);
  });

  test('is an error of its class when the run fails, and is not retried', async () => {
    const input = script([{ error: { status: 400, message: 'no such thing' } }]);
    const error = await errorOf(openai().responses.create({ model, input }));
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({ code: 'provider_bad_request' });
    const scriptId = /id=(\S+)/.exec(input)![1];
    expect(subject.model.requests.filter((request) => request.scriptId === scriptId)).toHaveLength(1);
  });

  test('is incomplete when the answer was truncated', async () => {
    const input = script([{ text: 'half of it', finish: 'length' }]);
    expect(await openai().responses.create({ model, input })).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output_text: 'half of it',
    });
  });

  test.each<[string, OpenAI.Responses.ResponseCreateParamsNonStreaming, unknown, string]>([
    ['no input', { input: '' }, BadRequestError, 'missing_input'],
    [
      'no such response',
      { input: 'hi', previous_response_id: 'resp_0' },
      NotFoundError,
      'previous_response_not_found',
    ],
    [
      'two ways to go on',
      { input: 'hi', previous_response_id: 'resp_0', conversation: 'c' },
      BadRequestError,
      'invalid_request',
    ],
    [
      'background, not stored',
      { input: 'hi', background: true, store: false },
      BadRequestError,
      'invalid_request',
    ],
    [
      'a schema that is none',
      { input: 'hi', text: { format: { type: 'json_schema', name: 'a', schema: 'none' as never } } },
      BadRequestError,
      'invalid_output_schema',
    ],
  ])('is refused with %s', async (_, params, type, code) => {
    const error = await errorOf(openai().responses.create({ model, ...params }));
    expect(error).toBeInstanceOf(type);
    expect(error).toMatchObject({ code });
  });
});

describe('a response that is streamed', () => {
  const input = () =>
    script([
      { text: 'Let me see.', tools: [terminal('echo hi')] },
      { text: 'There it is.', chunks: 4, delayMs: 30 },
    ]);

  test('comes event by event, numbered from 0 without gaps', async () => {
    const events = await eventsOf(await openai().responses.create({ model, input: input(), stream: true }));
    expect(numbers(events)).toEqual(counting(0, events.length));
    const types = events.map(({ type }) => type).filter((type, i, all) => type !== all[i - 1]);
    const message = (...deltas: string[]) => [
      'response.output_item.added',
      'response.content_part.added',
      ...deltas,
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
    ];
    expect(types).toEqual([
      'response.created',
      'response.in_progress',
      ...message('response.output_text.delta'),
      'response.output_item.added',
      'response.mcp_call.in_progress',
      'response.mcp_call_arguments.delta',
      'response.mcp_call_arguments.done',
      'response.mcp_call.completed',
      'response.output_item.done',
      ...message('response.output_text.delta'),
      'response.completed',
    ]);
    const last = events.at(-1) as Extract<ResponseStreamEvent, { type: 'response.completed' }>;
    const { output_text, ...kept } = await openai().responses.retrieve(last.response.id);
    expect(last.response).toEqual(kept);
    expect(output_text).toBe('Let me see.There it is.');
  });

  test("adds up to the response in the package's helper", async () => {
    const stream = openai().responses.stream({ model, input: input() });
    const deltas: string[] = [];
    stream.on('response.output_text.delta', ({ snapshot }) => deltas.push(snapshot));
    const response = await stream.finalResponse();
    expect(response).toMatchObject({ status: 'completed', output_text: 'Let me see.There it is.' });
    expect(deltas.at(-1)).toBe('There it is.');
    expect(deltas.length).toBeGreaterThan(2);
  });

  test('ends with response.failed when the run fails, and the package throws', async () => {
    const failing = script([{ text: 'half', disconnect: 'mid' }]);
    const stream = await openai().responses.create({ model, input: failing, stream: true });
    const events: ResponseStreamEvent[] = [];
    const reading = (async () => {
      for await (const event of stream) events.push(event);
    })();
    const code = expect.stringContaining('provider_');
    expect(await errorOf(reading)).toMatchObject({ code, type: 'invalid_request_error' });
    expect(events.at(-1)).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { code } },
    });
  });

  test('shows a pending approval, which is answered at the run', async () => {
    const gated = script([{ tools: [terminal('rm -rf build')] }, { text: 'done' }]);
    const stream = openai().responses.stream({ model, input: gated });
    const asked: unknown[] = [];
    stream.on('response.in_progress', async ({ response }) => {
      const { approval, run_id } = response as unknown as {
        approval: { command: string } | null;
        run_id: string;
      };
      asked.push(approval?.command ?? null);
      if (approval !== null) await subject.api.post(`/v1/runs/${run_id}/approval`, { choice: 'deny' });
    });
    const { status, output_text } = await stream.finalResponse();
    expect(status).toBe('completed');
    expect(output_text).toMatch(/Approval needed[\s\S]*> rm -rf build[\s\S]*Denied\.\s*done$/);
    expect(asked).toEqual([null, 'rm -rf build', null]);
  });

  test('stops its run when its reader leaves', async () => {
    const gate = gateName();
    const stream = await openai().responses.create({
      model,
      input: script([{ chunks: ['a', { gate }, 'b'] }]),
      stream: true,
    });
    let id = '';
    for await (const event of stream) {
      if (event.type === 'response.created') id = event.response.id;
      if (event.type === 'response.output_text.delta') break;
    }
    expect((await ended(id)).status).toBe('cancelled');
    subject.model.open(gate);
  });
});

describe('a response in the background', () => {
  test('is returned at once, continues by itself and is polled to its end', async () => {
    const gate = gateName();
    const response = await openai().responses.create({
      model,
      input: script([{ gate, text: 'done' }]),
      background: true,
    });
    expect(response).toMatchObject({ background: true, output: [] });
    expect(['queued', 'in_progress']).toContain(response.status);
    await subject.model.waitingAt(gate);
    expect((await openai().responses.retrieve(response.id)).status).toBe('in_progress');
    const goOn = openai().responses.create({ model, input: 'hi', previous_response_id: response.id });
    expect(await errorOf(goOn)).toBeInstanceOf(ConflictError);
    expect(await errorOf(openai().responses.delete(response.id))).toMatchObject({
      code: 'response_not_finished',
    });
    subject.model.open(gate);
    expect(await ended(response.id)).toMatchObject({ status: 'completed', output_text: 'done' });
  });

  test('shows its text so far', async () => {
    const gate = gateName();
    const input = script([{ chunks: ['so far', { gate }, ', so good'] }]);
    const { id } = await openai().responses.create({ model, input, background: true });
    const partial = await waitFor('the first text', async () => {
      const response = await openai().responses.retrieve(id);
      return response.output.length > 0 && response;
    });
    expect(partial).toMatchObject({
      status: 'in_progress',
      output: [{ status: 'in_progress' }],
      output_text: 'so far',
    });
    subject.model.open(gate);
    expect((await ended(id)).output_text).toBe('so far, so good');
  });

  test('is cancelled, and stays so', async () => {
    const input = script([{ hang: 'before' }]);
    const { id } = await openai().responses.create({ model, input, background: true });
    const cancelled = await openai().responses.cancel(id);
    expect(cancelled).toMatchObject({ id, status: 'cancelled' });
    expect(await openai().responses.cancel(id)).toEqual(cancelled);
    expect(await openai().responses.retrieve(id)).toMatchObject(cancelled);
  });

  test('cannot be cancelled when it has finished, or is not in the background', async () => {
    const { id } = await openai().responses.create({ model, input: say('a'), background: true });
    await ended(id);
    expect(await errorOf(openai().responses.cancel(id))).toMatchObject({
      status: 409,
      code: 'response_not_active',
    });
    const inline = await openai().responses.create({ model, input: say('a') });
    expect(await errorOf(openai().responses.cancel(inline.id))).toMatchObject({
      status: 400,
      code: 'response_not_background',
    });
  });

  test('is watched, left and watched again from any event', async () => {
    const gate = gateName();
    const input = script([
      { text: 'Let me see.', tools: [terminal('echo hi')] },
      { chunks: ['There', { gate }, ' it is.'] },
    ]);
    const stream = await openai().responses.create({ model, input, background: true, stream: true });
    const seen: ResponseStreamEvent[] = [];
    let id = '';
    for await (const event of stream) {
      seen.push(event);
      if (event.type === 'response.created') {
        id = event.response.id;
        expect(event.response.status).toBe('queued');
      }
      if (event.type === 'response.output_text.delta' && event.delta === 'There') break;
    }
    const last = seen.at(-1)!.sequence_number;
    const rest = eventsOf(await openai().responses.retrieve(id, { stream: true, starting_after: last }));
    subject.model.open(gate);
    seen.push(...(await rest));
    expect(numbers(seen)).toEqual(counting(0, seen.length));
    const whole = await eventsOf(await openai().responses.retrieve(id, { stream: true }));
    expect(seen).toEqual(whole);
    for (const { sequence_number: n } of whole) {
      const after = await eventsOf(
        await openai().responses.retrieve(id, { stream: true, starting_after: n }),
      );
      expect(after).toEqual(whole.slice(n + 1));
    }
    const beyond = openai().responses.retrieve(id, { stream: true, starting_after: whole.length });
    expect(await errorOf(beyond)).toMatchObject({ status: 400, code: 'invalid_cursor' });
  });

  test('waits for an approval as long as nobody watches, and shows it', async () => {
    const input = script([{ tools: [terminal('rm -rf build')] }, { text: 'done' }]);
    const { id, ...fields } = await openai().responses.create({ model, input, background: true });
    const { run_id } = fields as unknown as { run_id: string };
    const approval = await waitForApproval(subject.api, run_id);
    expect(await openai().responses.retrieve(id)).toMatchObject({ status: 'in_progress', approval });
    await subject.api.post(`/v1/runs/${run_id}/approval`, { choice: 'once' });
    expect(await ended(id)).toMatchObject({ status: 'completed', approval: null });
  });
});

describe('a conversation', () => {
  test('continues from response to response, over five turns', async () => {
    const replies = ['one', 'two', 'three', 'four', 'five'];
    let previous: string | null = null;
    for (const [turn, reply] of replies.entries()) {
      const response: Response = await openai().responses.create({
        model,
        input: say(reply),
        previous_response_id: previous,
      });
      expect(response).toMatchObject({ output_text: reply, previous_response_id: previous });
      const before = replies.slice(0, turn).flatMap((text) => [
        ['user', text],
        ['assistant', text],
      ]);
      expect(await sentFor(reply)).toEqual([...before, ['user', reply]]);
      previous = response.id;
    }
  });

  test('is interrupted by kill -9 in the middle of an answer, and completed and continued after the restart', async () => {
    const gate = gateName();
    const first = await openai().responses.create({ model, input: say('before') });
    const input = script([{ chunks: ['half', { gate }, ' and half'] }]);
    const stream = await openai().responses.create({
      model,
      input,
      previous_response_id: first.id,
      background: true,
      stream: true,
    });
    const seen: ResponseStreamEvent[] = [];
    for await (const event of stream) {
      seen.push(event);
      if (event.type === 'response.output_text.delta') break;
    }
    const { id } = (seen[0] as Extract<ResponseStreamEvent, { type: 'response.created' }>).response;
    await subject.server.kill();
    subject.model.open(gate);
    await subject.server.start();
    const starting_after = seen.at(-1)!.sequence_number;
    seen.push(...(await eventsOf(await openai().responses.retrieve(id, { stream: true, starting_after }))));
    expect(numbers(seen)).toEqual(counting(0, seen.length));
    const items = seen.flatMap((event) => (event.type === 'response.output_item.done' ? [event.item] : []));
    expect(items).toMatchObject([
      { status: 'incomplete', content: [{ text: 'half' }] },
      { status: 'completed', content: [{ text: 'half and half' }] },
    ]);
    const whole = await openai().responses.stream({ response_id: id }).finalResponse();
    expect(whole).toMatchObject({ status: 'completed', output_text: 'half and half' });
    await openai().responses.create({ model, input: say('after'), previous_response_id: id });
    expect(await sentFor('after')).toEqual([
      ['user', 'before'],
      ['assistant', 'before'],
      ['user', input],
      ['assistant', 'half and half'],
      ['user', 'after'],
    ]);
  });

  test('hears that the server shuts down, and continues after the next start', async () => {
    const input = script([{ tools: [terminal('rm -rf build')] }, { text: 'done' }]);
    const stream = await openai().responses.create({ model, input, background: true, stream: true });
    const seen: ResponseStreamEvent[] = [];
    const reading = (async () => {
      for await (const event of stream) {
        seen.push(event);
        const asks = event.type === 'response.in_progress' && approvalOf(event.response) !== null;
        if (asks) void subject.server.kill('SIGTERM');
      }
    })();
    expect(await errorOf(reading)).toMatchObject({ code: 'gateway_draining' });
    await subject.server.exited();
    await subject.server.start();
    const { id, ...fields } = (seen[0] as Extract<ResponseStreamEvent, { type: 'response.created' }>)
      .response;
    const { run_id } = fields as unknown as { run_id: string };
    await subject.api.post(`/v1/runs/${run_id}/approval`, { choice: 'once' });
    const starting_after = seen.at(-1)!.sequence_number;
    seen.push(...(await eventsOf(await openai().responses.retrieve(id, { stream: true, starting_after }))));
    expect(numbers(seen)).toEqual(counting(0, seen.length));
    expect(seen.at(-1)).toMatchObject({ type: 'response.completed' });
  });

  test('branches at an earlier response', async () => {
    const root = await openai().responses.create({ model, input: say('root') });
    const left = await openai().responses.create({
      model,
      input: say('left'),
      previous_response_id: root.id,
    });
    await openai().responses.create({ model, input: say('right'), previous_response_id: root.id });
    expect(await sentFor('right')).toEqual([
      ['user', 'root'],
      ['assistant', 'root'],
      ['user', 'right'],
    ]);
    await openai().responses.create({ model, input: say('further left'), previous_response_id: left.id });
    expect((await sentFor('further left')).map(([, text]) => text)).toEqual([
      'root',
      'root',
      'left',
      'left',
      'further left',
    ]);
  });

  test('has a name, and can be continued under it', async () => {
    const conversation = `talk ${gateName()}`;
    const first = await openai().responses.create({ model, input: say('by name'), conversation });
    expect(first.conversation).toEqual({ id: conversation });
    await openai().responses.create({
      model,
      input: say('again by name'),
      conversation: { id: conversation },
    });
    expect((await sentFor('again by name')).map(([, text]) => text)).toEqual([
      'by name',
      'by name',
      'again by name',
    ]);
    await openai().responses.create({ model, input: say('unstored'), conversation, store: false });
    expect(await sentFor('unstored')).toHaveLength(5);
    await openai().responses.create({ model, input: say('third by name'), conversation });
    expect(await sentFor('third by name')).toHaveLength(5);
  });

  test('is possible without storing anything, by sending everything', async () => {
    const input: OpenAI.Responses.ResponseInput = [
      { role: 'user', content: script([{ tools: [terminal('echo hi')] }, { text: 'hi' }]) },
    ];
    const first = await openai().responses.create({ model, input, store: false });
    input.push(...(first.output as OpenAI.Responses.ResponseInput), {
      role: 'user',
      content: say('stateless'),
    });
    const second = await openai().responses.create({ model, input, store: false });
    expect(second.output_text).toBe('stateless');
    expect((await sentFor('stateless')).map(([role]) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
    ]);
  });

  test('is cut to its last hundred messages on request', async () => {
    const conversation = `long ${gateName()}`;
    const conversation_history = Array.from({ length: 120 }, (_, i) => ({
      role: 'user',
      content: `message ${i}`,
    }));
    const long = { model, input: say('after many'), conversation, conversation_history };
    await openai().responses.create(long as OpenAI.Responses.ResponseCreateParamsNonStreaming);
    expect(await sentFor('after many')).toHaveLength(121);
    await openai().responses.create({ model, input: say('all of it'), conversation });
    expect(await sentFor('all of it')).toHaveLength(123);
    await openai().responses.create({
      model,
      input: say('the last of it'),
      conversation,
      truncation: 'auto',
    });
    const sent = await sentFor('the last of it');
    expect(sent).toHaveLength(101);
    expect(sent[0]).toEqual(['user', 'message 24']);
  });

  test('can be continued by a run', async () => {
    const { id } = await openai().responses.create({ model, input: say('for a run') });
    await subject.api.create(say('the run'), { previous_response_id: id });
    expect((await sentFor('the run')).map(([, text]) => text)).toEqual(['for a run', 'for a run', 'the run']);
    await subject.api.create(say('the lonely run'), { previous_response_id: 'resp_unknown' });
    expect(await sentFor('the lonely run')).toHaveLength(1);
  });
});
