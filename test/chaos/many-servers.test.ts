/**
 * Three servers on one Postgres, and everything that can happen to them while they work on a hundred runs or two: killed, away
 * for a while, paused for longer than their leases, without their database. Every run completes, no tool call happens
 * twice, and every watcher, on any server, sees each event once.
 *
 * The events follow the progress of the runs. Random choices come from a seed, which a failure prints; CHAOS_SEED
 * repeats it.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { expect, test } from 'vitest';
import { startPostgres } from '../../packages/server/src/journal/postgres/testing/start-postgres.ts';
import { markedSleep, processesWith } from '../e2e/server-with-model.ts';
import { type Step, startModelServer } from '../support/model-server.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { waitFor } from '../support/wait-for.ts';
import { KillableServer } from './killable-server.ts';
import { ofKind } from './marked-run.ts';
import { type Marking, WatchedRun } from './watched-run.ts';

const RUNS = process.env.SOAK === 'full' ? 200 : 80;
/** More than the servers work on at once, so that some wait in the queue and new ones are created all the time. */
const CLIENTS = 40;
/** As long as a busy machine may take to renew one. */
const LEASE_SECONDS = '5';
/** Half a minute on a quiet machine; runs that have not ended by then are reported. */
const RUNS_LIMIT_MS = 420_000;
const TEST_LIMIT_MS = RUNS_LIMIT_MS + 60_000;
/** For what takes a moment, and longer on a busy machine. */
const WAIT_MS = 60_000;

const stepsOf = (marking: Marking): Step[] => [
  { text: 'I begin. ', chunks: 3, delayMs: 25, tools: [marking('m1'), marking('m2')] },
  { text: 'I go on. ', chunks: 2, delayMs: 25, tools: [marking('m3', '; sleep 0.1')] },
  { text: 'That was all.' },
];

