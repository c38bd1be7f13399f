/** A run that takes the server down with it does so a bounded number of times. */
import { isTerminalEvent } from '@talaria/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ModelServer, script, startModelServer } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { KillableServer, type Moment } from './killable-server.ts';

const SLOW = { timeout: 120_000 };
const STARTS_MAX = 10;

let model: ModelServer;
beforeAll(async () => {
  model = await startModelServer();
});
afterAll(() => model.close());

describe.concurrent('a run that kills the server at each attempt', () => {
  test.each<Moment>(['run.after-claim', 'step.before-model'])(
    'at %s ends as failed',
    SLOW,
    async (moment) => {
      await using server = new KillableServer({ modelUrl: model.url });
      await server.start(moment);
      const runId = await server.create(script([{ text: 'Never said.' }]));
      await server.diesByItself(moment);

      let deaths = 1;
      while (deaths < STARTS_MAX && (await diesOf(runId, server, moment))) deaths += 1;
      expect(deaths).toBe(5);
      expect(await server.api.run(runId)).toMatchObject({ status: 'failed', error_code: 'recovery_limit' });
      await server.killAndStart();
      const { frames, clean } = await server.api.stream(runId);
      expect(clean).toBe(true);
      expect(frames.filter(({ event }) => isTerminalEvent(event.event))).toHaveLength(1);
      expect(frames.at(-1)?.event).toMatchObject({ event: 'run.failed', error_code: 'recovery_limit' });
      // The others go on.
      const other = await server.create(script([{ text: 'Alive.' }]));
      expect(await server.api.finish(other)).toMatchObject({ event: 'run.completed', output: 'Alive.' });
    },
  );
});

/** Starts the server once more; false when the run has ended and the server lives. */
async function diesOf(runId: string, server: KillableServer, moment: Moment): Promise<boolean> {
  if (!(await server.start(moment))) return true;
  let dead = false;
  void server.process.exited().then(() => {
    dead = true;
  });
  return waitFor(
    'the end of the server or of the run',
    async () => {
      if (dead) return 'dead';
      const { status } = await server.api.run(runId).catch(() => ({ status: 'unknown' }));
      return status === 'failed' && 'ended';
    },
    30_000,
  ).then((end) => end === 'dead');
}
