/** What a run costs, by the prices of the operator. */
import { expect, test } from 'vitest';
import { script } from '../support/model-server.ts';
import { endsAs, ServerWithModel } from './server-with-model.ts';

test('a run shows what its steps cost, in dollars', async () => {
  const prices = { scripted: { input: 2, output: 10 } };
  await using world = await ServerWithModel.start({ TALARIA_PRICES: JSON.stringify(prices) });
  const { api } = world;
  const runId = await api.create(
    script([
      {
        tools: [{ name: 'terminal', arguments: { command: 'true' } }],
        usage: { input: 100_000, output: 1_000 },
      },
      { text: 'done', usage: { input: 200_000, output: 2_000 } },
    ]),
  );
  const { frames } = await api.stream(runId);
  const steps = frames.flatMap(({ event }) => (event.event === 'step.completed' ? [event.cost] : []));
  expect(steps).toEqual([expect.closeTo(0.21), expect.closeTo(0.42)]);
  expect((await api.run(runId)).cost).toBeCloseTo(0.63);
});

test('a price that is no number is refused at start, by name', async () => {
  const prices = JSON.stringify({ gpt: { input: '2', output: 10 } });
  const start = ServerWithModel.start({ TALARIA_PRICES: prices });
  await expect(start).rejects.toThrow(/TALARIA_PRICES.*"gpt" needs 'input' and 'output'/s);
});

test('a run of a model without a price shows none', async () => {
  await using world = await ServerWithModel.start({ TALARIA_PRICES: '{"other": {"input": 1, "output": 1}}' });
  const runId = await world.api.create(script([{ text: 'done' }]));
  await endsAs(world.api, runId, 'run.completed');
  expect(await world.api.run(runId)).not.toHaveProperty('cost');
});
