/**
 * What a round does: which work, which kills, after which pauses. Every part is a function of the seed and its number alone, so
 * the same seed gives the same plan, however the processes interleave. Nothing here touches a server.
 */
import type { Failpoint } from '../../packages/server/src/basics/failpoints.ts';
import type { Step } from '../support/model-server.ts';
import { SeededRandom } from '../support/seeded-random.ts';

/** How a call of a run is treated. Each leaves its mark, except those that are denied and those that the client runs. */
export type CallManner = 'plain' | 'slow' | 'background' | 'approved' | 'denied' | 'client' | 'write';

export interface PlannedCall {
  /** Unique in the whole soak. */
  mark: string;
  manner: CallManner;
}

export interface PlannedStep extends Pick<Step, 'reasoning' | 'delayMs'> {
  text: string;
  pieces: number;
  calls: PlannedCall[];
}

export interface PlannedRun {
  steps: PlannedStep[];
  webhook: boolean;
  /** The client creates it once more, as if it had lost the answer. */
  createsAgain: boolean;
  /** The client asks for a stop after this many events. */
  stopAfter?: number;
  /** How long the person takes to answer a question. */
  answerAfterMs: number;
}

export type WorkItem = { number: number; name: string } & (
  | { kind: 'run'; run: PlannedRun }
  | { kind: 'session'; turns: PlannedRun[] }
  | { kind: 'fork'; run: PlannedRun; fork: PlannedRun; atStep: number | undefined }
  | { kind: 'job'; run: PlannedRun; dueInMs: number }
  | { kind: 'upload'; bytes: number; seed: number; run: PlannedRun; deletes: boolean }
  | { kind: 'slot'; batches: PlannedCall[][] }
);

/** Who is killed: a server by its index, or the database. */
export type Target = number | 'database';

export interface PlannedKill {
  how: 'kill' | 'failpoint' | 'stop' | 'pause' | 'sandbox';
  /** Since the end of the one before. */
  afterMs: number;
  /** How long the victim is away; how long it is paused; how long a stopped server may take until it is killed as well. */
  forMs: number;
  failpoint?: { name: Failpoint; passage: number };
}

/** What mixed work passes, and how often it passes one at most before the kill. The others belong to commands and to evictions. */
const PASSED: readonly [Failpoint, number][] = [
  ['journal.before-commit', 40],
  ['journal.after-commit', 40],
  ['run.after-create', 4],
  ['job.before-fire', 1],
  ['run.after-claim', 4],
  ['setup.after-clear', 1],
  ['setup.after-part', 1],
  ['setup.before-record', 1],
  ['setup.after-record', 1],
  ['step.before-model', 6],
  ['step.after-delta', 20],
  ['step.before-append', 6],
  ['step.after-append', 6],
  ['tool.before-intent', 4],
  ['tool.after-intent', 4],
  ['tool.after-effect', 5],
  ['tool.after-outcome', 5],
  ['approval.before-request', 2],
  ['approval.after-request', 2],
  ['approval.after-answer', 2],
  ['approval.after-intent', 2],
  ['client-tool.before-waiting', 1],
  ['client-tool.after-waiting', 1],
  ['client-tool.before-outcome', 1],
  ['run.before-terminal', 3],
  ['run.after-terminal', 3],
  ['webhook.after-send', 2],
  ['checkpoint.after-blob', 2],
  ['checkpoint.after-record', 3],
  ['blob.before-whole', 2],
  ['blob.after-whole', 2],
  ['file.after-create', 1],
  ['file.after-delete', 1],
];

export class Plan {
  readonly #seed: number;
  readonly #round: number;

  constructor(seed: number, round: number) {
    this.#seed = seed;
    this.#round = round;
  }

  item(number: number): WorkItem {
    const random = this.#random('work', number);
    const name = `s${this.#seed}r${this.#round}i${number}`;
    const plan = new RunPlan(random, name);
    const kind = random.pick([
      'run',
      'run',
      'run',
      'run',
      'session',
      'fork',
      'job',
      'upload',
      'slot',
    ] as const);
    const head = { number, name };
    if (kind === 'run') return { ...head, kind, run: plan.run({ mayStop: true }) };
    if (kind === 'session') {
      const turns = Array.from({ length: between(random, 2, 3) }, () => plan.run({ steps: 2 }));
      return { ...head, kind, turns };
    }
    if (kind === 'fork') {
      const run = plan.run({ steps: 3, calm: true });
      const atStep = random.next() < 0.5 ? undefined : 2;
      return { ...head, kind, run, fork: plan.run({ steps: 2, calm: true }), atStep };
    }
    if (kind === 'job')
      return { ...head, kind, run: plan.run({ steps: 2, calm: true }), dueInMs: between(random, 500, 3_000) };
    if (kind === 'upload') {
      const bytes = between(random, 1, random.next() < 0.2 ? 3_000_000 : 60_000);
      const seed = between(random, 0, 2 ** 31);
      return {
        ...head,
        kind,
        bytes,
        seed,
        run: plan.run({ steps: 1, calm: true }),
        deletes: random.next() < 0.3,
      };
    }
    const batches = Array.from({ length: between(random, 2, 4) }, () =>
      Array.from({ length: between(random, 1, 3) }, () => plan.call('plain')),
    );
    return { ...head, kind: 'slot', batches };
  }

