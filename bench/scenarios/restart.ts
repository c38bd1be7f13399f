/**
 * Restart → first resumed run: from spawning the command on a data directory with 1 000 unfinished runs to receiving
 * the event `run.resumed` of the oldest. Each round starts on a fresh copy of the same directory.
 */
import { cpSync } from 'node:fs';
import { Crowd } from '../client/crowd.ts';
import type { Row } from '../rows.ts';
import type { Stage } from '../stage.ts';
import { alternate } from '../statistics.ts';
import { timeBareStart } from './bare-start.ts';
import { fillCompileCache } from './compile-cache.ts';
import { delta, openPrepared } from './prepared-runs.ts';

const ROUNDS = 7;
const UNFINISHED = 1_000;
const SHOWN = 3;

export async function restart(stage: Stage): Promise<Row[]> {
  const model = await stage.process('processes/model.ts');
  const prepared = stage.directory();
  const oldest = await prepare(prepared);
  const sides = {
    floor: async () => ({ resumedMs: await timeBareStart(), listeningMs: 0 }),
    ours: async () => {
      await using own = stage.nested();
      const dataDir = own.directory();
      cpSync(prepared, dataDir, { recursive: true });
      const startedAt = performance.now();
      const server = await own.server({ modelUrl: `http://127.0.0.1:${model.port}/v1`, dataDir });
      const listeningMs = performance.now() - startedAt;
      const path = `/v1/runs/${oldest}/events?last_event_id=${SHOWN - 1}`;
      using watcher = await Crowd.connect(Number(new URL(server.url).port), path, 1);
      await watcher.until('run.resumed');
      return { resumedMs: performance.now() - startedAt, listeningMs };
    },
  };
  await fillCompileCache(stage);
  const { ours, floor } = await alternate(ROUNDS, sides);
  const bare = { name: 'bare node:http', rounds: floor.map((round) => round.resumedMs / 1000) };
  const note = `${UNFINISHED.toLocaleString('en')} unfinished runs in the store, warm compile cache`;
  return [
    {
      what: 'restart → first resumed run',
      unit: 's',
      better: 'less',
      ours: ours.map((round) => round.resumedMs / 1000),
      floor: bare,
      note,
    },
    {
      what: 'restart → listening',
      unit: 's',
      better: 'less',
      ours: ours.map((round) => round.listeningMs / 1000),
      floor: bare,
      aim: { of: 'ours', atMost: 0.6 },
      note,
    },
  ];
}

/** Runs that were interrupted in the middle of an answer; returns the oldest. */
async function prepare(dataDir: string): Promise<string> {
  await using prepared = await openPrepared(dataDir);
  const claims = await prepared.claimedRuns(UNFINISHED);
  const shown = Array.from({ length: SHOWN }, () => delta(' some words'));
  await Promise.all(claims.map((claim) => prepared.journal.append(claim, shown)));
  return claims[0]!.runId;
}
