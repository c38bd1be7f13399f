/** `/v1/conversations` and the input items of responses, with OpenAI's own package. */
import OpenAI, { NotFoundError } from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { errorOf } from '../support/error-of.ts';
import type { HostedServer } from '../support/hosted-server.ts';
import { script } from '../support/model-server.ts';
import { textOf } from '../support/model-server-script.ts';
import { ServerWithModel, terminal } from './server-with-model.ts';

const KEY = 'sk-openai-conversations';
const OTHER_KEY = 'sk-other-conversations';
const model = 'gpt-whatever';

let subject: ServerWithModel<HostedServer>;
beforeAll(async () => {
  subject = await ServerWithModel.start({ API_SERVER_KEYS: `one:${KEY},two:${OTHER_KEY}` });
});
afterAll(() => subject[Symbol.asyncDispose]());

const openai = (): OpenAI => new OpenAI({ apiKey: KEY, baseURL: `${subject.server.url}/v1` });
const say = (text: string): string => script([{ text }]);

/** What the model last got, without the system prompt. */
const given = (): string[] =>
  subject.model.requests
    .at(-1)!
    .body.messages.slice(1)
    .map((message) => textOf(message));

/** All items, oldest first, page by page. */
async function itemsOf(id: string) {
  const items: OpenAI.Conversations.ConversationItem[] = [];
  for await (const item of openai().conversations.items.list(id, { order: 'asc', limit: 2 }))
    items.push(item);
  return items;
}

const textsOf = (items: readonly unknown[]): string[] =>
  items.flatMap((item) => {
    const { content = [] } = item as { content?: { text: string }[] };
    return content.map(({ text }) => text);
  });

test('a conversation is created, described, continued and deleted', async () => {
  const made = await openai().conversations.create({
    metadata: { topic: 'snow' },
    items: [{ type: 'message', role: 'user', content: 'I live in Oslo.' }],
  });
  expect(made).toMatchObject({ object: 'conversation', metadata: { topic: 'snow' } });
  expect(made.id).toMatch(/^conv_[0-9a-f]{32}$/);
  expect(await openai().conversations.update(made.id, { metadata: { topic: 'sun' } })).toEqual({
    ...made,
    metadata: { topic: 'sun' },
  });

  const input = say('Oslo');
  const response = await openai().responses.create({ model, input, conversation: made.id });
  expect(response.conversation).toEqual({ id: made.id });
  expect(given()).toEqual(['I live in Oslo.', input]);
  expect(textsOf(await itemsOf(made.id))).toEqual(['I live in Oslo.', input, 'Oslo']);
  const next = say('and Rome');
  await openai().responses.create({ model, input: next, conversation: { id: made.id } });
  expect(given()).toEqual(['I live in Oslo.', input, 'Oslo', next]);

  await subject.server.restart();
  expect(await openai().conversations.retrieve(made.id)).toMatchObject({ metadata: { topic: 'sun' } });
  expect(await openai().conversations.delete(made.id)).toEqual({
    id: made.id,
    object: 'conversation.deleted',
    deleted: true,
  });
  expect(await errorOf(openai().conversations.retrieve(made.id))).toBeInstanceOf(NotFoundError);
  expect(await errorOf(openai().conversations.items.list(made.id))).toBeInstanceOf(NotFoundError);
});

test('items that are added at the same time are all stored', async () => {
  const { id } = await openai().conversations.create();
  const client = new OpenAI({ apiKey: KEY, baseURL: `${subject.server.url}/v1`, maxRetries: 0 });
  const said = Array.from({ length: 10 }, (_, i) => `number ${i}`);
  const added = await Promise.all(
    said.map((content) =>
      client.conversations.items.create(id, { items: [{ type: 'message', role: 'user', content }] }),
    ),
  );
  expect(added.map(({ data }) => textsOf(data))).toEqual(said.map((text) => [text]));
  const items = await itemsOf(id);
  expect(textsOf(items).toSorted()).toEqual(said);
  expect(added.map(({ first_id }) => first_id).toSorted()).toEqual(items.map((item) => item.id!).toSorted());
});

test('items are added, read and removed, and the others keep their ids', async () => {
  const { id } = await openai().conversations.create();
  const { data } = await openai().conversations.items.create(id, {
    items: [
      { type: 'message', role: 'user', content: 'one' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'two' }] as never },
      { type: 'message', role: 'user', content: 'one' },
      { type: 'function_call', call_id: 'c1', name: 'get', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'three' },
    ],
  });
  expect(data).toMatchObject([
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'one' }] },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'two' }] },
    { type: 'message', role: 'user' },
    { type: 'mcp_call', name: 'get', output: 'three' },
  ]);
  expect(await itemsOf(id)).toEqual(data);
  const [, two, again, call] = data;
  expect(await openai().conversations.items.retrieve(two!.id!, { conversation_id: id })).toEqual(two);

  await openai().conversations.items.delete(two!.id!, { conversation_id: id });
  expect((await itemsOf(id)).map((item) => item.id)).toEqual([data[0]!.id, again!.id, call!.id]);
  expect(
    await errorOf(openai().conversations.items.retrieve(two!.id!, { conversation_id: id })),
  ).toBeInstanceOf(NotFoundError);
  await openai().conversations.items.delete(call!.id!, { conversation_id: id });
  const input = say('ok');
  await openai().responses.create({ model, input, conversation: id });
  expect(given()).toEqual(['one', 'one', input]);
});