  kill(target: Target, number: number): PlannedKill {
    const random = this.#random(`kill of ${target}`, number);
    if (target === 'database') {
      const how = random.pick(['kill', 'kill', 'stop'] as const);
      return { how, afterMs: between(random, 6_000, 16_000), forMs: between(random, 0, 1_500) };
    }
    const how = random.pick([...KINDS]);
    const afterMs = between(random, 200, 2_200);
    if (how === 'failpoint') {
      const [name, most] = random.pick(PASSED);
      const failpoint = { name, passage: between(random, 1, most) };
      return { how, afterMs: 4_000, forMs: between(random, 0, 500), failpoint };
    }
    if (how === 'pause') return { how, afterMs, forMs: between(random, 500, 8_000) };
    if (how === 'stop') return { how, afterMs, forMs: between(random, 0, 4_000) };
    return { how, afterMs, forMs: random.next() < 0.2 ? between(random, 0, 8_000) : between(random, 0, 300) };
  }

  /** For choices of a client, such as which server it asks. */
  choices(of: string): SeededRandom {
    return this.#random(of, 0);
  }

  #random(what: string, number: number): SeededRandom {
    let state = this.#seed >>> 0;
    for (const character of `${this.#round} ${what} ${number}`) {
      state = Math.imul(state ^ character.codePointAt(0)!, 0x01000193) >>> 0;
    }
    const random = new SeededRandom(state);
    random.next();
    return random;
  }
}

const KINDS: readonly PlannedKill['how'][] = [
  ...(['kill', 'kill', 'kill', 'kill'] as const),
  ...(['failpoint', 'failpoint', 'failpoint', 'failpoint', 'failpoint'] as const),
  ...(['stop', 'pause', 'sandbox'] as const),
];

/** Makes up the runs of one item. */
class RunPlan {
  readonly #random: SeededRandom;
  readonly #name: string;
  #calls = 0;
  #texts = 0;

  constructor(random: SeededRandom, name: string) {
    this.#random = random;
    this.#name = name;
  }

  /** A calm run asks nobody, so that it ends without a client. */
  run({ steps = between(this.#random, 1, 4), calm = false, mayStop = false } = {}): PlannedRun {
    const random = this.#random;
    const planned = Array.from({ length: steps }, (_, i) => this.#step(i === steps - 1, calm));
    return {
      steps: planned,
      webhook: random.next() < 0.4,
      createsAgain: random.next() < 0.3,
      answerAfterMs: random.next() < 0.2 ? between(random, 0, 4_000) : between(random, 0, 400),
      ...(mayStop && random.next() < 0.12 ? { stopAfter: between(random, 0, 12) } : {}),
    };
  }

  call(manner: CallManner): PlannedCall {
    this.#calls += 1;
    return { mark: `${this.#name}c${this.#calls}`, manner };
  }

  #step(last: boolean, calm: boolean): PlannedStep {
    const random = this.#random;
    this.#texts += 1;
    const text = `Text ${this.#texts} of ${this.#name}: ${'and so on, '.repeat(between(random, 1, 6))}that is it. `;
    const manners: readonly CallManner[] = calm
      ? ['plain', 'plain', 'slow', 'write', 'background']
      : [
          'plain',
          'plain',
          'plain',
          'slow',
          'write',
          'background',
          'approved',
          'approved',
          'denied',
          'client',
          'client',
        ];
    return {
      text,
      pieces: between(random, 1, 6),
      delayMs: between(random, 0, 120),
      ...(random.next() < 0.3 ? { reasoning: `Thought ${this.#texts} of ${this.#name}.` } : {}),
      calls: last ? [] : Array.from({ length: between(random, 1, 3) }, () => this.call(random.pick(manners))),
    };
  }
}

/** A whole number, both bounds included. */
function between(random: SeededRandom, least: number, most: number): number {
  return least + Math.floor(random.next() * (most - least + 1));
}
