/** A server that was killed with many runs in progress and more in the queue finishes all of them. */
import { isTerminalEvent, type RunEvent } from '@talaria/protocol';
import { expect, test } from 'vitest';
import { terminal } from '../e2e/server-with-model.ts';
import { script, startModelServer } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { KillableServer } from './killable-server.ts';
import { marksOf, ofKind } from './marked-run.ts';

const title = '%i unfinished runs in each of %i sessions all end after a kill, in their order';
test.each([[2, 3]])(title, { timeout: 120_000 }, allEnd);
test.each([[5, 10]])(title, { timeout: 120_000, tags: ['soak'] }, allEnd);

/** The server works on as many runs at a time as there are sessions. */
async function allEnd(turnCount: number, sessions: number): Promise<void> {
  await using model = await startModelServer();
  const env = { TALARIA_MAX_CONCURRENT_RUNS: `${sessions}` };
  await using server = new KillableServer({ modelUrl: model.url, env });
  await server.start();
  const steps = [
    { text: 'I leave a mark.', tools: [terminal('echo mark >> marks')] },
    { gate: 'hold', text: 'Done.' },
  ];
  const runs: { runId: string; session: string }[] = [];
  for (let turn = 0; turn < turnCount; turn += 1) {
    for (let n = 0; n < sessions; n += 1) {
      const session = `session-${n}`;
      runs.push({ runId: await server.api.create(script(steps), { session_id: session }), session });
    }
  }
  // The first of each session is in its second step; the others wait for it.
  await waitFor('every session to be at work', () => held(model.requests) === sessions);
  const statuses = (await server.api.list('?limit=200')).data.map(({ status }) => status);
  expect(statuses.filter((status) => status === 'running')).toHaveLength(sessions);
  expect(statuses.filter((status) => status === 'started')).toHaveLength(sessions * (turnCount - 1));

  await server.kill();
  model.open('hold');
  await server.start();
  const stories = new Map<string, RunEvent[]>();
  await Promise.all(
    runs.map(async ({ runId }) => {
      const { frames, clean } = await server.api.stream(runId);
      expect(clean).toBe(true);
      stories.set(
        runId,
        frames.map(({ event }) => event),
      );
    }),
  );

  for (const [i, { runId }] of runs.entries()) {
    const events = stories.get(runId)!;
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
    expect(events.filter(({ event }) => isTerminalEvent(event))).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({ event: 'run.completed', output: 'Done.' });
    expect(ofKind(events, 'tool.completed').map(({ error }) => error)).toEqual([false]);
    // Each turn of a session adds its own to those of the turns before.
    expect(marksOf(server, runId)).toEqual(Array(Math.floor(i / sessions) + 1).fill('mark'));
  }
  for (let n = 0; n < sessions; n += 1) {
    const turns = runs
      .filter(({ session }) => session === `session-${n}`)
      .map(({ runId }) => stories.get(runId)!);
    for (const [turn, events] of turns.entries()) {
      if (turn === 0) continue;
      expect(events[0]!.timestamp).toBeGreaterThanOrEqual(turns[turn - 1]!.at(-1)!.timestamp);
    }
  }
}

function held(requests: readonly { step: number; ended: boolean }[]): number {
  return requests.filter(({ step, ended }) => step === 1 && !ended).length;
}
