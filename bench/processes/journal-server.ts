/**
 * One of several servers on a store, a SQLite file or a Postgres: the real HTTP server, and instead of the agent the
 * bench tells it what to do with the journal. Through the agent a run shows at most fifty texts a second, because the
 * agent collects text for 20 ms: it would take hundreds of runs to measure the store.
 */
import { createRunId } from '@talaria/protocol';
import type { Claim } from '../../packages/server/src/journal/journal.ts';
import { PostgresJournal } from '../../packages/server/src/journal/postgres/postgres-journal.ts';
import type { NewRecord } from '../../packages/server/src/journal/records.ts';
import { SqliteJournal } from '../../packages/server/src/journal/sqlite/sqlite-journal.ts';
import { announce } from './listen.ts';
import { serveJournal } from './serve-journal.ts';

export type Command =
  /** Creates runs that wait. */
  | { do: 'create'; runs: number }
  /** Claims waiting runs, this many at a time, until there are none, and reports how many it got. */
  | { do: 'claim'; atOnce: number }
  /** Ends the runs it holds. */
  | { do: 'finish' }
  /** Creates runs, claims them, and reports which. */
  | { do: 'hold'; runs: number }
  /**
   * Appends this many events at a time to each run it holds, the next when the last are durable; the last one is the
   * marker.
   */
  | { do: 'append'; events: number; atOnce: number; marker: string }
  /**
   * Appends one event after the other to each run it holds; each event says when it was appended, by the clock of the
   * machine.
   */
  | { do: 'beat'; events: number; everyMs: number };

const HOUR_MS = 3_600_000;
const OWNER = 'local';
const NO_LIMIT = { maxQueued: 10_000_000, ownerShare: 10_000_000 };
const TEXT = ' a few words of what a model says';

const ENDED: NewRecord = {
  event: 'run.completed',
  public: { output: 'done', usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } },
};

const store = process.argv[2];
if (store === undefined) throw new Error('expected the path of a file or the address of a database');
const journal = store.startsWith('postgres://')
  ? await PostgresJournal.open({ url: store })
  : await SqliteJournal.open({ path: store });
const port = await serveJournal(journal);
const held: Claim[] = [];

process.on('message', (command: Command) => {
  perform(command).then(
    (answer) => process.send?.(answer),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
announce(port);

function perform(command: Command): Promise<object> {
  switch (command.do) {
    case 'create':
      return create(command.runs);
    case 'claim':
      return claimAll(command.atOnce);
    case 'finish':
      return onEach((claim) => journal.append(claim, [ENDED])).finally(() => held.splice(0));
    case 'hold':
      return hold(command.runs);
    case 'append':
      return onEach((claim) => append(claim, command));
    case 'beat':
      return onEach((claim) => beat(claim, command));
  }
}

async function create(runs: number): Promise<{ runIds: string[] }> {
  const runIds = Array.from({ length: runs }, () => createRunId());
  const request = { prompt: 'bench', session_named: false };
  await Promise.all(
    runIds.map((runId) => journal.createRun({ runId, owner: OWNER, sessionId: runId, request }, NO_LIMIT)),
  );
  return { runIds };
}

async function claimAll(atOnce: number): Promise<{ claims: number }> {
  const before = held.length;
  for (;;) {
    const claims = await journal.claim('bench', HOUR_MS, atOnce);
    if (claims.length === 0) return { claims: held.length - before };
    held.push(...claims);
  }
}

async function hold(runs: number): Promise<{ runIds: string[] }> {
  await create(runs);
  held.push(...(await journal.claim('bench', HOUR_MS, runs)));
  return { runIds: held.map(({ runId }) => runId) };
}

async function onEach(work: (claim: Claim) => Promise<unknown>): Promise<object> {
  await Promise.all(held.map(work));
  return {};
}

async function append(
  claim: Claim,
  { events, atOnce, marker }: Extract<Command, { do: 'append' }>,
): Promise<void> {
  for (let left = events; left > 0; left -= atOnce) {
    const texts = Array.from({ length: Math.min(left, atOnce) }, () => TEXT);
    if (left <= atOnce) texts[texts.length - 1] = marker;
    await journal.append(claim, texts.map(delta));
  }
}

async function beat(claim: Claim, { events, everyMs }: Extract<Command, { do: 'beat' }>): Promise<void> {
  for (let i = 0; i < events; i++) {
    const appended = journal.append(claim, [delta(`at ${process.hrtime.bigint()} ns`)]);
    await Promise.all([appended, new Promise((resolve) => setTimeout(resolve, everyMs))]);
  }
}

function delta(text: string): NewRecord {
  return { event: 'message.delta', public: { delta: text } };
}
