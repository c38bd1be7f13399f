/** What is left of a response when its run is gone, and which responses are kept. */
import type { ResponseObject } from '@talaria/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { HostedServer } from '../support/hosted-server.ts';
import { script } from '../support/model-server.ts';
import { textOf } from '../support/model-server-script.ts';
import { waitFor } from '../support/wait-for.ts';
import { ServerWithModel, terminal } from './server-with-model.ts';

const PATH = '/v1/responses';
const SECRET = 'sk-a-secret-of-the-server';

let world: ServerWithModel<HostedServer>;
beforeAll(async () => {
  world = await ServerWithModel.start({
    TALARIA_RUN_RETENTION_SECONDS: '1',
    TALARIA_MAX_STORED_RESPONSES: '3',
    API_SERVER_KEY: SECRET,
  });
});
afterAll(() => world[Symbol.asyncDispose]());

const create = async (input: string, fields: object = {}): Promise<ResponseObject> =>
  (await world.api.post<ResponseObject>(PATH, { input, ...fields })).body;
const get = (id: string, query = '') => world.api.get<ResponseObject>(`${PATH}/${id}${query}`);

function evicted(runId: string): Promise<boolean> {
  return waitFor(
    `${runId} to be evicted`,
    async () => (await world.api.get(`/v1/runs/${runId}`)).status === 404,
  );
}

test('a response outlives its run and can be continued; its events do not', async () => {
  const input = script([{ text: 'Look.', tools: [terminal(`echo ${SECRET}`)] }, { text: 'There.' }]);
  const response = await create(input, { metadata: { order: '7' } });
  expect(JSON.stringify(response.output)).not.toContain(SECRET);
  await evicted(response.run_id!);
  expect((await get(response.id)).body).toEqual(response);
  expect(await get(response.id, '?stream=true')).toMatchObject({
    status: 404,
    body: { error: { code: 'response_events_gone' } },
  });

  await world.server.restart();
  expect((await get(response.id)).body).toEqual(response);
  const next = script([{ text: 'On it goes.' }]);
  await create(next, { previous_response_id: response.id });
  const { body } = await world.model.waitForRequest(({ body: { messages } }) =>
    messages.some((message) => textOf(message) === next),
  );
  expect(body.messages.slice(1).map((message) => [message.role, textOf(message)])).toEqual([
    ['user', input],
    ['assistant', 'Look.'],
    // The model sees the original text; only what is shown is masked.
    ['tool', expect.stringContaining(SECRET)],
    ['assistant', 'There.'],
    ['user', next],
  ]);
});

test('a failed or cancelled response is kept as such', async () => {
  const failing = script([{ chunks: ['half', ' of it'], disconnect: 'mid' }]);
  const { id, run_id } = await create(failing, { background: true });
  await evicted(run_id!);
  expect((await get(id)).body).toMatchObject({
    status: 'failed',
    output: [{ status: 'incomplete', content: [{ text: 'half' }] }],
  });
  const cancelled = await create(script([{ hang: 'before' }]), { background: true });
  await world.api.post(`${PATH}/${cancelled.id}/cancel`);
  await evicted(cancelled.run_id!);
  expect((await get(cancelled.id)).body).toMatchObject({ status: 'cancelled', approval: null });
  expect((await world.api.post(`${PATH}/${cancelled.id}/cancel`)).status).toBe(200);
});

test('of more than the limit the oldest finished ones are deleted, and no unfinished one', async () => {
  const waiting = await create(script([{ hang: 'before' }]), { background: true });
  const ids: string[] = [];
  for (let i = 0; i < 4; i += 1) ids.push((await create(script([{ text: `answer ${i}` }]))).id);
  const statuses = await Promise.all([waiting.id, ...ids].map(async (id) => (await get(id)).status));
  expect(statuses).toEqual([200, 404, 404, 200, 200]);
  await world.api.post(`${PATH}/${waiting.id}/cancel`);
});
