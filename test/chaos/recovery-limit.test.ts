/**
 * A run that crashes the server does so a bounded number of times. The soak tests let it crash the server. claim.contract.ts
 * shows which run is claimed after how many crashes.
 */
import { isTerminalEvent } from '@talaria/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Api } from '../support/api.ts';
import { HostedServer } from '../support/hosted-server.ts';
import { type ModelServer, script, startModelServer } from '../support/model-server.ts';
import { newStore } from '../support/store.ts';
import { waitFor } from '../support/wait-for.ts';
import { KillableServer, type Moment } from './killable-server.ts';
import { openStore } from './open-store.ts';

const SLOW = { timeout: 180_000 };
const STARTS_MAX = 10;
const DEATHS_MAX = 5;

let model: ModelServer;
beforeAll(async () => {
  model = await startModelServer();
});
afterAll(() => model.close());

describe.concurrent('a run that kills the server at each attempt', () => {
  test.each<Moment>(['step.before-model', 'run.after-claim'])(
    'at %s ends as failed',
    { ...SLOW, tags: ['soak'] },
    endsAsFailed,
  );

  async function endsAsFailed(moment: Moment): Promise<void> {
    await using server = new KillableServer({ modelUrl: model.url });
    await server.start(moment);
    // A run is claimed before its client has the answer, which the server may not live to send.
    const created = server.create(script([{ text: 'Never said.' }]));
    await server.diesByItself(moment);

    let deaths = 1;
    while (deaths < STARTS_MAX && (await diesOfItsRun(server, moment))) deaths += 1;
    expect(deaths).toBe(DEATHS_MAX);
    const runId = await created;
    expect(await server.api.run(runId)).toMatchObject({ status: 'failed', error_code: 'recovery_limit' });
    await server.killAndStart();
    const { frames, clean } = await server.api.stream(runId);
    expect(clean).toBe(true);
    expect(frames.filter(({ event }) => isTerminalEvent(event.event))).toHaveLength(1);
    expect(frames.at(-1)?.event).toMatchObject({ event: 'run.failed', error_code: 'recovery_limit' });
    // The other runs continue.
    const other = await server.create(script([{ text: 'Alive.' }]));
    expect(await server.api.finish(other)).toMatchObject({ event: 'run.completed', output: 'Alive.' });
  }
});

test('a run whose workers died five times ends as failed, and the runs beside it continue', async () => {
  const store = await newStore();
  await using server = await HostedServer.start({ modelUrl: model.url, env: store });
  const runs: string[] = [];
  for (const gate of ['fatal', 'harmless']) {
    runs.push(await new Api(server.url).create(script([{ gate, text: `By ${gate}.` }])));
    await model.waitingAt(gate);
  }
  await server.restart({}, async () => {
    const { journal } = await openStore(server.dataDir, store);
    // Leases that end at once are those of workers that die at once.
    for (let deaths = 0; deaths < DEATHS_MAX; deaths += 1) await journal.claim('a worker that dies', 0, 10);
    await journal.close();
  });
  const api = new Api(server.url);
  expect(await api.finish(runs[0]!)).toMatchObject({ event: 'run.failed', error_code: 'recovery_limit' });
  expect(await api.run(runs[0]!)).toMatchObject({ status: 'failed', error_code: 'recovery_limit' });
  model.open('harmless');
  expect(await api.finish(runs[1]!)).toMatchObject({ event: 'run.completed', output: 'By harmless.' });
});

test('a run that kills the server ends as failed, and does not fail the runs beside it', {
  ...SLOW,
  tags: ['soak'],
}, async () => {
  await using server = new KillableServer({ modelUrl: model.url });
  const prompts = ['older', 'killer', 'younger'].map((gate) => script([{ gate, text: `By ${gate}.` }]));
  const [older, killer, younger] = prompts.map((prompt) => {
    const asked = () => model.requests.filter(({ scriptId }) => prompt.includes(`id=${scriptId} `)).length;
    return {
      asked,
      askedTimes: (times: number) => waitFor('the model to be asked', () => asked() === times),
    };
  }) as [Asked, Asked, Asked];
  await server.start();
  const runs: string[] = [];
  for (const prompt of prompts) runs.push(await server.create(prompt));

  // Nobody can tell yet which of the three it was.
  for (const deaths of [1, 2]) {
    for (const run of [older, killer, younger]) await run.askedTimes(deaths);
    await server.killAndStart();
  }
  // From here on each has to show by itself that it makes progress.
  await older.askedTimes(3);
  const added = await server.create(script([{ text: 'Not held up.' }]));
  expect(await server.api.finish(added)).toMatchObject({ output: 'Not held up.' });
  expect([killer.asked(), younger.asked()]).toEqual([2, 2]);
  model.open('older');
  expect(await server.api.finish(runs[0]!)).toMatchObject({ output: 'By older.' });
  for (const deaths of [3, 4, 5]) {
    await killer.askedTimes(deaths);
    await server.killAndStart();
  }
  expect(await server.api.finish(runs[1]!)).toMatchObject({
    event: 'run.failed',
    error_code: 'recovery_limit',
  });
  await younger.askedTimes(3);
  await server.killAndStart();
  // It stays failed.
  expect(await server.api.run(runs[1]!)).toMatchObject({ status: 'failed', error_code: 'recovery_limit' });
  const { frames, clean } = await server.api.stream(runs[1]!);
  expect(clean).toBe(true);
  expect(frames.filter(({ event }) => isTerminalEvent(event.event))).toHaveLength(1);
  expect(killer.asked()).toBe(5);
  await younger.askedTimes(4);
  model.open('younger');
  expect(await server.api.finish(runs[2]!)).toMatchObject({ output: 'By younger.' });
});

interface Asked {
  asked(): number;
  askedTimes(times: number): Promise<unknown>;
}

/** Starts the server again; false when its only run has ended and the server lives. */
async function diesOfItsRun(server: KillableServer, moment: Moment): Promise<boolean> {
  if (!(await server.start(moment))) return true;
  let dead = false;
  void server.process.exited().then(() => {
    dead = true;
  });
  return waitFor('the end of the server or of the run', async () => {
    if (dead) return 'dead';
    const runs = await server.api.list().then(
      ({ data }) => data,
      () => [],
    );
    return runs.some(({ status }) => status === 'failed') && 'ended';
  }).then((end) => end === 'dead');
}