test(`${RUNS} runs on three servers end once, whatever happens to them`, {
  timeout: TEST_LIMIT_MS,
  tags: ['soak'],
}, async () => {
  const seed = Number(process.env.CHAOS_SEED ?? Math.floor(Math.random() * 2 ** 32));
  const random = new SeededRandom(seed);
  const story: string[] = [];
  const startedAt = performance.now();
  const tell = (what: string) => story.push(`${Math.round(performance.now() - startedAt)} ms: ${what}`);

  await using resources = new AsyncDisposableStack();
  const postgres = await startPostgres();
  resources.defer(() => postgres.stop());
  const model = resources.use(await startModelServer());
  const marksDir = mkdtempSync(join(tmpdir(), 'talaria-marks-'));
  resources.defer(() => rmSync(marksDir, { recursive: true }));
  const url = await postgres.createDatabase();
  const servers = Array.from({ length: 3 }, () => {
    const store = { TALARIA_DATABASE_URL: url };
    const env = { TALARIA_LEASE_SECONDS: LEASE_SECONDS, TALARIA_SANDBOX_ISOLATION: 'none' };
    return resources.use(new KillableServer({ modelUrl: model.url, store, env }));
  });
  await Promise.all(servers.map((server) => server.start()));
  const nameOf = (server: KillableServer) => `server ${servers.indexOf(server) + 1}`;

  const runs: WatchedRun[] = [];
  let ended = 0;
  let failure: unknown;
  /** Watched through two servers; over all runs every pair occurs. */
  const begin = (steps: (marking: Marking) => Step[]): WatchedRun => {
    const i = runs.length;
    const run = new WatchedRun({
      key: `run-${i}`,
      steps,
      marksDir,
      servers,
      watched: [servers[i % 3]!, servers[(i + 1) % 3]!],
      pick: (up) => random.pick(up),
    });
    runs.push(run);
    return run;
  };
  const client = async (): Promise<void> => {
    while (runs.length < RUNS && failure === undefined) {
      await begin(stepsOf).ended;
      ended += 1;
    }
  };
  const reached = (part: number) =>
    waitFor(
      `${part * RUNS} runs to end`,
      () => {
        if (failure !== undefined) throw failure;
        return ended >= part * RUNS;
      },
      RUNS_LIMIT_MS,
    );
  /** The server that works on the run, when each of its calls has left its mark. */
  const atWork = (run: WatchedRun, calls: number) =>
    waitFor('the calls to begin', () => run.marks.length === calls && run.owner, WAIT_MS);

  const killAndStart = async (): Promise<void> => {
    const victim = random.pick(servers);
    tell(`${nameOf(victim)} is killed and started`);
    await victim.killAndStart();
  };

  const killForAWhile = async (): Promise<void> => {
    const { command, marker } = markedSleep();
    const run = begin((marking) => [
      { tools: [marking('cut', `; ${command}`)] },
      { text: 'It was cut off.' },
    ]);
    const victim = await atWork(run, 1);
    tell(`${nameOf(victim)} is killed`);
    await victim.kill();
    await run.ended;
    tell('another server has taken over');
    await victim.start();
    expect(processesWith(marker)).toEqual([]);
  };

  const pausePastLease = async (): Promise<void> => {
    const { command, marker } = markedSleep();
    const run = begin((marking) => [
      {
        tools: [
          marking('endless', `; ${command}`),
          marking('slow', '; while [ ! -e go ]; do sleep 0.1; done; touch gone'),
        ],
      },
      { text: 'Both were cut off.' },
    ]);
    const victim = await atWork(run, 2);
    const workspace = run.workspaceOn(victim);
    tell(`${nameOf(victim)} is paused`);
    process.kill(victim.process.pid, 'SIGSTOP');
    try {
      await run.ended;
      tell('another server has taken over');
      // One of the calls ends meanwhile, and the server will first try to append its outcome.
      writeFileSync(join(workspace, 'go'), '');
      await waitFor('the slow call to end', () => existsSync(join(workspace, 'gone')), WAIT_MS);
      expect(processesWith(marker)).not.toEqual([]);
    } finally {
      process.kill(victim.process.pid, 'SIGCONT');
    }
    await waitFor('the endless call to be ended', () => processesWith(marker).length === 0, WAIT_MS);
    const refused = new RegExp(
      `${run.runId}.*the lease on the run is lost|the lease on the run is lost.*${run.runId}`,
    );
    await waitFor('the late append to be refused', () => refused.test(victim.process.errors), WAIT_MS);
    tell(`${nameOf(victim)} goes on`);
    expect(ofKind(run.seen, 'tool.completed').map(({ error }) => error)).toEqual([true, true]);
  };

  const restartDatabase = async (): Promise<void> => {
    tell('the database is stopped');
    await postgres.restart(async () => {});
    tell('the database is back');
  };

  // Four deaths and pauses: fewer than the recovery limit of a run, whichever they hit.
  const happenings: [number, () => Promise<void>][] = [
    [0.1, killAndStart],
    [0.3, killForAWhile],
    [0.5, pausePastLease],
    [0.7, restartDatabase],
    [0.85, killAndStart],
  ];
  const happen = async (): Promise<void> => {
    for (const [part, happening] of happenings) {
      await reached(part);
      await happening();
    }
  };

  try {
    const work = async () => {
      await Promise.all([happen(), ...Array.from({ length: CLIENTS }, client)]);
      await Promise.all(runs.map(({ watched }) => watched));
    };
    await inTime(work(), () => `Unfinished: ${runs.flatMap((run) => run.unfinished ?? []).join('\n')}`);
    tell('every watcher has seen the end of its run');
    for (const run of runs) run.check();
    await checkLogs(url, runs.length);
  } catch (error) {
    failure = error;
    const { message } = error as Error;
    const logs = servers.map((server) => `${nameOf(server)}:\n${server.process.errors.slice(-2_000)}`);
    throw new Error([`CHAOS_SEED=${seed}: ${message}`, ...story, ...logs].join('\n'), { cause: error });
  }
});

async function inTime(work: Promise<void>, why: () => string): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(why())), RUNS_LIMIT_MS);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** No log has a gap or a second end, and each claim of a run had a higher epoch than the one before. */
async function checkLogs(url: string, runs: number): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const { rows } = await client.query<{ run_id: string; gaps: number; ends: number; epochs: number[] }>(
      `SELECT run_id, abs(next_pos - count(*)::int) + abs(next_pos - 1 - max(pos)) AS gaps,
              (count(*) FILTER (WHERE event IN ('run.completed', 'run.failed', 'run.cancelled')))::int AS ends,
              array_agg((private::json ->> 'epoch')::int ORDER BY pos) FILTER (WHERE event = 'run.claimed') AS epochs
         FROM runs JOIN records ON run = n GROUP BY n`,
    );
    expect(rows).toHaveLength(runs);
    for (const { run_id, gaps, ends, epochs } of rows) {
      const grown = epochs.map((_, index) => index + 1);
      expect({ run_id, gaps, ends, epochs }).toEqual({ run_id, gaps: 0, ends: 1, epochs: grown });
    }
  } finally {
    await client.end();
  }
}
