/**
 * Whatever callers, containers and time do to a pool, its rules hold. The driver itself rejects requests that must
 * never happen.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Slot } from '../backend.ts';
import type { PoolLimits } from './pool-limits.ts';
import { type SlotEnds, SlotPool } from './slot-pool.ts';
import { atRest, FakeClock } from './testing/fake-clock.ts';
import { type FakeContainer, FakeDriver } from './testing/fake-driver.ts';

const OPERATIONS = ['start', 'stop', 'check', 'open', 'close', 'discard'] as const;
type Operation = (typeof OPERATIONS)[number];

type Action =
  | { do: 'acquire'; trajectoryId: string | undefined }
  | { do: 'abort'; caller: number }
  | { do: 'use'; slot: number; lagSeconds: number }
  | { do: 'release'; slot: number; resetWorkspace: boolean }
  | { do: 'discard'; trajectoryId: string }
  | { do: 'kill' | 'report'; container: number }
  | { do: 'fail'; operation: Operation; fails: boolean }
  | { do: 'slow'; operation: Operation; seconds: number }
  | { do: 'advance'; seconds: number }
  | { do: 'restart' };

const trajectoryId = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
const operation = fc.constantFrom(...OPERATIONS);
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('acquire'),
      trajectoryId: fc.option(trajectoryId, { nil: undefined, freq: 4 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('use'), slot: fc.nat(), lagSeconds: fc.nat(8) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('release'), slot: fc.nat(), resetWorkspace: fc.boolean() }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('advance'), seconds: fc.integer({ min: 0, max: 25 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('abort'), caller: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('kill', 'report'), container: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('fail'), operation, fails: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('slow'), operation, seconds: fc.integer({ min: 0, max: 8 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('discard'), trajectoryId }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart') }) },
) as fc.Arbitrary<Action>;

const limits: fc.Arbitrary<PoolLimits> = fc
  .record({
    slotsPerContainer: fc.integer({ min: 1, max: 3 }),
    maxContainers: fc.integer({ min: 1, max: 3 }),
    minContainers: fc.nat(2),
    warmSlots: fc.nat(3),
  })
  .map((sizes) => ({
    ...sizes,
    minContainers: Math.min(sizes.minContainers, sizes.maxContainers),
    warmSlots: Math.min(sizes.warmSlots, sizes.maxContainers * sizes.slotsPerContainer),
    acquireTimeoutS: 40,
    idleContainerS: 15,
    healthIntervalS: 10,
    healthTimeoutS: 5,
  }));

const rules = 'the rules of a pool hold whatever happens to it';
test(rules, () => expectRules(100), 120_000);
test(`${rules}, more often`, { tags: ['soak'], timeout: 300_000 }, () => expectRules(1_000));

async function expectRules(numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(limits, fc.array(action, { maxLength: 60, size: 'max' }), async (limits, actions) => {
      const world = new World(limits);
      await world.pool.start();
      for (const action of actions) {
        await world.perform(action);
        world.check();
      }
      await world.end();
    }),
    { numRuns },
  );
}

/** How long work takes if nobody ends it. */
const WORK_S = 20;

interface Call {
  trajectoryId: string | undefined;
  controller: AbortController;
  outcome: 'pending' | 'served' | 'failed';
}

/** A pool, what its callers hold, and a driver whose failures and delays are controlled. */
class World {
  readonly clock = new FakeClock();
  readonly driver: FakeDriver;
  readonly pool: SlotPool<FakeContainer>;
  /** In the order in which they came. */
  readonly calls: Call[] = [];
  readonly slots: Slot[] = [];
  readonly #fails = new Set<Operation>();
  readonly #seconds = new Map<Operation, number>();
  readonly #discarding = new Set<string>();
  /** Trajectories whose files must exist somewhere. */
  readonly #written = new Set<string>();
  /** Ids of slots in which somebody works and whose container is not known to be dead. */
  readonly #working: string[] = [];
  readonly #broken: string[] = [];

