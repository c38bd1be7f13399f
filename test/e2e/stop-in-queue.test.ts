/** A run that waits for its turn can be stopped at once, however long the runs before it take. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { script } from '../support/model-server.ts';
import { endsAs, names, ServerWithModel, waitForStatus } from './server-with-model.ts';

let world: ServerWithModel;
beforeAll(async () => {
  world = await ServerWithModel.start({ TALARIA_MAX_CONCURRENT_RUNS: '1' });
});
afterAll(() => world[Symbol.asyncDispose]());

test('a queued run is cancelled without ever reaching the model; the others are not affected', async () => {
  const { api, model } = world;
  const first = await api.create(script([{ gate: 'first', text: 'first' }]));
  await model.waitingAt('first');
  const stoppedPrompt = script([{ text: 'unsaid' }]);
  const second = await api.create(stoppedPrompt);
  const third = await api.create(script([{ text: 'third' }]));
  expect((await api.run(second)).status).toBe('started');

  expect((await api.stop(second)).status).toBe(200);
  const { frames } = await endsAs(api, second, 'run.cancelled');
  expect(names(frames)).toEqual(['run.cancelled']);
  expect((await api.run(first)).status).toBe('running');
  expect((await api.run(third)).status).toBe('started');

  model.open('first');
  expect((await endsAs(api, first, 'run.completed')).output).toBe('first');
  expect((await endsAs(api, third, 'run.completed')).output).toBe('third');
  expect(model.requests.filter(({ scriptId }) => stoppedPrompt.includes(`id=${scriptId} `))).toEqual([]);
});

test('stopping the running one starts the next', async () => {
  const { api, model } = world;
  const wedged = await api.create(script([{ gate: 'never', text: 'unsaid' }]));
  await model.waitingAt('never');
  const next = await api.create(script([{ text: 'my turn' }]));
  await api.stop(wedged);
  await waitForStatus(api, wedged, 'cancelled');
  expect((await endsAs(api, next, 'run.completed')).output).toBe('my turn');
});

test('a run that waits behind its session is cancelled at once, and the session continues', async () => {
  const { api, model } = world;
  const session = { session_id: 'stop-in-queue' };
  const first = await api.create(script([{ gate: 'session', text: 'one' }]), session);
  const second = await api.create(script([{ text: 'two' }]), session);
  const third = await api.create(script([{ text: 'three' }]), session);
  await api.stop(second);
  await endsAs(api, second, 'run.cancelled');
  model.open('session');
  await endsAs(api, first, 'run.completed');
  expect((await endsAs(api, third, 'run.completed')).output).toBe('three');
});
