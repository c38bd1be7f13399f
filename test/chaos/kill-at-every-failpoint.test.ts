/**
 * A run survives `kill -9` at any moment: each event once and in order, no tool twice, one end. The moments are
 * the failpoints, which are between an effect and its record. The process kills itself there; a failpoint that is never
 * passed fails the test.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FAILPOINTS } from '../../packages/server/src/basics/failpoints.ts';
import { type ModelServer, startModelServer } from '../support/model-server.ts';
import { isOnPostgres } from '../support/store.ts';
import { KillableServer, type Moment } from './killable-server.ts';
import { MarkedRun } from './marked-run.ts';

const TEST_LIMIT_MS = 180_000;
/** How often a run is killed at random times in each third of it. */
const TRIES = process.env.SOAK === 'full' ? 10 : 1;

/**
 * The marks of the calls whose outcome is unknown afterwards: exactly these, at least these, at least one, or any,
 * depending on timing.
 */
type Interrupted = string[] | { atLeast: string[] } | 'some' | 'any';

const MOMENTS: [Moment, Interrupted][] = [
  ['run.after-create', []],
  ['run.after-claim', []],
  ['step.before-model@3', []],
  ['step.after-delta', []],
  ['step.after-delta@4', []],
  ['step.before-append@2', []],
  ['step.after-append', []],
  // The fourth step is recorded with the end of the run.
  ['step.after-append@3', []],
  ['tool.before-intent', []],
  ['tool.before-intent@2', []],
  ['tool.after-intent', ['m1', 'm2']],
  // One call of the second step runs; the gated one has not begun.
  ['tool.after-intent@2', ['m3']],
  ['tool.after-effect', 'some'],
  ['tool.after-effect@4', 'some'],
  ['tool.after-outcome', 'any'],
  ['tool.after-outcome@6', []],
  ['approval.before-request', 'any'],
  ['approval.after-request', 'any'],
  ['approval.after-answer', 'any'],
  ['approval.after-intent', { atLeast: ['m4'] }],
  ['run.before-terminal', []],
  ['run.after-terminal', []],
  ['journal.before-commit', 'any'],
  ['journal.before-commit@14', 'any'],
  ['journal.after-commit@5', 'any'],
  ['journal.after-commit@12', 'any'],
];

let model: ModelServer;
beforeAll(async () => {
  model = await startModelServer();
});
afterAll(() => model.close());

test('every failpoint that a run passes is among the moments', () => {
  const names = MOMENTS.map(([moment]) => moment.split('@')[0]);
  // Other tests cover the rest. What a job passes before it has a run: jobs-survive-kill.test.ts. What follows its end:
  // e2e/webhooks.test.ts. What a checkpoint passes: chaos/checkpoints-survive-kill.test.ts. What the move of a store
  // passes: e2e/migrate-store.test.ts. What a run with client tools passes: client-tools-survive-kill.test.ts. What a run
  // that begins with files passes: setup-survives-kill.test.ts. What a finished run passes: eviction-survives-kill.test.ts.
  // What `talaria apply` passes: cli/apply-survives-kill.test.ts.
  const ofRuns = FAILPOINTS.filter(
    (name) => !/^(job|webhook|eviction|checkpoint|blob|file|move|client-tool|setup|apply)\./.test(name),
  );
  expect([...new Set(names)].sort()).toEqual(ofRuns.sort());
});

test('an undisturbed run shows its text, leaves each mark once and is never resumed', async () => {
  const { run, interrupted } = await undisturbed();
  expect(interrupted).toEqual([]);
  expect(run.resumed).toEqual([]);
});

async function undisturbed() {
  await using server = new KillableServer({ modelUrl: model.url });
  await server.start();
  const startedAt = performance.now();
  const run = new MarkedRun(server, model);
  await run.ended;
  const tookMs = performance.now() - startedAt;
  return { run, tookMs, interrupted: await run.check() };
}

/**
 * A later passage of a failpoint is another place in the run, but the same one for the store, which the first has
 * tested.
 */