  constructor(limits: PoolLimits) {
    this.driver = new FakeDriver(limits);
    this.pool = new SlotPool({ ...limits, driver: this.driver, clock: this.clock });
    const { before } = this.driver;
    for (const each of OPERATIONS) before[each] = () => this.#act(each);
    before.discard = async (trajectoryId) => {
      this.#written.delete(trajectoryId);
      this.#discarding.add(trajectoryId);
      try {
        await this.#act('discard');
      } finally {
        // The pool hears of it a moment later than the driver.
        void atRest().then(() => this.#discarding.delete(trajectoryId));
      }
    };
    before.close = async (_, { slotId }) => {
      if (this.#working.includes(slotId)) this.#broken.push('a slot was closed during work in it');
      await this.#act('close');
    };
    before.open = async (container, { trajectoryId }) => {
      this.#expectTurnOf(trajectoryId);
      await this.#act('open');
      if (trajectoryId !== undefined && container.alive) this.#written.add(trajectoryId);
    };
  }

  async perform(action: Action): Promise<void> {
    switch (action.do) {
      case 'acquire':
        this.#acquire(action.trajectoryId);
        break;
      case 'abort':
        pick(this.calls, action.caller)?.controller.abort();
        break;
      case 'use':
        this.#use(pick(this.slots, action.slot), action.lagSeconds);
        break;
      case 'release':
        this.#release(pick(this.slots, action.slot), action.resetWorkspace);
        break;
      case 'discard':
        this.pool.discard(action.trajectoryId).catch(() => {});
        break;
      case 'kill':
      case 'report': {
        const container = pick([...this.driver.containers], action.container);
        if (container) container.alive = false;
        if (container && action.do === 'report') this.pool.containerFailed(container, 'seen to die');
        break;
      }
      case 'fail':
        if (action.fails) this.#fails.add(action.operation);
        else this.#fails.delete(action.operation);
        break;
      case 'slow':
        this.#seconds.set(action.operation, action.seconds);
        break;
      case 'advance':
        await this.clock.advanceS(action.seconds);
        break;
      case 'restart':
        await this.#stop();
        await this.pool.start();
        break;
    }
    await atRest();
  }

  check(): void {
    expect(this.#broken).toEqual([]);
    expect(this.driver.violations).toEqual([]);
    const held = this.slots.filter(({ state }) => state === 'acquired' || state === 'executing');
    const places = new Set(held.map(({ slotId }) => slotId));
    const trajectories = new Set(held.map((slot) => slot.trajectoryId ?? slot.slotId));
    expect(trajectories.size).toBe(places.size);
    for (const written of this.#written) {
      expect(this.driver.kept.has(written) || this.driver.holderOf(written) !== undefined).toBe(true);
    }
    // Nobody waits while a slot is free, except for a trajectory that is still in another slot.
    const { waiting, slots } = this.pool.stats();
    const blocked = this.calls.filter(
      (call) => call.outcome === 'pending' && this.#isBlocked(call.trajectoryId),
    );
    if (slots.available > 0) expect(waiting).toBeLessThanOrEqual(blocked.length);
  }

  /** Every call settles when things work again, or its time is over, and nothing is left at the end. */
  async end(): Promise<void> {
    this.#heal();
    await this.clock.advanceS(100);
    this.check();
    expect(this.calls.filter(({ outcome }) => outcome === 'pending')).toEqual([]);
    const held = new Set(this.slots.filter(({ state }) => state === 'acquired'));
    expect(this.pool.stats().slots).toMatchObject({ acquired: held.size, releasing: 0 });
    await this.#stop();
    expect(this.slots.filter(({ state }) => state === 'acquired')).toEqual([]);
    expect(this.clock.pending).toBe(0);
  }

  async #stop(): Promise<void> {
    this.#heal();
    const stopped = this.pool.stop();
    await this.clock.advanceS(30);
    await stopped;
    expect(this.driver.containers.size + this.driver.starting).toBe(0);
  }

  #heal(): void {
    this.#fails.clear();
    this.#seconds.clear();
  }

  #acquire(trajectoryId: string | undefined): void {
    const call: Call = { trajectoryId, controller: new AbortController(), outcome: 'pending' };
    this.calls.push(call);
    this.pool.acquire(trajectoryId, { signal: call.controller.signal }).then(
      (slot) => {
        if (call.controller.signal.aborted) this.#broken.push('a caller that gave up was served');
        call.outcome = 'served';
        this.slots.push(slot);
      },
      () => {
        call.outcome = 'failed';
      },
    );
  }

  /** Works in the slot. The work ends by itself, or `lagSeconds` after its signal. */
  #use(slot: Slot | undefined, lagSeconds: number): void {
    if (!slot) return;
    const { slotId } = slot;
    const work = async (_: FakeContainer, { released, gone }: SlotEnds) => {
      this.#working.push(slotId);
      gone.addEventListener('abort', () => this.#stopWorking(slotId));
      const told = new Promise((resolve) => {
        for (const end of [released, gone]) end.addEventListener('abort', resolve);
      });
      await Promise.race([told, this.#pass(WORK_S)]);
      await this.#pass(lagSeconds);
      this.#stopWorking(slotId);
    };
    this.pool.use(slot, work).catch(() => {});
  }

  #stopWorking(slotId: string): void {
    const at = this.#working.indexOf(slotId);
    if (at !== -1) this.#working.splice(at, 1);
  }

  async #pass(seconds: number): Promise<void> {
    if (seconds > 0) await new Promise<void>((resolve) => this.clock.after(seconds * 1000, resolve));
  }

  #release(slot: Slot | undefined, resetWorkspace: boolean): void {
    if (!slot) return;
    if (slot.trajectoryId !== undefined && resetWorkspace) this.#written.delete(slot.trajectoryId);
    this.pool.release(slot, { resetWorkspace }).catch(() => {});
  }

  async #act(operation: Operation): Promise<void> {
    await this.#pass(this.#seconds.get(operation) ?? 0);
    if (this.#fails.has(operation)) throw new Error(`${operation} fails`);
  }

  /** Expects that every earlier caller than this one waits for something that is not free. */
  #expectTurnOf(trajectoryId: string | undefined): void {
    if (trajectoryId === undefined) return;
    const pending = this.calls.filter(({ outcome }) => outcome === 'pending');
    const turn = pending.findIndex((call) => call.trajectoryId === trajectoryId);
    const passed = pending
      .slice(0, turn)
      .filter((call) => call.trajectoryId !== undefined && !this.#isBlocked(call.trajectoryId));
    // A caller hears a moment later that it failed; a failed caller was not overtaken.
    void atRest().then(() => {
      const wronged = passed.find(({ outcome }) => outcome !== 'failed');
      if (wronged) this.#broken.push(`${trajectoryId} was served before ${wronged.trajectoryId}`);
    });
  }

  #isBlocked(trajectoryId: string | undefined): boolean {
    if (trajectoryId === undefined) return false;
    return this.#discarding.has(trajectoryId) || this.driver.holderOf(trajectoryId) !== undefined;
  }
}

function pick<T>(items: readonly T[], number: number): T | undefined {
  return items.length === 0 ? undefined : items[number % items.length];
}
