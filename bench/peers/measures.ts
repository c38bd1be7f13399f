/** What is measured of every peer, in turns. Each measure returns figures by their name, then by peer, one per round. */
import { processorMs, residentMib } from '../client/process-figures.ts';
import { alternate, median } from '../statistics.ts';
import type { Peer, RunningPeer } from './peer.ts';

export interface Started {
  peer: Peer;
  running: RunningPeer;
}

/** By what was measured, then by the name of the peer. */
export type Figures = Record<string, Record<string, number[]>>;

const ROUNDS = 5;
const CHUNKS = 5;
/** A round of single runs ends after this many, or this long. */
const [RUNS_MAX, ROUND_MS] = [30, 1_500];
const LOAD_MS = 1_500;
const LOAD_ROUNDS = 3;
/** About as long as an answer of a page. */
const REPLAYED_CHUNKS = 500;
const RUNS_BEFORE_MEMORY = 200;
const MEMORY_AT_ONCE = 8;

export const MEASURES: Readonly<Record<string, (started: readonly Started[]) => Promise<Figures>>> = {
  text: async (started) => ({
    'text run': await inTurns(started, ({ text }) => oneAtATime(() => text(CHUNKS))),
  }),
  tool: async (started) => {
    const able = started.filter(({ running }) => running.tool !== undefined);
    return { 'tool run': await inTurns(able, ({ tool }) => oneAtATime(() => tool!())) };
  },
  // It comes before the load, because not every peer survives that.
  replay: async (started) => {
    const able = started.filter(({ running }) => running.replay !== undefined);
    const reads = new Map<RunningPeer, () => Promise<void>>();
    const figures = await inTurns(able, async (running) => {
      const read = reads.get(running) ?? (await running.replay!(REPLAYED_CHUNKS));
      reads.set(running, read);
      return oneAtATime(read);
    });
    return { replay: figures };
  },
  'load-8': (started) => load(started, 8),
  'load-32': (started) => load(started, 32),
  memory: async (started) => {
    const figures: Record<string, number[]> = {};
    for (const { peer, running } of started) {
      try {
        await runMany(running, MEMORY_AT_ONCE, (made) => made < RUNS_BEFORE_MEMORY);
        figures[peer.name] = [residentMib(running.pids)];
      } catch (error) {
        console.log(`${peer.name} is left out: ${(error as Error).message}`);
      }
    }
    return { 'memory after 200 text runs': figures };
  },
};

async function load(started: readonly Started[], atOnce: number): Promise<Figures> {
  const rounds = await inTurns(
    started,
    async (running) => {
      const [startedAt, processorBefore] = [performance.now(), processorMs(running.pids)];
      const made = await runMany(running, atOnce, () => performance.now() - startedAt < LOAD_MS);
      return {
        perSecond: (made / (performance.now() - startedAt)) * 1_000,
        processorMs: (processorMs(running.pids) - processorBefore) / made,
      };
    },
    LOAD_ROUNDS,
  );
  const pick = (figure: 'perSecond' | 'processorMs') =>
    Object.fromEntries(
      Object.entries(rounds).map(([name, figures]) => [name, figures.map((round) => round[figure])]),
    );
  return {
    [`text runs a second, ${atOnce} at once`]: pick('perSecond'),
    [`processor time of a text run, ${atOnce} at once`]: pick('processorMs'),
  };
}

/** A first round does not count: it fills caches and starts what is started late. A peer that fails is left out. */
async function inTurns<Figure>(
  started: readonly Started[],
  measure: (running: RunningPeer) => Promise<Figure>,
  rounds = ROUNDS,
): Promise<Record<string, Figure[]>> {
  const failed = new Set<string>();
  const sides: Record<string, () => Promise<Figure | undefined>> = {};
  for (const { peer, running } of started) {
    sides[peer.name] = async () => {
      if (failed.has(peer.name)) return undefined;
      try {
        return await measure(running);
      } catch (error) {
        failed.add(peer.name);
        console.log(`${peer.name} is left out: ${(error as Error).message}`);
        return undefined;
      }
    };
  }
  await alternate(1, sides);
  const figures = (await alternate(rounds, sides)) as Record<string, Figure[]>;
  return Object.fromEntries(Object.entries(figures).filter(([name]) => !failed.has(name)));
}

/** The median duration, in milliseconds. */
async function oneAtATime(act: () => Promise<void>): Promise<number> {
  const took: number[] = [];
  const begun = performance.now();
  while (took.length < RUNS_MAX && performance.now() - begun < ROUND_MS) {
    const startedAt = performance.now();
    await act();
    took.push(performance.now() - startedAt);
  }
  return median(took);
}

/** So many runs at once, each followed by the next while there are more to make. Returns how many were made. */
async function runMany(
  { text }: RunningPeer,
  atOnce: number,
  more: (begun: number) => boolean,
): Promise<number> {
  let begun = 0;
  const work = async () => {
    while (more(begun)) {
      begun += 1;
      await text(CHUNKS);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return begun;
}
