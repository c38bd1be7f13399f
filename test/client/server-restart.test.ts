/** A client that watches while the server is killed and restarted on the same data. */
import { type Run, type RunEvent, Talaria } from '@talaria/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ServerWithModel, terminal } from '../e2e/server-with-model.ts';
import { script } from '../support/model-server.ts';
import { UnreliableProxy } from '../support/unreliable-proxy.ts';

/** A server that comes back at another port, behind a fixed address. */
async function startWorld() {
  const world = await ServerWithModel.startProcess();
  const proxy = await UnreliableProxy.start(() => world.server.url, 1);
  return {
    model: world.model,
    client: new Talaria({ baseUrl: proxy.url }),
    restart: async (whileAway = () => {}) => {
      await world.server.kill('SIGKILL');
      whileAway();
      await world.server.start();
    },
    truth: async (runId: string) => (await world.api.stream(runId)).frames.map(({ event }) => event),
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
    },
  };
}

let world: Awaited<ReturnType<typeof startWorld>>;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

test('a stream continues through kill -9 in the middle of a step, and the text has nothing twice; wait keeps waiting', async () => {
  const { client, model } = world;
  const chunks = ['one ', 'two ', { gate: 'rest' }, 'three'];
  const { run_id } = await client.runs.create({ input: script([{ chunks }]) });
  const stream = client.runs.streamEvents(run_id);
  const events: RunEvent[] = [];
  let waiting: Promise<Run> | undefined;
  for await (const event of stream) {
    events.push(event);
    if (waiting !== undefined || event.event !== 'message.delta' || !event.delta.includes('two')) continue;
    await world.restart(() => {
      waiting = client.runs.wait(run_id, { maxRetries: 0 });
    });
    await model.waitingAt('rest');
    model.open('rest');
  }
  expect(events).toEqual(await world.truth(run_id));
  expect(events.map(({ event }) => event)).toContain('run.resumed');
  expect(await stream.text()).toBe('one two three');
  expect(await stream.result()).toMatchObject({ event: 'run.completed', output: 'one two three' });
  expect(await waiting).toMatchObject({ status: 'completed', output: 'one two three' });
});

test('an approval is requested before a kill -9 and answered after it, by the same run()', async () => {
  const { client } = world;
  const questions: string[] = [];
  const run = await client.runs.run(
    { input: script([{ tools: [terminal('rm -rf build; echo gone')] }, { text: 'done' }]) },
    {
      onApproval: async ({ command, request_id }) => {
        questions.push(request_id);
        expect(command).toBe('rm -rf build; echo gone');
        await world.restart();
        return 'once';
      },
    },
  );
  expect(run).toMatchObject({ status: 'completed', output: 'done' });
  expect(questions).toHaveLength(1);
  const outcome = (await world.truth(run.run_id)).find((event) => event.event === 'tool.completed');
  expect(outcome).toMatchObject({ error: false, preview: expect.stringContaining('gone') });
});
