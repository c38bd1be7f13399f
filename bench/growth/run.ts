/**
 * `npm run bench:growth`: how costs grow, from a little to a lot.
 *
 *   npm run bench:growth                              all questions
 *   npm run bench:growth -- stored-runs subscribers   some of them
 *   npm run bench:growth -- --up-to 1000              no more of anything than this
 *   npm run bench:growth -- --record                  keep the figures for docs/performance.md (then: npm run docs)
 */
import { parseArgs } from 'node:util';
import { growthTable } from '../../docs/tables/performance/growth-table.ts';
import { readGrowth, writeGrowth } from '../../docs/tables/performance/results.ts';
import { describeMachine, printMachine } from '../machine.ts';
import { Stage } from '../stage.ts';
import { concurrentRuns } from './concurrent-runs.ts';
import { eventsOfARun } from './events-of-a-run.ts';
import type { Point, Question } from './question.ts';
import { storedRuns } from './stored-runs.ts';
import { subscribers } from './subscribers.ts';
import { turnsOfASession } from './turns-of-a-session.ts';

const QUESTIONS: Readonly<Record<string, Question>> = {
  'events-of-a-run': eventsOfARun,
  'turns-of-a-session': turnsOfASession,
  'stored-runs': storedRuns,
  subscribers,
  'concurrent-runs': concurrentRuns,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { record: { type: 'boolean', default: false }, 'up-to': { type: 'string', default: 'Infinity' } },
});
const unknown = positionals.filter((name) => !(name in QUESTIONS));
if (unknown.length > 0) {
  console.error(`Unknown: ${unknown.join(', ')}. Questions: ${Object.keys(QUESTIONS).join(', ')}`);
  process.exit(2);
}

let stage: Stage | undefined;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    await stage?.[Symbol.asyncDispose]();
    process.exit(1);
  });
}

for (const name of positionals.length > 0 ? positionals : Object.keys(QUESTIONS)) {
  const { of, sizes, measure } = QUESTIONS[name]!;
  const machine = describeMachine();
  const points: Point[] = [];
  stage = new Stage();
  try {
    const wanted = sizes.filter((size) => size <= Number(values['up-to']));
    for await (const point of measure(stage, wanted)) {
      points.push(point);
      process.stderr.write(`${name}: ${point.size} done\n`);
    }
  } finally {
    await stage[Symbol.asyncDispose]();
  }
  console.log(`\n${printMachine(machine)}\n${growthTable({ of, machine, points })}`);
  if (values.record) writeGrowth({ ...readGrowth(), [name]: { of, machine, points } });
}
process.exit(0);