const isFirstPassage = ([moment]: (typeof MOMENTS)[number], at: number): boolean =>
  MOMENTS.findIndex(([other]) => other.split('@')[0] === moment.split('@')[0]) === at;

async function survives(moment: Moment, interrupted: Interrupted): Promise<void> {
  await using server = new KillableServer({ modelUrl: model.url });
  expect(await server.start(moment)).toBe(true);
  const run = new MarkedRun(server, model);
  await server.diesByItself(moment);
  await server.start();
  await run.checkPoll();
  expectInterrupted(await run.check(), interrupted);
  // Not when the run had not begun, or was over.
  if (!/^(run\.after-create|run\.after-terminal|journal)/.test(moment)) expect(run.resumed).toHaveLength(1);
}

/**
 * In each kind of work. `npm test` kills a server at these, the soak tests at all. In create-is-retried.test.ts it also kills
 * one at a commit.
 */
const FEW: Moment[] = ['step.after-delta', 'tool.after-effect', 'approval.after-answer'];

describe.concurrent('killed once', { timeout: TEST_LIMIT_MS }, () => {
  for (const [at, [moment, interrupted]] of MOMENTS.entries()) {
    if (isOnPostgres() && !isFirstPassage(MOMENTS[at]!, at)) continue;
    const tags = FEW.includes(moment) ? [] : ['soak'];
    test(`at ${moment}`, { tags }, () => survives(moment, interrupted));
  }
});

const TWICE: [Moment, Moment, Interrupted][] = [
  ['step.after-delta@2', 'step.after-delta', []],
  ['step.before-append@3', 'run.after-claim', []],
  ['tool.after-intent', 'journal.after-commit@2', ['m1', 'm2']],
  ['tool.after-effect', 'step.before-model', 'some'],
  ['approval.after-request', 'approval.after-answer', 'any'],
];

describe.concurrent('killed again while it recovers', { tags: ['soak'] }, () => {
  test.each(TWICE)('at %s, then at %s', { timeout: TEST_LIMIT_MS }, async (first, second, interrupted) => {
    await using server = new KillableServer({ modelUrl: model.url });
    expect(await server.start(first)).toBe(true);
    const run = new MarkedRun(server, model);
    await server.diesByItself(first);
    await server.start(second);
    await server.diesByItself(second);
    await server.start();
    await run.checkPoll();
    expectInterrupted(await run.check(), interrupted);
  });
});

// many-servers.test.ts does this on Postgres, with more runs.
if (!isOnPostgres())
  describe.concurrent('killed from outside', { tags: ['soak'] }, () => {
    let undisturbedMs: number;
    beforeAll(async () => {
      undisturbedMs = (await undisturbed()).tookMs;
    });

    test.each([0, 1, 2])(
      'at a random time in third %i of the run',
      { timeout: TEST_LIMIT_MS, repeats: TRIES - 1 },
      async (third) => {
        await using server = new KillableServer({ modelUrl: model.url });
        await server.start();
        const run = new MarkedRun(server, model);
        await pause(((third + Math.random()) / 3) * undisturbedMs);
        await server.killAndStart();
        await run.checkPoll();
        await run.check();
      },
    );

    test('three times at random', { timeout: TEST_LIMIT_MS, repeats: TRIES - 1 }, async () => {
      await using server = new KillableServer({ modelUrl: model.url });
      await server.start();
      const run = new MarkedRun(server, model);
      for (let kill = 0; kill < 3; kill += 1) {
        await pause((Math.random() / 3) * undisturbedMs);
        await server.killAndStart();
        await run.checkPoll();
      }
      await run.check();
    });
  });

function expectInterrupted(interrupted: string[], expected: Interrupted): void {
  if (expected === 'any') return;
  if (expected === 'some') expect(interrupted).not.toEqual([]);
  else if (Array.isArray(expected)) expect(interrupted).toEqual(expected);
  else expect(interrupted).toEqual(expect.arrayContaining(expected.atLeast));
}
