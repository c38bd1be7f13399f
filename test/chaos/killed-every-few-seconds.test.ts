/**
 * A server that is killed every few seconds while clients keep it busy: no event is lost or doubled, no tool runs twice,
 * every run ends once. `SOAK=full` does this for ten minutes.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { isTerminalEvent } from '@talaria/protocol';
import { expect, test } from 'vitest';
import { terminal } from '../e2e/server-with-model.ts';
import { script, startModelServer } from '../support/model-server.ts';
import { KillableServer } from './killable-server.ts';
import { marksOf, ofKind, settled } from './marked-run.ts';

const DURATION_MS = process.env.SOAK === 'full' ? 600_000 : 20_000;
const CLIENTS = 6;
/** Long enough for a start, and for some runs to end. */
const PAUSE_MS = 1_500;

test('runs in flight survive a kill every few seconds', {
  tags: ['soak'],
  timeout: DURATION_MS + 180_000,
}, async () => {
  await using model = await startModelServer();
  await using server = new KillableServer({ modelUrl: model.url });
  await server.start();
  let over = false;
  const clients = Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      let runs = 0;
      for (; !over; runs += 1) await watchedRun(server);
      return runs;
    }),
  ).finally(() => {
    over = true;
  });
  clients.catch(() => {});
  const endsAt = performance.now() + DURATION_MS;
  while (!over && performance.now() < endsAt) {
    await pause(PAUSE_MS * (1 + Math.random()));
    await server.killAndStart();
  }
  over = true;
  for (const runs of await clients) expect(runs).toBeGreaterThan(0);
});

/** From its creation to its end, watched all the time, and checked. */
async function watchedRun(server: KillableServer): Promise<void> {
  const runId = await server.create(
    script([
      { text: 'I leave a mark. ', chunks: 3, delayMs: 30, tools: [terminal('echo mark >> marks')] },
      { text: 'Done.' },
    ]),
  );
  const seen = await server.follow(runId);
  expect(seen.map(({ seq }) => seq)).toEqual(seen.map((_, index) => index));
  expect(seen.filter(({ event }) => isTerminalEvent(event))).toHaveLength(1);
  expect(seen.at(-1)).toMatchObject({ event: 'run.completed', output: 'Done.' });
  expect(settled(seen).text).toBe('I leave a mark. Done.');
  expect(ofKind(seen, 'tool.started')).toHaveLength(1);
  const [outcome, ...others] = ofKind(seen, 'tool.completed');
  expect(others).toEqual([]);
  // A call that was interrupted may have left its mark, but not twice.
  const marks = marksOf(server, runId);
  expect(outcome?.error === true ? [[], ['mark']] : [['mark']]).toContainEqual(marks);
  const replay = await server.untilAnswered(
    (api) => api.stream(runId),
    ({ clean }) => clean,
  );
  expect(replay.frames.map(({ event }) => event)).toEqual(seen);
}
