/**
 * How the cost of a run grows with its events: the next append, the recovery by a new owner, and a client that reads
 * everything or comes back for the rest. The events are those of an agent that works: text, a call, its outcome, the end
 * of the step.
 */

import { Progress } from '../../packages/server/src/agent/progress.ts';
import type { Claim, Journal } from '../../packages/server/src/journal/journal.ts';
import type { NewRecord } from '../../packages/server/src/journal/records.ts';
import {
  completed,
  delta,
  stepRecord,
  toolCompleted,
  toolStarted,
} from '../../packages/server/src/journal/testing/records.ts';
import { getStream } from '../client/streams.ts';
import { openPrepared } from '../scenarios/prepared-runs.ts';
import type { Stage } from '../stage.ts';
import { medianMs, type Point, type Question } from './question.ts';

const TIMES = 15;
const WORKER = 'bench';
const LEASE_MS = 3_600_000;
const TEXT = ' a few words of what a model says';

export const eventsOfARun: Question = {
  of: 'events of a run',
  sizes: [10, 100, 1_000, 10_000],
  async *measure(stage, sizes) {
    for (const size of sizes) {
      await using own = stage.nested();
      yield await measureRun(own, size);
    }
  },
};

async function measureRun(stage: Stage, size: number): Promise<Point> {
  const dataDir = stage.directory();
  const { runId, ms } = await measureJournal(dataDir, size);
  const server = await stage.server({ dataDir });
  const url = `${server.url}/v1/runs/${runId}/events`;
  const read = (query: string) => () => getStream(`${url}${query}`, 'run.completed');
  const fromEnd = `?last_event_id=${size - 1}`;
  ms['replay from the first event'] = await medianMs(TIMES, read(''));
  ms['reconnect at the last event'] = await medianMs(TIMES, read(fromEnd));
  return { size, ms };
}

async function measureJournal(dataDir: string, size: number): Promise<{ runId: string } & Pick<Point, 'ms'>> {
  await using prepared = await openPrepared(dataDir);
  const { journal } = prepared;
  const [claim] = await prepared.claimedRuns(1);
  // Enough is left for the measured appends and the end.
  await journal.append(claim!, eventsOfSteps(size - 1));
  let lease = claim!;
  const recovery = await medianMs(TIMES, async () => {
    await journal.release(lease);
    lease = await recover(journal);
  });
  const append = await medianMs(TIMES, () => journal.append(lease, [delta(TEXT)]));
  await journal.append(lease, [completed()]);
  return {
    runId: lease.runId,
    ms: { 'append one event': append, 'recover (release, claim, fold)': recovery },
  };
}

/** The next owner of a run claims it and folds its log before it works. */
async function recover(journal: Journal): Promise<Claim> {
  const [claim] = await journal.claim(WORKER, LEASE_MS, 1);
  Progress.replay(await journal.readLog(claim!.runId, -1));
  return claim!;
}

function eventsOfSteps(count: number): NewRecord[] {
  return Array.from({ length: count }, (_, i): NewRecord => {
    const callId = `call_${Math.floor(i / 4)}`;
    if (i % 4 === 0) return delta(TEXT);
    if (i % 4 === 1) {
      const call = { type: 'tool_call' as const, id: callId, tool: 'bash', arguments: '{"command":"ls"}' };
      return stepRecord([{ type: 'text', text: TEXT }, call], undefined, 'tool_calls');
    }
    return i % 4 === 2 ? toolStarted(callId) : toolCompleted(callId);
  });
}
