import { afterEach, describe, expect, test } from 'vitest';
import type { Slot } from '../backend.ts';
import type { PoolLimits } from './pool-limits.ts';
import { SlotPool } from './slot-pool.ts';
import { atRest, FakeClock } from './testing/fake-clock.ts';
import { type FakeContainer, FakeDriver } from './testing/fake-driver.ts';

const LIMITS: PoolLimits = {
  slotsPerContainer: 2,
  minContainers: 0,
  maxContainers: 2,
  warmSlots: 0,
  acquireTimeoutS: 30,
  idleContainerS: 60,
  healthIntervalS: 10,
  healthTimeoutS: 5,
};

let last: { pool: SlotPool<FakeContainer>; driver: FakeDriver; clock: FakeClock } | undefined;

afterEach(async () => {
  if (!last) return;
  const { pool, driver, clock } = last;
  last = undefined;
  driver.before.stop = undefined;
  await pool.stop();
  expect(driver.violations).toEqual([]);
  expect([...driver.containers]).toEqual([]);
  expect(clock.pending).toBe(0);
});

function createPool(limits: Partial<PoolLimits> & { singleUse?: boolean } = {}) {
  const all = { ...LIMITS, ...limits };
  const driver = new FakeDriver(all);
  const clock = new FakeClock();
  const troubles: string[] = [];
  const pool = new SlotPool({ ...all, driver, clock, onTrouble: (message) => troubles.push(message) });
  last = { pool, driver, clock };
  return { pool, driver, clock, troubles };
}

async function startPool(limits: Parameters<typeof createPool>[0] = {}) {
  const created = createPool(limits);
  await created.pool.start();
  return created;
}

/** A door that stays shut until it is opened. */
function createGate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { wait: () => promise, open: resolve };
}

/** The state of a promise so far. */
function watch<T>(promise: Promise<T>) {
  const state: { value?: T; error?: Error; settled: boolean } = { settled: false };
  promise.then(
    (value) => Object.assign(state, { value, settled: true }),
    (error) => Object.assign(state, { error, settled: true }),
  );
  return state;
}

const only = <T>(items: Iterable<T>): T => {
  const all = [...items];
  expect(all).toHaveLength(1);
  return all[0] as T;
};

describe('lifecycle', () => {
  test('start brings up the minimum, and stop ends everything', async () => {
    const { pool, driver } = await startPool({ minContainers: 2 });
    expect(driver.containers.size).toBe(2);
    expect(pool.stats()).toEqual({
      containers: { starting: 0, ready: 2, draining: 0, stopping: 0 },
      slots: { available: 4, acquired: 0, executing: 0, releasing: 0, error: 0 },
      waiting: 0,
    });
    await pool.stop();
    expect(driver.containers.size).toBe(0);
  });

  test('when one of the first containers does not start, start says why and leaves nothing', async () => {
    const { pool, driver } = createPool({ minContainers: 2 });
    driver.before.start = () => {
      if (driver.starts === 2) throw new Error('no such image: talaria-sandbox');
    };
    await expect(pool.start()).rejects.toMatchObject({
      code: 'backend_down',
      message: expect.stringContaining('no such image: talaria-sandbox'),
    });
    expect(driver.containers.size).toBe(0);
    await expect(pool.acquire()).rejects.toMatchObject({ code: 'backend_down' });
    driver.before.start = undefined;
    await pool.start();
    expect((await pool.acquire()).state).toBe('acquired');
  });

  test('a pool that is not started, or stopped, gives out nothing', async () => {
    const { pool } = createPool();
    await expect(pool.acquire('a')).rejects.toMatchObject({ code: 'backend_down' });
    await pool.start();
    const slot = await pool.acquire('a');
    await pool.stop();
    await pool.stop();
    await expect(pool.acquire('a')).rejects.toMatchObject({ code: 'backend_down' });
    expect(slot.state).toBe('available');
    expect(pool.containerOf(slot)).toBeUndefined();
    await pool.release(slot, { resetWorkspace: true });
    await pool.start();
    expect((await pool.acquire('a')).slotId).not.toBe(slot.slotId);
  });

  test('stop during the start ends it', async () => {
    const { pool, driver } = createPool({ minContainers: 2 });
    const gate = createGate();
    driver.before.start = () => (driver.starts === 1 ? gate.wait() : undefined);
    const starting = watch(pool.start());
    await atRest();
    await pool.stop();
    expect(starting.error).toMatchObject({ code: 'backend_down' });
    expect(driver.containers.size).toBe(0);
  });

  test('stop rejects waiting callers, also for a slot that is being opened, and leaves no container behind', async () => {
    const { pool, driver } = await startPool({ maxContainers: 1, slotsPerContainer: 1 });
    const gate = createGate();
    driver.before.open = gate.wait;
    const callers = [watch(pool.acquire('a')), watch(pool.acquire('b'))];
    await atRest();
    const stopping = pool.stop();
    await atRest();
    for (const { error } of callers) expect(error).toMatchObject({ code: 'backend_down' });
    gate.open();
    await stopping;
    expect(driver.kept).toEqual(new Set(['a']));
  });

  test('a container whose start succeeds although it was given up is ended', async () => {
    const { pool, driver } = await startPool();
    const gate = createGate();
    driver.startContainer = async () => {
      await gate.wait();
      const container = { containerId: 'late', alive: true, open: new Map() };
      driver.containers.add(container);
      return container;
    };
    const caller = watch(pool.acquire());
    await atRest();
    const stopping = pool.stop();
    gate.open();
    await stopping;
    expect(caller.error).toMatchObject({ code: 'backend_down' });
    expect(driver.containers.size).toBe(0);
  });

  test('start and stop happen in the order in which they were called', async () => {
    const { pool, driver } = createPool({ minContainers: 1 });
    await Promise.allSettled([pool.start(), pool.stop(), pool.start(), pool.start()]);
    expect(driver.containers.size).toBe(1);
    await Promise.allSettled([pool.stop(), pool.start(), pool.stop()]);
    expect(driver.containers.size).toBe(0);
  });

  test('stop says which containers it could not end', async () => {
    const { pool, driver } = await startPool({ minContainers: 2 });
    driver.before.stop = () => {
      throw new Error('the daemon does not answer');
    };
    await expect(pool.stop()).rejects.toMatchObject({
      code: 'backend_down',
      message: expect.stringContaining('2 of 2 containers could not be ended: the daemon does not answer'),
    });
    driver.containers.clear();
  });

  test.each([
    [{ slotsPerContainer: 0 }, 'slotsPerContainer'],
    [{ minContainers: -1 }, 'minContainers'],
    [{ minContainers: 3 }, 'maxContainers'],
    [{ maxContainers: 0 }, 'maxContainers'],
    [{ warmSlots: 5 }, 'warmSlots'],
    [{ warmSlots: 0.5 }, 'warmSlots'],
    [{ acquireTimeoutS: 0 }, 'acquireTimeoutS'],
    [{ idleContainerS: Number.NaN }, 'idleContainerS'],
    [{ healthIntervalS: 3_000_000 }, 'healthIntervalS'],
  ])('%j is refused with a message about %s', (limits, named) => {
    expect(() => createPool(limits)).toThrow(named);
  });
});

