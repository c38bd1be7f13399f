/** `client.responses` and the real server. */
import { ConflictError, NotFoundError, type ResponseEvent, Talaria } from '@talaria/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ServerWithModel, terminal } from '../e2e/server-with-model.ts';
import { errorOf } from '../support/error-of.ts';
import { script } from '../support/model-server.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { UnreliableProxy } from '../support/unreliable-proxy.ts';

let world: ServerWithModel<ServerProcess>;
beforeAll(async () => {
  world = await ServerWithModel.startProcess();
});
afterAll(() => world[Symbol.asyncDispose]());

const direct = () => new Talaria({ baseUrl: world.server.url });

async function read(events: AsyncIterable<ResponseEvent>): Promise<ResponseEvent[]> {
  const all: ResponseEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

const LONG = script([
  { text: 'I look around. '.repeat(5), chunks: 20, delayMs: 10, tools: [terminal('echo a')] },
  { text: 'I have looked. '.repeat(5), chunks: 20, delayMs: 10 },
]);

const readToItsEnd = 'a background stream is read to its end over a bad network, seed %i';
test.each([1])(readToItsEnd, readOverBadNetwork);
test.each([2, 3])(readToItsEnd, { tags: ['soak'] }, readOverBadNetwork);

async function readOverBadNetwork(seed: number): Promise<void> {
  const faults = { cut: 0.15, delay: 0.2 };
  await using proxy = await UnreliableProxy.start(() => world.server.url, seed);
  const client = new Talaria({ baseUrl: proxy.url, maxRetries: 20 });
  // How much passes the proxy in one piece depends on speed, and so does whether a fault hits any of it: repeat until
  // it did.
  do {
    // A create that streams is not retried, so its response has to begin.
    proxy.faults = {};
    const stream = await client.responses.create({ input: LONG, background: true, stream: true });
    proxy.faults = faults;
    const events = await read(stream);
    const { id, status } = await stream.result();
    expect(status).toBe('completed');
    expect(events).toEqual(await read(await direct().responses.streamEvents(id)));
  } while (proxy.happened.cut === 0);
}

test('a background stream outlives a killed server', async () => {
  await using proxy = await UnreliableProxy.start(() => world.server.url, 1, {});
  const client = new Talaria({ baseUrl: proxy.url, maxRetries: 20 });
  const input = script([{ chunks: ['half', { gate: 'killed' }, ' and half'] }]);
  const stream = await client.responses.create({ input, background: true, stream: true });
  let restarted: Promise<void> | undefined;
  const numbers: number[] = [];
  for await (const event of stream) {
    numbers.push(event.sequence_number);
    if (event.type !== 'response.output_text.delta' || restarted !== undefined) continue;
    restarted = world.server.kill().then(() => world.server.start());
    await restarted;
    world.model.open('killed');
  }
  expect(numbers).toEqual(numbers.map((_, i) => i));
  expect(await stream.text()).toBe('half and half');
});

test('events are read after any position, and a response is cancelled once', async () => {
  const { responses } = direct();
  const done = await responses.create({ input: LONG });
  const all = await read(await responses.streamEvents(done.id));
  expect(await read(await responses.streamEvents(done.id, { after: 7 }))).toEqual(all.slice(8));

  const { id } = await responses.create({ input: script([{ hang: 'before' }]), background: true });
  expect(await responses.cancel(id)).toMatchObject({ id, status: 'cancelled' });
  const over = await responses.create({ input: script([{ text: 'a' }]), background: true });
  await (await responses.streamEvents(over.id)).result();
  expect(await errorOf(responses.cancel(over.id))).toBeInstanceOf(ConflictError);
  expect(await errorOf(responses.streamEvents('resp_x'))).toBeInstanceOf(NotFoundError);
});
