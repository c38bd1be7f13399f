/** A create that got no answer because the server died is retried with its key and starts one run. */
import { isTerminalEvent, type RunCreated } from '@talaria/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isConnectionLoss } from '../support/api.ts';
import { type ModelServer, script, startModelServer } from '../support/model-server.ts';
import { KillableServer, type Moment } from './killable-server.ts';

const SLOW = { timeout: 180_000 };

let model: ModelServer;
beforeAll(async () => {
  model = await startModelServer();
});
afterAll(() => model.close());

/** Where the server dies of a create, and how many runs there are then. */
const MOMENTS: [Moment, number][] = [
  ['journal.before-commit', 0],
  ['run.after-create', 1],
];
const MORE_MOMENTS: [Moment, number][] = [['journal.after-commit', 1]];

describe.concurrent('a create without an answer', () => {
  test('killed before its commit, and the next one after it, is one run after a retry', SLOW, () =>
    isOneRun(MOMENTS),
  );
  test.each(MORE_MOMENTS)('killed at %s is one run after a retry', { ...SLOW, tags: ['soak'] }, (...moment) =>
    isOneRun([moment]),
  );

  /** The client retries after each death. */
  async function isOneRun(moments: readonly [Moment, number][]): Promise<void> {
    await using server = new KillableServer({ modelUrl: model.url });
    const input = script([{ text: 'Once.' }]);
    const create = () =>
      server.api.post<RunCreated>('/v1/runs', { input }, { 'idempotency-key': 'the-only-one' });
    const count = async () => (await server.api.list()).data.length;
    await server.start(moments[0]![0]);
    for (const [i, [moment, left]] of moments.entries()) {
      const lost = await create().catch((error: unknown) => error);
      expect(isConnectionLoss(lost)).toBe(true);
      await server.diesByItself(moment);
      await server.start(moments[i + 1]?.[0]);
      expect(await count()).toBe(left);
    }

    const answers = await Promise.all([create(), create(), create()]);
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
    expect(answers.filter(({ body }) => !body.replayed)).toHaveLength(0);
    const ids = new Set(answers.map(({ body }) => body.run_id));
    expect(ids.size).toBe(1);

    const runId = [...ids][0]!;
    expect(await server.api.finish(runId)).toMatchObject({ event: 'run.completed', output: 'Once.' });
    expect((await server.api.list()).data.map((run) => run.run_id)).toEqual([runId]);
    const { frames } = await server.api.stream(runId);
    expect(frames.filter(({ event }) => isTerminalEvent(event.event))).toHaveLength(1);
  }
});