describe('affinity', () => {
  test('a held trajectory gives the slot that holds it, also to concurrent callers', async () => {
    const { pool, driver } = await startPool();
    const [one, two] = await Promise.all([pool.acquire('a'), pool.acquire('a')]);
    const three = await pool.acquire('a');
    expect(new Set([one, two, three].map(({ slotId }) => slotId)).size).toBe(1);
    expect(driver.opened).toEqual(['a']);
  });

  test('slots without a trajectory are different', async () => {
    const { pool } = await startPool();
    const slots = await Promise.all([pool.acquire(), pool.acquire(), pool.acquire()]);
    expect(new Set(slots.map(({ slotId }) => slotId)).size).toBe(3);
  });

  test('a trajectory that comes back gets a new slot, in its last container if that has room', async () => {
    const { pool } = await startPool({ minContainers: 2 });
    const first = await pool.acquire('a');
    const second = await pool.acquire('b');
    expect(second.containerId).not.toBe(first.containerId);
    await pool.release(second);
    await pool.release(first);
    const again = await pool.acquire('b');
    expect(again.slotId).not.toBe(second.slotId);
    expect(again.containerId).toBe(second.containerId);
  });

  test('a trajectory whose last container is full gets a slot elsewhere', async () => {
    const { pool } = await startPool({ minContainers: 2, slotsPerContainer: 1 });
    const first = await pool.acquire('a');
    await pool.release(first);
    const taken = await pool.acquire('b');
    expect(taken.containerId).toBe(first.containerId);
    expect((await pool.acquire('a')).containerId).not.toBe(first.containerId);
  });

  test('a trajectory whose slot is being released waits for it, and callers that need not wait pass it', async () => {
    const { pool, driver } = await startPool({ maxContainers: 1 });
    const gate = createGate();
    const slot = await pool.acquire('a');
    driver.before.close = gate.wait;
    const releasing = pool.release(slot);
    const again = watch(pool.acquire('a'));
    const other = watch(pool.acquire('b'));
    const waiting = watch(pool.acquire('c'));
    await atRest();
    expect(other.value?.trajectoryId).toBe('b');
    expect([again.settled, waiting.settled]).toEqual([false, false]);
    expect(slot.state).toBe('releasing');
    gate.open();
    await releasing;
    await atRest();
    expect(again.value?.trajectoryId).toBe('a');
    expect(again.value?.slotId).not.toBe(slot.slotId);
    expect(waiting.settled).toBe(false);
  });
});