test('the calls of an agent are items of its conversation', async () => {
  const { id } = await openai().conversations.create();
  const input = script([{ text: 'I look.', tools: [terminal('echo hi')] }, { text: 'Done.' }]);
  await openai().responses.create({ model, input, conversation: id });
  expect(await itemsOf(id)).toMatchObject([
    { type: 'message', role: 'user' },
    { type: 'message', role: 'assistant', content: [{ text: 'I look.' }] },
    { type: 'mcp_call', name: 'terminal', output: expect.stringContaining('hi') },
    { type: 'message', role: 'assistant', content: [{ text: 'Done.' }] },
  ]);
});

test('the input items of a response are listed, and can be referred to', async () => {
  const first = await openai().responses.create({
    model,
    input: [
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: say('yes') },
    ],
  });
  const { data } = await openai().responses.inputItems.list(first.id, { order: 'asc' });
  expect(data).toMatchObject([{ role: 'developer' }, { role: 'user' }]);
  const input = say('again');
  await openai().responses.create({
    model,
    input: [
      ...data.map(({ id }) => ({ type: 'item_reference' as const, id: id! })),
      { role: 'user', content: input },
    ],
  });
  expect(given()).toEqual([textsOf(data)[1], input]);
  expect(textOf(subject.model.requests.at(-1)!.body.messages[0]!)).toContain('Be brief.');
});

test('an item of a response is added to a conversation by its id, and an unknown one is refused', async () => {
  const { output } = await openai().responses.create({ model, input: say('Snow.') });
  const reference = (id: string) => ({ items: [{ type: 'item_reference' as const, id }] });
  const { id } = await openai().conversations.create(reference(output[0]!.id!));
  expect(textsOf(await itemsOf(id))).toEqual(['Snow.']);
  await openai().conversations.items.create(id, reference(output[0]!.id!));
  expect(textsOf(await itemsOf(id))).toEqual(['Snow.', 'Snow.']);
  const refused = await errorOf(openai().conversations.items.create(id, reference('msg_unknown')));
  expect(refused).toMatchObject({ status: 400, param: 'items[0]' });
});

test('the items that a conversation lists can be referred to, with the same key only', async () => {
  const { id } = await openai().conversations.create();
  const command = terminal('printf "token=%s" 0123456789abcdef0123456789abcdef');
  const asked = script([{ text: 'I look.', tools: [command] }, { text: 'Done.' }]);
  await openai().responses.create({ model, input: asked, conversation: id });
  const before = subject.model.requests.at(-1)!.body.messages.slice(1);
  const references = (await itemsOf(id)).map((item) => ({ type: 'item_reference' as const, id: item.id! }));

  const input = say('and now?');
  await openai().responses.create({ model, input: [...references, { role: 'user', content: input }] });
  expect(given()).toEqual([...before.map((message) => textOf(message)), 'Done.', input]);
  const callId = { id: expect.stringMatching(/^[\w-]{1,40}$/) };
  const providers = { tool_calls: [expect.objectContaining(callId)] };
  expect(subject.model.requests.at(-1)!.body.messages).toContainEqual(expect.objectContaining(providers));
  const copy = await openai().conversations.create({ items: references });
  expect(textsOf(await itemsOf(copy.id))).toEqual([asked, 'I look.', 'Done.']);

  const stranger = new OpenAI({ apiKey: OTHER_KEY, baseURL: `${subject.server.url}/v1` });
  const refused = { status: 400, param: 'input[0]' };
  expect(await errorOf(stranger.responses.create({ model, input: references }))).toMatchObject(refused);
  await openai().conversations.delete(id);
  expect(await errorOf(openai().responses.create({ model, input: references }))).toMatchObject(refused);
});

test('a conversation keeps its metadata when none is given', async () => {
  const made = await openai().conversations.create({ metadata: { topic: 'snow' } });
  const refused = await errorOf(openai().conversations.update(made.id, {} as never));
  expect(refused).toMatchObject({ status: 400, param: 'metadata' });
  expect(await openai().conversations.retrieve(made.id)).toEqual(made);
});

test('the tokens of a request are estimated', async () => {
  const count = async (params: OpenAI.Responses.InputTokenCountParams) =>
    (await openai().responses.inputTokens.count({ model, ...params })).input_tokens;
  const short = await count({ input: 'hi' });
  expect(short).toBeGreaterThan(0);
  expect(await count({ input: 'x'.repeat(4000) })).toBeGreaterThan(short + 900);
  const before = await openai().responses.create({ model, input: say('y'.repeat(4000)) });
  expect(await count({ input: 'hi', previous_response_id: before.id })).toBeGreaterThan(short + 900);
});
