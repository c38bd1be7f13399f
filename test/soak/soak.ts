/**
 * `npm run soak -- --kills 10000 --seed N`: servers under mixed work are killed until so many kills are reached, round by round, and
 * after each round everything is checked from outside. docs/reliability.md says what is checked and shows the longest run.
 *
 * Exit code 0: every promise held. 1: a violation; its round is kept. 2: it could not run.
 */
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readReport, writeReport } from '../../docs/tables/reliability/report.ts';
import { soakSummary, soakTable } from '../../docs/tables/reliability/soak-table.ts';
import manifest from '../../package.json' with { type: 'json' };
import type { Disruption, StoreName } from './evidence.ts';
import { Services } from './installation.ts';
import { playRound } from './round.ts';
import { addRound, killsOf, newState, readState, sumOf, writeState } from './state.ts';

const USAGE = `Usage: npm run soak -- [options]

  --kills N      how many kills in all (100)
  --minutes N    end after so many minutes, whatever is reached
  --seed N       the plan of work and kills; a number, or "random", which prints what it took (random)
  --store NAME   sqlite (one server), postgres (three servers on one), docker (one server whose tools run in containers), or
                 several with commas between them, in turn (sqlite,postgres)
  --state DIR    where it keeps its progress, and the rounds in which something was wrong (one below ${tmpdir()},
                 which is removed if nothing was)
  --resume       continue what is in --state, with its seed; if nothing is there, what docs/reliability.md shows
  --report       keep the figures for docs/reliability.md (then: npm run docs)`;

const STORES: readonly StoreName[] = ['sqlite', 'postgres', 'docker'];
/** Enough for what was accepted before the first kill to meet the last one. */
const KILLS_PER_ROUND = 40;

function options() {
  try {
    return parseArgs({
      options: {
        kills: { type: 'string', default: '100' },
        minutes: { type: 'string', default: '100000' },
        seed: { type: 'string', default: 'random' },
        store: { type: 'string', default: 'sqlite,postgres' },
        state: { type: 'string' },
        resume: { type: 'boolean', default: false },
        report: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    return refuse(`${(error as Error).message}\n\n${USAGE}`);
  }
}

const values = options();
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
const kills = numberOf('kills', values.kills);
const minutes = numberOf('minutes', values.minutes);
const stores = values.store
  .split(',')
  .map((name) => STORES.find((store) => store === name) ?? refuse(`There is no store ${name}`));
const seed = values.seed === 'random' ? Math.floor(Math.random() * 1_000_000) : numberOf('seed', values.seed);
const directory = values.state ?? join(tmpdir(), `talaria-soak-${seed}-${process.pid}`);
const before = readState(directory) ?? (values.resume ? readReport() : undefined);
if (before !== undefined && !values.resume) {
  refuse(`${directory} has a soak already: continue it with --resume, or name another --state`);
}
const state = before ?? newState(seed, manifest.version);

let interrupted = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (interrupted) process.exit(2);
    interrupted = true;
    console.log(
      'Interrupted: this round ends with the kills it has, and is checked. Once more ends it at once.',
    );
  });
}

console.log(`Seed ${state.seed}: ${killsOf(state)} of ${kills} kills so far; state in ${directory}`);
const endsAt = Date.now() + minutes * 60_000;
const foundBefore = state.violations.length;
{
  await using services = new Services();
  let goesOn = true;
  while (goesOn && !interrupted && Date.now() < endsAt && killsOf(state) < kills) {
    goesOn = await play(services);
    writeState(directory, state);
  }
}
console.log(`\n${soakTable(state)}\n${soakSummary(state)}`);
if (values.report) writeReport(state);
const found = state.violations.length - foundBefore;
if (found === 0 && values.state === undefined) rmSync(directory, { recursive: true, force: true });
process.exit(found > 0 ? 1 : 0);

/** One round; false if it did not come to its end, so that another makes no sense. */
async function play(services: Services): Promise<boolean> {
  const round = state.rounds;
  const store = stores[round % stores.length]!;
  const files = join(directory, `round-${round}`);
  const began = Date.now();
  const reached = killsOf(state);
  // In a short soak every store gets its share of the time.
  const roundEndsAt = began + (endsAt - began) / (stores.length - (round % stores.length));
  const disruptions: Disruption[] = [];
  const result = await playRound({
    ...{ seed: state.seed, round, store, services, directory: files },
    kills: Math.min(KILLS_PER_ROUND, kills - reached),
    isOver: () => interrupted || Date.now() > roundEndsAt,
    onKill(disruption) {
      disruptions.push(disruption);
      if (!process.stdout.isTTY) return;
      process.stdout.write(
        `\r${reached + disruptions.length}: ${disruption.how}, ${disruption.target}\x1b[K\r`,
      );
    },
  }).catch((error: Error) => {
    const violations = [{ rule: 'a round comes to its end', of: store, what: error.stack ?? error.message }];
    return { disruptions, ends: {}, work: {}, calls: 0, violations, broken: true };
  });
  addRound(state, store, result, files);
  const seconds = (Date.now() - began) / 1_000;
  state.seconds += seconds;
  const rate = ((disruptions.length / seconds) * 60).toFixed(0);
  const { violations } = result;
  console.log(
    `round ${round} on ${store}: ${disruptions.length} kills and pauses, ${rate} a minute; ${sumOf(result.ends)} runs ended; ` +
      `${violations.length} violations; ${killsOf(state)} kills in all`,
  );
  for (const { rule, of, what } of violations) console.log(`  ${rule}: ${of}: ${what}`);
  if (violations.length === 0) rmSync(files, { recursive: true, force: true });
  else
    console.log(
      `  seed ${state.seed}, round ${round}, after ${reached} kills; files and evidence are in ${files}`,
    );
  return !('broken' in result);
}

function numberOf(name: string, text: string): number {
  const value = Number(text);
  if (!(value >= 0) || !Number.isFinite(value)) refuse(`--${name} must be a number, got ${text}`);
  return value;
}

function refuse(message: string): never {
  console.error(message);
  process.exit(2);
}