describe('waiting', () => {
  test('first come, first served', async () => {
    const { pool, driver } = await startPool({ maxContainers: 1, slotsPerContainer: 1 });
    const slots: Slot[] = [await pool.acquire('first')];
    const callers = ['a', 'b', undefined, 'c'].map((id) => pool.acquire(id));
    for (const caller of callers) {
      await pool.release(slots.at(-1) as Slot);
      slots.push(await caller);
    }
    expect(driver.opened).toEqual(['first', 'a', 'b', undefined, 'c']);
  });

  test('a caller that gives up gets nothing and delays nobody', async () => {
    const { pool, driver, clock } = await startPool({ maxContainers: 1, slotsPerContainer: 1 });
    const held = await pool.acquire('held');
    const controller = new AbortController();
    const aborted = watch(pool.acquire('a', { signal: controller.signal }));
    const late = watch(pool.acquire('b'));
    await clock.advanceS(29);
    const next = watch(pool.acquire('c'));
    const reason = new Error('not needed');
    controller.abort(reason);
    await clock.advanceS(1);
    expect(aborted.error).toBe(reason);
    expect(late.error).toMatchObject({ code: 'acquire_timeout' });
    expect(pool.stats().waiting).toBe(1);
    await pool.release(held);
    await atRest();
    expect(next.value?.trajectoryId).toBe('c');
    expect(driver.opened).toEqual(['held', 'c']);
    await expect(pool.acquire('d', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  test('a caller that gives up while the slot is being opened gets nothing, and the slot is free again', async () => {
    const { pool, driver } = await startPool({ maxContainers: 1, slotsPerContainer: 1 });
    const gate = createGate();
    driver.before.open = gate.wait;
    const controller = new AbortController();
    const gaveUp = watch(pool.acquire('a', { signal: controller.signal }));
    await atRest();
    expect(driver.opened).toEqual(['a']);
    controller.abort();
    const next = watch(pool.acquire('b'));
    gate.open();
    await atRest();
    expect(gaveUp.error).toMatchObject({ name: 'AbortError' });
    expect(next.value?.trajectoryId).toBe('b');
    expect(driver.kept).toEqual(new Set(['a']));
  });

  test('when one of several callers for a trajectory gives up, the others are still served', async () => {
    const { pool, driver } = await startPool();
    const gate = createGate();
    driver.before.open = gate.wait;
    const controller = new AbortController();
    const one = watch(pool.acquire('a', { signal: controller.signal }));
    const two = watch(pool.acquire('a'));
    await atRest();
    controller.abort();
    gate.open();
    await atRest();
    expect(one.error).toBeDefined();
    expect(two.value?.state).toBe('acquired');
    expect(driver.opened).toEqual(['a']);
  });

  test('a container whose start nobody waits for any more serves the next caller', async () => {
    const { pool, driver } = await startPool();
    const gate = createGate();
    driver.before.start = gate.wait;
    const controller = new AbortController();
    const gaveUp = watch(pool.acquire('a', { signal: controller.signal }));
    await atRest();
    controller.abort();
    gate.open();
    await atRest();
    expect(gaveUp.error).toBeDefined();
    expect(driver.opened).toEqual([]);
    expect((await pool.acquire('b')).trajectoryId).toBe('b');
    expect(driver.starts).toBe(1);
  });

  test('a slow start delays nobody who can be served otherwise', async () => {
    const { pool, driver } = await startPool({ slotsPerContainer: 1, maxContainers: 3 });
    const held = await pool.acquire('held');
    const slow = createGate();
    driver.before.start = () => (driver.starts === 2 ? slow.wait() : undefined);
    const a = watch(pool.acquire('a'));
    await atRest();
    const b = watch(pool.acquire('b'));
    await atRest();
    // The second container was ready first, and the first caller has it.
    expect([a.settled, b.settled]).toEqual([true, false]);
    await pool.release(held);
    await atRest();
    expect(b.value?.containerId).toBe(held.containerId);
    slow.open();
  });

  test('a slow opening delays nobody', async () => {
    const { pool, driver } = await startPool();
    const gate = createGate();
    driver.before.open = (_, { trajectoryId }) => (trajectoryId === 'slow' ? gate.wait() : undefined);
    const slow = watch(pool.acquire('slow'));
    expect((await pool.acquire('quick')).state).toBe('acquired');
    expect(slow.settled).toBe(false);
    gate.open();
  });

  test('a caller whose time is over learns the state and what to change', async () => {
    const { pool, clock } = await startPool({ maxContainers: 2, slotsPerContainer: 2 });
    await Promise.all(['a', 'b', 'c', 'd'].map((id) => pool.acquire(id)));
    const caller = watch(pool.acquire('e'));
    await clock.advanceS(30);
    expect(caller.error).toMatchObject({ code: 'acquire_timeout' });
    expect(caller.error?.message).toBe(
      'No slot was free within 30 s: 4 of 4 slots are in use, 2 of 2 containers are ready, 0 starting, 0 ending. ' +
        'Raise maxContainers (2) or slotsPerContainer (2).',
    );
  });

  test('a caller whose time is over while a container starts learns that, and the last failure', async () => {
    const { pool, driver, clock } = await startPool({ slotsPerContainer: 1, acquireTimeoutS: 3 });
    await pool.acquire('held');
    driver.before.start = () => {
      if (driver.starts === 2) throw new Error('port is taken');
      return new Promise(() => {});
    };
    const caller = watch(pool.acquire('a'));
    await clock.advanceS(3);
    expect(caller.error?.message).toContain('1 of 2 containers are ready, 1 starting');
    expect(caller.error?.message).toContain('The last start failed: port is taken');
    expect(caller.error?.message).toContain('raise acquireTimeoutS (3)');
  });
});

test('a caller whose trajectory is stuck in a container that does not end learns which', async () => {
  const { pool, driver, clock } = await startPool();
  await pool.acquire('a');
  const container = only(driver.containers);
  driver.before.stop = () => {
    throw new Error('the daemon does not answer');
  };
  pool.containerFailed(container, 'killed');
  const again = watch(pool.acquire('a'));
  await clock.advanceS(30);
  expect(again.error?.message).toContain(`is in the container ${container.containerId} until that has ended`);
});

describe('scaling', () => {
  test('containers start in parallel, as many as those who wait need, up to the maximum', async () => {
    const { pool, driver } = await startPool({ maxContainers: 4 });
    const gate = createGate();
    driver.before.start = gate.wait;
    const callers = Array.from({ length: 5 }, () => pool.acquire());
    expect(pool.stats().containers.starting).toBe(3);
    callers.push(...Array.from({ length: 20 }, () => pool.acquire()));
    expect(pool.stats().containers.starting).toBe(4);
    gate.open();
    await Promise.all(callers.slice(0, 8));
    expect(pool.stats()).toMatchObject({ containers: { ready: 4 }, waiting: 17 });
    for (const caller of callers.slice(8)) caller.catch(() => {});
  });

  test('several callers for one trajectory need one slot', async () => {
    const { pool, driver } = await startPool({ slotsPerContainer: 1 });
    const gate = createGate();
    driver.before.start = gate.wait;
    const callers = [pool.acquire('a'), pool.acquire('a'), pool.acquire('a')];
    expect(pool.stats().containers.starting).toBe(1);
    gate.open();
    await Promise.all(callers);
  });

  test('warm slots exist before anybody asks, and are replaced when they are taken', async () => {
    const { pool } = await startPool({ warmSlots: 2, maxContainers: 3 });
    await atRest();
    expect(pool.stats()).toMatchObject({ containers: { ready: 1 }, slots: { available: 2 } });
    await pool.acquire();
    await atRest();
    expect(pool.stats()).toMatchObject({ containers: { ready: 2 }, slots: { available: 3 } });
    await pool.acquire();
    await pool.acquire();
    await atRest();
    expect(pool.stats()).toMatchObject({ containers: { ready: 3 }, slots: { available: 3 } });
  });

  test('containers that are empty for long are ended, but neither the minimum nor the warm slots', async () => {
    const { pool, driver, clock } = await startPool({ minContainers: 1, warmSlots: 3, maxContainers: 4 });
    const slots = await Promise.all(Array.from({ length: 8 }, () => pool.acquire()));
    expect(pool.stats().containers.ready).toBe(4);
    await Promise.all(slots.map((slot) => pool.release(slot)));
    await clock.advanceS(59);
    expect(pool.stats().containers.ready).toBe(4);
    await clock.advanceS(1);
    expect(pool.stats()).toMatchObject({ containers: { ready: 2 }, slots: { available: 4 } });
    await clock.advanceS(600);
    expect(pool.stats().containers.ready).toBe(2);
    expect(driver.starts).toBe(4);
  });

  test('a container that was used in between is not idle', async () => {
    const { pool, clock } = await startPool();
    await pool.release(await pool.acquire('a'));
    await clock.advanceS(50);
    await pool.release(await pool.acquire('a'));
    await clock.advanceS(59);
    expect(pool.stats().containers.ready).toBe(1);
    await clock.advanceS(1);
    expect(pool.stats().containers.ready).toBe(0);
    expect((await pool.acquire('a')).state).toBe('acquired');
  });

  test('new slots fill the needed containers, so that the others become empty', async () => {
    const { pool, clock } = await startPool({ slotsPerContainer: 4, minContainers: 2, maxContainers: 4 });
    const many = await Promise.all(Array.from({ length: 16 }, () => pool.acquire()));
    await Promise.all(many.map((slot) => pool.release(slot)));
    const few = await Promise.all(Array.from({ length: 4 }, () => pool.acquire()));
    const perContainer = Map.groupBy(few, ({ containerId }) => containerId);
    expect([...perContainer.values()].map(({ length }) => length)).toEqual([2, 2]);
    await clock.advanceS(60);
    expect(pool.stats().containers.ready).toBe(2);
  });
});

describe('starts that fail', () => {
  test('reject waiting callers at once when nothing could serve them', async () => {
    const { pool, driver, troubles } = await startPool({ maxContainers: 2 });
    driver.before.start = () => {
      throw new Error('exec format error');
    };
    const results = await Promise.allSettled([pool.acquire('a'), pool.acquire('b'), pool.acquire()]);
    for (const result of results) {
      expect(result).toMatchObject({
        status: 'rejected',
        reason: { code: 'slot_unavailable', message: 'No container could be started: exec format error' },
      });
    }
    expect(driver.starts).toBe(2);
    expect(troubles).toContain('A container did not start: exec format error');
  });

  test('leave callers waiting that a running container can serve', async () => {
    const { pool, driver, clock } = await startPool({ slotsPerContainer: 1 });
    const held = await pool.acquire('held');
    driver.before.start = () => {
      throw new Error('no space left');
    };
    const caller = watch(pool.acquire('a'));
    await clock.advanceS(5);
    expect(caller.settled).toBe(false);
    await pool.release(held);
    await atRest();
    expect(caller.value?.trajectoryId).toBe('a');
  });

  test('leave callers waiting for whom another container still starts', async () => {
    const { pool, driver } = await startPool({ slotsPerContainer: 1 });
    const gate = createGate();
    driver.before.start = () => {
      if (driver.starts === 2) throw new Error('bad luck');
      return gate.wait();
    };
    const callers = [watch(pool.acquire('a')), watch(pool.acquire('b'))];
    await atRest();
    expect(callers.map(({ settled }) => settled)).toEqual([false, false]);
    gate.open();
    await atRest();
    expect(callers[0]?.value?.trajectoryId).toBe('a');
  });

  test('are retried one at a time, after growing pauses', async () => {
    const { pool, driver, clock } = await startPool({
      maxContainers: 4,
      slotsPerContainer: 1,
      acquireTimeoutS: 100,
    });
    await pool.acquire('held');
    driver.before.start = () => {
      throw new Error('no such image');
    };
    const callers = [1, 2, 3].map(() => watch(pool.acquire()));
    await atRest();
    expect(driver.starts).toBe(4);
    for (const [seconds, starts] of [
      [0.9, 4],
      [0.1, 5],
      [1.9, 5],
      [0.1, 6],
      [4, 7],
      [8, 8],
      [14.9, 8],
      [0.05, 8],
    ] as const) {
      await clock.advanceS(seconds);
      expect(driver.starts).toBe(starts);
    }
    driver.before.start = undefined;
    await clock.advanceS(0.05);
    // One succeeded, so nothing holds the others back.
    expect(driver.starts).toBe(11);
    expect(callers.map(({ value }) => value?.state)).toEqual(['acquired', 'acquired', 'acquired']);
  });

  test('include containers that die before they served anybody', async () => {
    const { pool, driver, clock, troubles } = await startPool({ acquireTimeoutS: 20 });
    driver.before.open = (container) => {
      container.alive = false;
    };
    const caller = watch(pool.acquire('a'));
    await clock.advanceS(6.9);
    expect(driver.starts).toBe(3);
    await clock.advanceS(0.1);
    expect(driver.starts).toBe(4);
    await clock.advanceS(13);
    expect(caller.error?.message).toContain(
      'The last start failed: The container container_5 was lost: it is dead',
    );
    expect(troubles).toHaveLength(driver.starts);
  });

  test('make new callers wait for the next attempt', async () => {
    const { pool, driver, clock } = await startPool();
    driver.before.start = () => {
      throw new Error('the daemon is down');
    };
    await expect(pool.acquire()).rejects.toMatchObject({ code: 'slot_unavailable' });
    const failing = watch(pool.acquire());
    await clock.advanceS(1);
    expect(failing.error).toMatchObject({ code: 'slot_unavailable' });
    const served = watch(pool.acquire());
    driver.before.start = undefined;
    await clock.advanceS(2);
    expect(served.value?.state).toBe('acquired');
  });
});

describe('containers that die', () => {
  test('are noticed by a check, ended and replaced, and their slots answer nothing any more', async () => {
    const { pool, driver, clock, troubles } = await startPool({ minContainers: 1 });
    const slot = await pool.acquire('a');
    const container = only(driver.containers);
    expect(pool.containerOf(slot)).toBe(container);
    container.alive = false;
    await clock.advanceS(10);
    expect(slot.state).toBe('error');
    expect(pool.containerOf(slot)).toBeUndefined();
    await expect(pool.use(slot, async () => 1)).rejects.toMatchObject({
      code: 'slot_gone',
      message: expect.stringContaining('it is dead'),
    });
    expect(troubles.join()).toContain('it is dead');
    expect(only(driver.containers)).not.toBe(container);
    const next = await pool.acquire('a');
    expect(next.slotId).not.toBe(slot.slotId);
    expect(next.containerId).not.toBe(slot.containerId);
  });

  test('that do not answer are dead when the time for a check is over', async () => {
    const { pool, driver, clock } = await startPool();
    const slot = await pool.acquire();
    let aborted = false;
    driver.before.check = (_, signal) => {
      signal.addEventListener('abort', () => {
        aborted = true;
      });
      return new Promise(() => {});
    };
    await clock.advanceS(14.9);
    expect(slot.state).toBe('acquired');
    await clock.advanceS(0.1);
    expect(slot.state).toBe('error');
    expect(aborted).toBe(true);
  });

  test('are never handed out again, even if they come back', async () => {
    const { pool, driver } = await startPool({ maxContainers: 1 });
    const slot = await pool.acquire();
    const container = only(driver.containers);
    const gate = createGate();
    driver.before.stop = gate.wait;
    pool.containerFailed(container, 'connection reset');
    pool.containerFailed(container, 'connection reset');
    const next = watch(pool.acquire());
    await atRest();
    expect(next.settled).toBe(false);
    expect(pool.stats()).toMatchObject({ containers: { ready: 0, stopping: 1 }, slots: { error: 1 } });
    gate.open();
    await atRest();
    expect(next.value?.containerId).not.toBe(slot.containerId);
  });

  test('abort the work in their slots', async () => {
    const { pool, driver } = await startPool();
    const slot = await pool.acquire();
    const working = watch(
      pool.use(
        slot,
        (_, { gone }) =>
          new Promise((_, reject) => gone.addEventListener('abort', () => reject(gone.reason))),
      ),
    );
    expect(slot.state).toBe('executing');
    pool.containerFailed(only(driver.containers), 'out of memory');
    await atRest();
    expect(working.error).toMatchObject({
      code: 'slot_gone',
      message: expect.stringContaining('out of memory'),
    });
  });

  test('keep a trajectory from everyone until its workspace is saved', async () => {
    const { pool, driver } = await startPool({ maxContainers: 3 });
    await pool.acquire('a');
    const gate = createGate();
    driver.before.stop = gate.wait;
    pool.containerFailed(only(driver.containers), 'killed');
    const again = watch(pool.acquire('a'));
    const other = await pool.acquire('b');
    expect(other.state).toBe('acquired');
    expect(again.settled).toBe(false);
    gate.open();
    await atRest();
    expect(again.value?.trajectoryId).toBe('a');
  });

  test('return callers that waited for a slot in them to their positions', async () => {
    const { pool, driver, clock } = await startPool({ maxContainers: 1, slotsPerContainer: 1 });
    const dying = createGate();
    driver.before.open = (container) => (container.containerId === 'container_1' ? dying.wait() : undefined);
    const callers = ['a', 'b'].map((id) => watch(pool.acquire(id)));
    await atRest();
    only(driver.containers).alive = false;
    dying.open();
    await clock.advanceS(1);
    expect(callers.map(({ value }) => value?.trajectoryId)).toEqual(['a', undefined]);
    expect(callers[0]?.value?.containerId).toBe('container_2');
  });

  test('a slot that died can be released, and its workspace reset', async () => {
    const { pool, driver } = await startPool();
    const kept = await pool.acquire('kept');
    const reset = await pool.acquire('reset');
    pool.containerFailed(only(driver.containers), 'killed');
    await pool.release(kept);
    await pool.release(reset, { resetWorkspace: true });
    expect(driver.kept).toEqual(new Set(['kept']));
    await pool.release(await pool.acquire('reset'));
    await pool.release(reset, { resetWorkspace: true });
    expect(driver.kept).toEqual(new Set(['kept', 'reset']));
  });

  test('a slot that dies while it is released is released', async () => {
    const { pool, driver } = await startPool();
    const slot = await pool.acquire('a');
    const gate = createGate();
    driver.before.close = gate.wait;
    const released = pool.release(slot, { resetWorkspace: true });
    only(driver.containers).alive = false;
    gate.open();
    await released;
    expect(slot.state).toBe('error');
    expect(driver.kept.size).toBe(0);
    expect((await pool.acquire('a')).slotId).not.toBe(slot.slotId);
  });

  test('that cannot be ended are retried, and count until then', async () => {
    const { pool, driver, clock, troubles } = await startPool({ maxContainers: 1 });
    await pool.acquire('a');
    driver.before.stop = () => {
      throw new Error('the daemon does not answer');
    };
    pool.containerFailed(only(driver.containers), 'killed');
    const next = watch(pool.acquire('b'));
    await clock.advanceS(5);
    expect(next.settled).toBe(false);
    expect(troubles.join()).toContain('could not be ended: the daemon does not answer');
    driver.before.stop = undefined;
    await clock.advanceS(5);
    expect(next.value?.state).toBe('acquired');
  });
});

describe('slots that fail', () => {
  test('one that could not be opened fails only its callers', async () => {
    const { pool, driver } = await startPool();
    driver.before.open = (_, { trajectoryId }) => {
      if (trajectoryId === 'broken') throw new Error('the workspace is damaged');
    };
    const results = await Promise.allSettled([pool.acquire('broken'), pool.acquire('a')]);
    expect(results[0]).toMatchObject({
      reason: { code: 'slot_unavailable', message: expect.stringContaining('the workspace is damaged') },
    });
    expect(results[1]).toMatchObject({ status: 'fulfilled' });
    await atRest();
    expect(pool.stats()).toMatchObject({ containers: { ready: 1 }, slots: { available: 1, acquired: 1 } });
  });

  test('one that could not be cleaned is never given out: its container drains and ends', async () => {
    const { pool, driver, troubles } = await startPool({ maxContainers: 1 });
    const dirty = await pool.acquire('dirty');
    const other = await pool.acquire('other');
    driver.before.close = (_, { trajectoryId }) => {
      if (trajectoryId === 'dirty') throw new Error('a process does not end');
    };
    await expect(pool.release(dirty)).rejects.toMatchObject({
      code: 'slot_not_closed',
      message: expect.stringContaining('a process does not end'),
    });
    expect(dirty.state).toBe('error');
    expect(troubles.join()).toContain('a process does not end');
    expect(pool.containerOf(other)).toBeDefined();
    expect(pool.stats()).toMatchObject({
      containers: { ready: 0, draining: 1 },
      slots: { acquired: 1, error: 1, available: 0 },
    });
    const next = watch(pool.acquire('next'));
    const again = watch(pool.acquire('dirty'));
    await atRest();
    expect([next.settled, again.settled]).toEqual([false, false]);
    await pool.release(other);
    await atRest();
    expect(next.value?.containerId).toBe('container_2');
    expect(again.value?.containerId).toBe('container_2');
    expect(driver.kept.has('dirty')).toBe(false);
  });

  test('a drained container is replaced at once if there may be another', async () => {
    const { pool, driver } = await startPool({ minContainers: 1 });
    const slots = await Promise.all([pool.acquire('a'), pool.acquire('b')]);
    driver.before.close = () => {
      throw new Error('busy');
    };
    await pool.release(slots[0]).catch(() => {});
    await atRest();
    expect(pool.stats().containers).toMatchObject({ ready: 1, draining: 1 });
  });
});

describe('releasing', () => {
  test('the workspace is kept for its trajectory, or reset', async () => {
    const { pool, driver } = await startPool();
    const kept = await pool.acquire('kept');
    await pool.release(kept);
    await pool.release(await pool.acquire('reset'), { resetWorkspace: true });
    expect(driver.kept).toEqual(new Set(['kept']));
    expect(kept.state).toBe('available');
  });

  test('twice is harmless, at the same time and later', async () => {
    const { pool, driver } = await startPool();
    const slot = await pool.acquire('a');
    await Promise.all([pool.release(slot), pool.release(slot, { resetWorkspace: true })]);
    const next = await pool.acquire('a');
    await pool.release(slot, { resetWorkspace: true });
    expect(next.state).toBe('acquired');
    await pool.release(next);
    expect(driver.kept).toEqual(new Set(['a']));
  });

  test('a release ends the work in its slot, and the container is not touched until it has ended', async () => {
    const { pool, driver } = await startPool({ singleUse: true, slotsPerContainer: 1 });
    const slot = await pool.acquire();
    const answer = createGate();
    const ends: string[] = [];
    driver.before.close = () => void ends.push('closed');
    const working = pool.use(slot, async (_, { released, gone }) => {
      await new Promise((resolve) => released.addEventListener('abort', resolve));
      await answer.wait();
      ends.push(`answered, gone: ${gone.aborted}`);
    });
    const releasing = watch(pool.release(slot));
    await atRest();
    expect(ends).toEqual([]);
    answer.open();
    await working;
    await atRest();
    expect(releasing.settled).toBe(true);
    expect(ends).toEqual(['answered, gone: false', 'closed']);
  });

  test('a container that dies before the work in a released slot has ended is not asked to close it', async () => {
    const { pool, driver } = await startPool();
    const slot = await pool.acquire('a');
    const answer = createGate();
    let closes = 0;
    driver.before.close = () => void closes++;
    const working = pool.use(slot, () => answer.wait());
    const releasing = pool.release(slot, { resetWorkspace: true });
    pool.containerFailed(only(driver.containers), 'killed');
    await atRest();
    answer.open();
    await Promise.all([working, releasing]);
    expect(closes).toBe(0);
    expect(driver.discarded).toEqual(['a']);
  });

  test('a released slot takes no more work', async () => {
    const { pool } = await startPool();
    const slot = await pool.acquire('a');
    await pool.release(slot);
    await pool.acquire('b');
    expect(pool.containerOf(slot)).toBeUndefined();
    await expect(pool.use(slot, async () => 1)).rejects.toMatchObject({ code: 'slot_gone' });
  });
});

describe('containers for a single use', () => {
  test('are ended with their slot and replaced, whatever was in it', async () => {
    const { pool, driver } = await startPool({ singleUse: true, slotsPerContainer: 1, warmSlots: 1 });
    const slot = await pool.acquire('a');
    const used = pool.containerOf(slot);
    await pool.release(slot, { resetWorkspace: true });
    expect(slot.state).toBe('available');
    await atRest();
    expect(driver.containers).not.toContain(used);
    expect(pool.containerOf(await pool.acquire('a'))).not.toBe(used);
  });
});

describe('discarding', () => {
  test('deletes the workspace of a trajectory that no slot holds', async () => {
    const { pool, driver } = await startPool();
    const slot = await pool.acquire('a');
    await expect(pool.discard('a')).rejects.toMatchObject({ code: 'slot_held' });
    const releasing = pool.release(slot);
    await pool.discard('a');
    await releasing;
    expect(driver.kept.size).toBe(0);
    expect(driver.discarded).toEqual(['a']);
  });

  test('nobody gets a trajectory while its workspace is deleted', async () => {
    const { pool, driver } = await startPool();
    const gate = createGate();
    driver.before.discard = gate.wait;
    const discarding = pool.discard('a');
    const caller = watch(pool.acquire('a'));
    expect((await pool.acquire('b')).state).toBe('acquired');
    expect(caller.settled).toBe(false);
    gate.open();
    await discarding;
    await atRest();
    expect(caller.value?.state).toBe('acquired');
  });
});

describe('working on a workspace in its place', () => {
  test('kept: no slot gets it meanwhile', async () => {
    const { pool } = await startPool();
    const gate = createGate();
    const working = pool.inPlace('a', async (container) => {
      await gate.wait();
      return container;
    });
    const acquired = watch(pool.acquire('a'));
    await atRest();
    expect(acquired.settled).toBe(false);
    gate.open();
    expect(await working).toBeUndefined();
    await atRest();
    expect(acquired.value).toMatchObject({ trajectoryId: 'a' });
  });

  test('in a slot: its release waits', async () => {
    const { pool, driver } = await startPool();
    const slot = await pool.acquire('a');
    const gate = createGate();
    const working = pool.inPlace('a', async (container) => {
      await gate.wait();
      return container;
    });
    expect(slot.state).toBe('executing');
    const released = watch(pool.release(slot));
    await atRest();
    expect(released.settled).toBe(false);
    gate.open();
    expect(await working).toBe(only(driver.containers));
    await atRest();
    expect(released.settled).toBe(true);
  });

  test('on its way into a slot or out of it: it waits until it is there', async () => {
    const { pool, driver } = await startPool();
    const gate = createGate();
    driver.before.open = gate.wait;
    const acquiring = pool.acquire('a');
    await atRest();
    const seen = watch(pool.inPlace('a', async (container) => container?.containerId ?? 'kept'));
    await atRest();
    expect(seen.settled).toBe(false);
    gate.open();
    const slot = await acquiring;
    await atRest();
    expect(seen.value).toBe(slot.containerId);

    const out = createGate();
    driver.before.close = out.wait;
    const releasing = pool.release(slot);
    const after = watch(pool.inPlace('a', async (container) => container?.containerId ?? 'kept'));
    await atRest();
    expect(after.settled).toBe(false);
    out.open();
    await releasing;
    await atRest();
    expect(after.value).toBe('kept');
  });

  test('in a slot that could not be cleaned: it fails and does not wait', async () => {
    const { pool, driver } = await startPool();
    const [slot, other] = [await pool.acquire('a'), await pool.acquire('b')];
    expect(other.containerId).toBe(slot.containerId);
    driver.before.close = () => {
      throw new Error('stuck');
    };
    await expect(pool.release(slot)).rejects.toMatchObject({ code: 'slot_not_closed' });
    await expect(pool.inPlace('a', async () => 'done')).rejects.toMatchObject({ code: 'slot_unavailable' });
    driver.before.close = undefined;
  });
});
