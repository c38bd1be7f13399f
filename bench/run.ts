/**
 * `npm run bench`: the costs of the server in one table, each row beside a floor measured in the same run.
 *
 *   npm run bench                       all rows
 *   npm run bench -- creates fan-out    some of them
 *   npm run bench -- services           those whose name begins so: one, two and three servers on Postgres
 *   npm run bench -- --json FILE        also as JSON, with every round
 *
 * Servers, floors and the model are separate processes; this process is the client of all of them and does nothing
 * else. Traffic stays on loopback. Absolute figures depend on the machine and its load; the ratios do much less,
 * because floor and server take turns (statistics.ts, rows.ts).
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { describeMachine, printMachine } from './machine.ts';
import { judge, type Missing, type Row } from './rows.ts';
import { archive } from './scenarios/archive.ts';
import { checkpoints } from './scenarios/checkpoints.ts';
import { command } from './scenarios/command.ts';
import { createWaits } from './scenarios/create-waits.ts';
import { creates } from './scenarios/creates.ts';
import { dashboard } from './scenarios/dashboard.ts';
import { diff } from './scenarios/diff.ts';
import { diskOfFinishedRuns } from './scenarios/disk-of-finished-runs.ts';
import { fanOut } from './scenarios/fan-out.ts';
import { files } from './scenarios/files.ts';
import { firstEvent } from './scenarios/first-event.ts';
import { gate } from './scenarios/gate.ts';
import { memoryOfFinishedRuns } from './scenarios/memory-of-finished-runs.ts';
import { memoryOfLateReaders } from './scenarios/memory-of-late-readers.ts';
import { memoryOfSubscribers } from './scenarios/memory-of-subscribers.ts';
import { modelToSubscriber } from './scenarios/model-to-subscriber.ts';
import { replay } from './scenarios/replay.ts';
import { restart } from './scenarios/restart.ts';
import { sandboxDocker } from './scenarios/sandbox-docker.ts';
import { sandboxLocal } from './scenarios/sandbox-local.ts';
import { servicesClaims } from './scenarios/services-claims.ts';
import { servicesCreates } from './scenarios/services-creates.ts';
import { servicesEvents } from './scenarios/services-events.ts';
import { servicesFootprint } from './scenarios/services-footprint.ts';
import { servicesLatency } from './scenarios/services-latency.ts';
import { start } from './scenarios/start.ts';
import { textRuns } from './scenarios/text-runs.ts';
import { toolRuns } from './scenarios/tool-runs.ts';
import { waitingRuns } from './scenarios/waiting-runs.ts';
import { Stage } from './stage.ts';
import { printMissing, printNotes, printTable } from './table.ts';

/** A scenario that takes longer is stuck. */
const SCENARIO_LIMIT_MS = 90_000;

const scenarios: Record<string, (stage: Stage) => Promise<(Row | Missing)[]>> = {
  // First, while this process is small: it spawns the commands of both sides, and a fork costs as much as there is to
  // copy.
  'sandbox-local': sandboxLocal,
  'sandbox-docker': sandboxDocker,
  gate,
  creates,
  'create-waits': createWaits,
  'first-event': firstEvent,
  'text-runs': textRuns,
  'model-to-subscriber': modelToSubscriber,
  'fan-out': fanOut,
  'tool-runs': toolRuns,
  replay,
  dashboard,
  'memory-of-subscribers': memoryOfSubscribers,
  'memory-of-late-readers': memoryOfLateReaders,
  'memory-of-finished-runs': memoryOfFinishedRuns,
  'disk-of-finished-runs': diskOfFinishedRuns,
  'waiting-runs': waitingRuns,
  restart,
  start,
  command,
  archive,
  checkpoints,
  diff,
  files,
  'services-creates': servicesCreates,
  'services-events': servicesEvents,
  'services-claims': servicesClaims,
  'services-latency': servicesLatency,
  'services-footprint': servicesFootprint,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
});
const matches = (asked: string) =>
  Object.keys(scenarios).filter((name) => name === asked || name.startsWith(`${asked}-`));
const unknown = positionals.filter((asked) => matches(asked).length === 0);
if (values.help === true || unknown.length > 0) {
  if (unknown.length > 0) console.error(`Unknown: ${unknown.join(', ')}`);
  console.error(`npm run bench -- [--json FILE] [ROW ...]\nRows: ${Object.keys(scenarios).join(', ')}`);
  process.exit(unknown.length > 0 ? 2 : 0);
}

const machine = describeMachine();
const rows: Row[] = [];
const missing: Missing[] = [];
const failures: string[] = [];
let stage: Stage | undefined;

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    await stage?.[Symbol.asyncDispose]();
    process.exit(1);
  });
}

console.log(printMachine(machine));
for (const name of positionals.length > 0 ? positionals.flatMap(matches) : Object.keys(scenarios)) {
  const startedAt = performance.now();
  process.stderr.write(`${name} …`);
  stage = new Stage();
  try {
    for (const row of await withinLimit(scenarios[name]!(stage))) {
      if ('missing' in row) missing.push(row);
      else rows.push(row);
    }
  } catch (error) {
    failures.push(`${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  } finally {
    await stage[Symbol.asyncDispose]();
  }
  process.stderr.write(` ${((performance.now() - startedAt) / 1000).toFixed(0)} s\n`);
}

if (rows.length > 0) console.log(`\n${printTable(rows)}\n\n${printNotes(rows)}`);
if (missing.length > 0) console.log(`\n${printMissing(missing)}`);
console.log(
  '\nMedians of alternating rounds. ratio: ours ÷ floor within a round, median (lowest–highest). met: unclear where ' +
    'the middle half\nof the rounds lies on both sides of the aim.',
);
for (const failure of failures) console.error(`\n${failure}`);
if (values.json !== undefined) {
  const report = { machine, rows: rows.map((row) => ({ ...row, ...judgedFields(row) })), missing, failures };
  writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);
}
// A failed scenario may have left timers or sockets, which would keep this process alive.
process.exit(failures.length > 0 ? 1 : 0);

function judgedFields(row: Row) {
  const { ours, floor, ratio, ratios, met } = judge(row);
  return { median: { ours, floor, ratio }, ratios, met };
}

async function withinLimit<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    const message = `not finished after ${SCENARIO_LIMIT_MS / 1000} s`;
    timer = setTimeout(() => reject(new Error(message)), SCENARIO_LIMIT_MS);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
    work.catch(() => {});
  }
}
