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
import { writeReport } from '../../docs/tables/reliability/report.ts';
import { soakTable } from '../../docs/tables/reliability/soak-table.ts';
import manifest from '../../package.json' with { type: 'json' };
import type { StoreName } from './evidence.ts';
import { Services } from './installation.ts';
import { playRound } from './round.ts';
import { addRound, killsOf, newState, readState, type SoakState, writeState } from './state.ts';

const USAGE = `Usage: npm run soak -- [options]

  --kills N      how many kills in all (100)
  --minutes N    end after so many minutes, whatever is reached
  --seed N       the plan of work and kills; a number, or "random", which prints what it took (random)
  --store NAME   sqlite (one server), postgres (three servers on one), docker (one server whose tools run in containers), or
                 several with commas between them, in turn (sqlite,postgres)
  --state DIR    where it keeps its progress, and the rounds in which something was wrong (a directory below ${tmpdir()})
  --resume       continue what is in --state, with its seed
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
const asked =
  values.seed === 'random' ? Math.floor(Math.random() * 1_000_000) : numberOf('seed', values.seed);
const directory = values.state ?? join(tmpdir(), `talaria-soak-${asked}`);
const before = readState(directory);
if (before !== undefined && !values.resume)
  refuse(`${directory} has a soak already: continue it with --resume, or name another --state`);
const state = before ?? newState(asked, manifest.version);

let interrupted = false;
process.on('SIGINT', () => {
  if (!interrupted)
    console.log('Interrupted: the round ends with what it has. This takes up to a few minutes.');
  interrupted = true;
});

console.log(`Seed ${state.seed}, ${killsOf(state)} of ${kills} kills so far, state in ${directory}`);
const startedAt = Date.now();
const endsAt = startedAt + minutes * 60_000;
let found = 0;
{
  await using services = new Services();
  while (!interrupted && Date.now() < endsAt && killsOf(state) < kills) {
    found += await play(state, services);
    writeState(directory, state);
  }
}
console.log(`\n${soakTable(state)}`);
if (values.report) writeReport(state);
process.exit(found > 0 ? 1 : 0);

/** One round; how many violations it found. */
async function play(of: SoakState, services: Services): Promise<number> {
  const round = of.rounds;
  const store = stores[round % stores.length]!;
  const roundDirectory = join(directory, `round-${round}`);
  const began = Date.now();
  const reached = killsOf(of);
  // In a short soak every store gets its share of the time.
  const left = stores.length - (round % stores.length);
  const roundEndsAt = began + (endsAt - began) / left;
  let made = 0;
  const result = await playRound({
    ...{ seed: of.seed, round, store, services, directory: roundDirectory },
    kills: Math.min(KILLS_PER_ROUND, kills - reached),
    isOver: () => interrupted || Date.now() > roundEndsAt,
    onKill({ number, how, target }) {
      made += 1;
      if (process.stdout.isTTY)
        process.stdout.write(`\r${reached + made}: ${how}, ${target} (${number})\x1b[K`);
    },
  });
  addRound(of, store, result, roundDirectory);
  const seconds = (Date.now() - began) / 1_000;
  of.seconds += seconds;
  const runs = Object.values(result.ends).reduce((sum, each) => sum + each, 0);
  const rate = ((made / seconds) * 60).toFixed(0);
  console.log(
    `${process.stdout.isTTY ? '\r' : ''}round ${round} on ${store}: ${made} kills, ${runs} runs ended, ${result.violations.length} violations, ${rate} kills a minute; ${killsOf(of)} kills in all`,
  );
  for (const { rule, of: what, what: said } of result.violations) console.log(`  ${rule}: ${what}: ${said}`);
  if (result.violations.length === 0) rmSync(roundDirectory, { recursive: true, force: true });
  else console.log(`  seed ${of.seed}, round ${round}; its files and evidence are in ${roundDirectory}`);
  return result.violations.length;
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
