/**
 * A run that waits for its client survives `kill -9` at any moment: each call is answered once and has one outcome, no
 * server tool runs twice, and a thousand waiting runs hold no worker.
 */
import type { RunEvent } from '@talaria/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { terminal } from '../e2e/server-with-model.ts';
import type { Api } from '../support/api.ts';
import { type ModelServer, type ScriptedTool, script, startModelServer } from '../support/model-server.ts';
import { isOnPostgres } from '../support/store.ts';
import { waitFor } from '../support/wait-for.ts';
import { KillableServer, type Moment } from './killable-server.ts';
import { marksOf, ofKind } from './marked-run.ts';

const TEST_LIMIT_MS = 180_000;
/** The server works on fewer at a time: WORKERS. */
const SOME = 6;
const WORKERS = 3;
/** A server on Postgres takes several times as long for each, and parks them in the same way. */
const MANY = isOnPostgres() ? 200 : 1_000;

const tools = [{ type: 'function', function: { name: 'lookup', parameters: { type: 'object' } } }];
const lookup = (word: string): ScriptedTool => ({ name: 'lookup', arguments: { word } });

const STEPS = [
  { text: 'I look it up. ', tools: [lookup('one'), terminal('echo m1 >> marks'), lookup('two')] },
  { text: 'And again. ', tools: [lookup('three')] },
  { text: 'Done.' },
];

let model: ModelServer;
beforeAll(async () => {
  model = await startModelServer();
});
afterAll(() => model.close());

/** Answers whatever the run waits for, like a careful client: again until the answer is confirmed. */
function answering(server: KillableServer, runId: string) {
  const answers: Promise<unknown>[] = [];
  const onEvent = (event: RunEvent): void => {
    if (event.event !== 'run.waiting') return;
    const outputs = event.calls.map(({ tool_call_id, arguments: { word } }) => ({
      tool_call_id,
      output: `found ${word}`,
    }));
    answers.push(
      server.untilAnswered(async (api) => {
        const { status, body } = await api.post(`/v1/runs/${runId}/tool_outputs`, { outputs });
        expect(status, JSON.stringify(body)).toBe(200);
      }),
    );
  };
  return { onEvent, all: () => Promise.all(answers) };
}

const MOMENTS: Moment[] = [
  'client-tool.before-waiting',
  'client-tool.after-waiting',
  'client-tool.after-waiting@2',
  'client-tool.before-outcome',
  'client-tool.before-outcome@2',
  'tool.after-intent',
  'run.after-claim@2',
  'journal.before-commit@9',
  'journal.after-commit@9',
];

describe.concurrent('killed', { timeout: TEST_LIMIT_MS, tags: ['soak'] }, () => {
  test.each(MOMENTS)('at %s', async (moment) => {
    await using server = new KillableServer({ modelUrl: model.url });
    expect(await server.start(moment)).toBe(true);
    await survives(server, moment);
  });
});

/** A server that dies at this moment loses nothing of a run that passes it. */
async function survives(server: KillableServer, moment: Moment): Promise<void> {
  const prompt = script(STEPS);
  const runId = await server.create(prompt, { tools });
  const client = answering(server, runId);
  const following = server.follow(runId, client.onEvent);
  await server.diesByItself(moment);
  await server.start();
  const seen = await following;
  await client.all();

  expect(seen.at(-1)).toMatchObject({ event: 'run.completed', output: 'Done.' });
  const calls = ofKind(seen, 'tool.started').filter(({ client }) => client === true);
  expect(calls).toHaveLength(3);
  const ids = ofKind(seen, 'tool.completed').map(({ tool_call_id }) => tool_call_id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toHaveLength(4);
  expect(marksOf(server, runId).filter((mark) => mark === 'm1').length).toBeLessThanOrEqual(1);
  const scriptId = /id=(\S+)/.exec(prompt)![1];
  const last = model.requests.findLast((request) => request.scriptId === scriptId)!;
  const told = JSON.stringify(last.body.messages);
  for (const word of ['one', 'two', 'three']) expect(told).toContain(`found ${word}`);
}

/** Right before the outcome of an answered call is recorded. The soak tests have more. */
const MOMENT = 'client-tool.before-outcome';

test(
  `${SOME} runs that wait hold no worker, and all complete after a kill, like the one that was at ${MOMENT}`,
  { timeout: TEST_LIMIT_MS },
  () => waitWithoutWorker(SOME, { TALARIA_MAX_CONCURRENT_RUNS: `${WORKERS}` }),
);

test(`${MANY} runs that wait hold no worker either`, { timeout: 600_000, tags: ['soak'] }, () =>
  waitWithoutWorker(MANY),
);

async function waitWithoutWorker(many: number, env: Record<string, string> = {}): Promise<void> {
  await using server = new KillableServer({
    modelUrl: model.url,
    env: { TALARIA_MAX_QUEUED_RUNS: `${many}`, ...env },
  });
  await server.start(MOMENT);
  const steps = [{ tools: [lookup('it')] }, { text: 'Found.' }];
  const runIds: string[] = [];
  while (runIds.length < many) {
    const length = Math.min(50, many - runIds.length);
    const some = Array.from({ length }, () => server.api.create(script(steps), { tools }));
    runIds.push(...(await Promise.all(some)));
  }
  await waitFor(
    'all of them to wait',
    async () => (await countOf(server.api, 'waiting_for_tool')) === many,
    TEST_LIMIT_MS,
  );
  await waitFor('every worker to let go', async () => {
    const { queue } = (await server.api.get<{ queue: object }>('/health/detailed')).body;
    return JSON.stringify(queue).includes('"queued":0') && JSON.stringify(queue).includes('"leased":0');
  });
  // Nobody has to wait for them.
  const other = await server.api.create(script([{ text: 'Me first.' }]));
  expect((await server.follow(other)).at(-1)).toMatchObject({ output: 'Me first.' });

  await survives(server, MOMENT);
  expect(await countOf(server.api, 'waiting_for_tool')).toBe(many);
  for (let n = 0; n < many; n += 50) {
    await Promise.all(
      runIds.slice(n, n + 50).map(async (runId) => {
        const { pending_calls: calls = [] } = await server.api.run(runId);
        const outputs = calls.map(({ tool_call_id }) => ({ tool_call_id, output: 'here' }));
        expect((await server.api.post(`/v1/runs/${runId}/tool_outputs`, { outputs })).status).toBe(200);
      }),
    );
  }
  await waitFor(
    'all of them to end',
    async () => (await countOf(server.api, 'completed')) === many + 2,
    TEST_LIMIT_MS,
  );
}

async function countOf(api: Api, status: string): Promise<number> {
  let count = 0;
  for (let after = ''; ; ) {
    const page = await api.list(`?status=${status}&limit=200${after}`);
    count += page.data.length;
    if (page.next_cursor === null) return count;
    after = `&after=${page.next_cursor}`;
  }
}
