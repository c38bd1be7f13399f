/**
 * A server that stalls, or is shut down normally, loses as little as one that is killed. e2e/lifecycle.test.ts and
 * e2e/rolling-restart.test.ts show the shutdown in short.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { markedSleep, processesWith, terminal } from '../e2e/server-with-model.ts';
import { type ModelServer, script, startModelServer } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { KillableServer } from './killable-server.ts';
import { MarkedRun, marksOf, ofKind } from './marked-run.ts';

const SLOW = { timeout: 180_000 };

let model: ModelServer;
beforeAll(async () => {
  model = await startModelServer();
});
afterAll(() => model.close());

test('a server that stalls for longer than its leases keeps its runs and repeats nothing', SLOW, async () => {
  await using server = new KillableServer({ modelUrl: model.url, env: { TALARIA_LEASE_SECONDS: '1' } });
  await server.start();
  const steps = [{ tools: [terminal('echo mark >> marks; sleep 2')] }, { text: 'Still here.' }];
  const runId = await server.create(script(steps));
  await waitFor('the tool to run', () => marksOf(server, runId).length > 0);
  process.kill(server.process.pid, 'SIGSTOP');
  const stoppedAt = Date.now();
  await waitFor('the leases to end', () => Date.now() > stoppedAt + 3_000);
  process.kill(server.process.pid, 'SIGCONT');
  expect(await server.api.finish(runId)).toMatchObject({ event: 'run.completed', output: 'Still here.' });
  const events = (await server.api.stream(runId)).frames.map(({ event }) => event);
  expect(ofKind(events, 'run.resumed')).toEqual([]);
  expect(ofKind(events, 'tool.completed')).toMatchObject([{ error: false, exit_code: 0 }]);
  expect(marksOf(server, runId)).toEqual(['mark']);
});

describe.concurrent('a server that is told to stop', { tags: ['soak'] }, () => {
  const title = '%f into a run lets its tools end, and the next one continues it';
  test.each([0.2, 0.5, 0.8])(title, SLOW, isContinued);

  async function isContinued(part: number): Promise<void> {
    await using server = new KillableServer({ modelUrl: model.url });
    await server.start();
    const run = new MarkedRun(server, model);
    await waitFor('the run to get there', () => run.seen.length >= part * EVENTS);
    expect(await server.process.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    await server.start();
    await run.checkPoll();
    expect(await run.check()).toEqual([]);
  }

  test('and may not wait cuts a tool off, which is reported and not repeated', SLOW, async () => {
    await using server = new KillableServer({ modelUrl: model.url, env: { TALARIA_DRAIN_SECONDS: '0' } });
    await server.start();
    const { command, marker } = markedSleep();
    const runId = await server.create(script([{ tools: [terminal(command)] }, { text: 'I see.' }]));
    await waitFor('the tool to run', () => processesWith(marker).length > 0);
    expect(await server.process.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(processesWith(marker)).toEqual([]);
    await server.start();
    expect(await server.api.finish(runId)).toMatchObject({ event: 'run.completed', output: 'I see.' });
    const events = (await server.api.stream(runId)).frames.map(({ event }) => event);
    expect(ofKind(events, 'tool.started')).toHaveLength(1);
    expect(ofKind(events, 'tool.completed')).toMatchObject([{ error: true }]);
    expect(ofKind(events, 'tool.completed')[0]?.preview).toMatch(/interrupted/);
  });
});

/** The minimum of an undisturbed run: a busy machine collects more text into one event. */
const EVENTS = 21;
