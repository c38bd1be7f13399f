/**
 * The local sandbox, for a program that uses the package on its own: acquiring a slot, and commands that do nothing,
 * one after the other, eight at a time, and in one large batch.
 *
 * Fair because the same process spawns the floors and reads them to their end, and bare bubblewrap has the backend's
 * options. It lacks what the backend adds: a first process that outlives everything the command started, outputs in
 * order and within bounds, a script of any length, timeouts.
 */
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Slot, ToolBackend } from '../../packages/sandbox/src/backend.ts';
import { LocalBackend } from '../../packages/sandbox/src/local/local-backend.ts';
import { medianTime, medianTimeWide, rateOf, runBatch, runCommand, timeOf } from '../client/commands.ts';
import { bareSpawn, createBareBubblewrap } from '../floors/bare-commands.ts';
import type { Missing, Row } from '../rows.ts';
import type { Stage } from '../stage.ts';
import { alternate } from '../statistics.ts';

type Command = () => Promise<void>;

const ACQUIRE_ROUNDS = 9;
const ACQUIRES = 30;
const COLD_ROUNDS = 5;
/** Many and short: the machine is the same for both sides of a round. */
const ROUNDS = 25;
const COMMANDS = 4;
const WIDTH = 8;
const WIDE_ROUNDS = 9;
const BATCH_ROUNDS = 3;
const BATCH = 200;
const SLOTS = 50;
const MOST_OVER_BUBBLEWRAP = 1.3;
const MOST_OVER_SPAWN = 1.5;
const MAIN_THREAD_MS = 1;
const MAIN_THREAD_COMMANDS = 40;
const WARM_SLOTS = 1_000;
const WARM_AT_ONCE = 50;
const WARM_MB = 2_048;
/** Longer than the kernel keeps ready for moving processes between control groups. */
const PAUSE_MS = 150;
const GB = 1024 ** 3;
const LIMITS = { memoryBytes: 4 * GB, processes: 1024, fileSizeBytes: 10 * GB, workspaceBytes: 10 * GB };

export async function sandboxLocal(stage: Stage): Promise<(Row | Missing)[]> {
  const backend = new LocalBackend({ workspacesDir: stage.directory(), isolation: 'bubblewrap' });
  try {
    await backend.start();
  } catch (error) {
    return [{ what: 'local sandbox', missing: (error as Error).message }];
  }
  try {
    const slot = await backend.acquire('bench');
    const bareBubblewrap = await createBareBubblewrap();
    return [
      ...(await acquireWarm(backend, stage.directory())),
      await acquireCold(stage, bareBubblewrap),
      ...(await exec(backend, slot, bareBubblewrap)),
      await execWide(backend, slot, bareBubblewrap),
      ...(await execUnderLimits(stage)),
      await warmSlots(stage),
      await batch(backend, bareBubblewrap),
    ];
  } finally {
    await backend.stop({ purge: true });
  }
}

async function acquireWarm(backend: ToolBackend, floorDir: string): Promise<Row[]> {
  let names = 0;
  const known = Array.from({ length: ACQUIRES }, (_, i) => `known-${i}`);
  const acquireAll = async (nextId: () => string) => {
    const slots: Slot[] = [];
    const took = await medianTime(ACQUIRES, async () => {
      slots.push(await backend.acquire(nextId()));
    });
    for (const slot of slots) await backend.release(slot);
    return took;
  };
  const acquireKnown = () => {
    let next = 0;
    return acquireAll(() => known[next++]!);
  };
  await acquireKnown();
  const { ours, again, floor } = await alternate(ACQUIRE_ROUNDS, {
    floor: () =>
      medianTime(ACQUIRES, async () => {
        const dir = join(floorDir, `floor-${names++}`);
        for (const path of [dir, join(dir, 'a'), join(dir, 'b')]) await mkdir(path);
      }),
    ours: () => acquireAll(() => `new-${names++}`),
    again: acquireKnown,
  });
  const row = { unit: 'ms', better: 'less', aim: { of: 'ours', atMost: 1 } } as const;
  return [
    {
      ...row,
      what: 'local acquire, warm, new',
      ours,
      floor: { name: 'three mkdir', rounds: floor },
      note: 'new: for a trajectory never seen; known: for one whose workspace is there',
    },
    { ...row, what: 'local acquire, warm, known', ours: again },
  ];
}

async function acquireCold(stage: Stage, bareBubblewrap: Command): Promise<Row> {
  const { ours, floor } = await alternate(COLD_ROUNDS, {
    floor: () => timeOf(bareBubblewrap),
    ours: async () => {
      const backend = new LocalBackend({ workspacesDir: stage.directory(), isolation: 'bubblewrap' });
      try {
        return await timeOf(async () => {
          await backend.start();
          await backend.acquire('cold');
        });
      } finally {
        await backend.stop({ purge: true });
      }
    },
  });
  return {
    what: 'local acquire, cold',
    unit: 'ms',
    better: 'less',
    ours,
    floor: { name: 'bare bubblewrap', rounds: floor },
    note: 'from nothing: the backend starts, and tries its isolation out with a first command',
  };
}

async function exec(backend: ToolBackend, slot: Slot, bareBubblewrap: Command): Promise<Row[]> {
  const sides = {
    spawn: () => medianTime(COMMANDS, bareSpawn),
    bubblewrap: () => medianTime(COMMANDS, bareBubblewrap),
    ours: () => medianTime(COMMANDS, () => runCommand(backend, slot)),
  };
  await alternate(2, sides);
  const { ours, spawn, bubblewrap } = await alternate(ROUNDS, sides);
  const row = { what: 'local exec, p50', unit: 'ms', better: 'less', ours } as const;
  return [
    {
      ...row,
      floor: { name: 'bare bubblewrap', rounds: bubblewrap },
      aim: { of: 'ratio', atMost: MOST_OVER_BUBBLEWRAP },
    },
    { ...row, floor: { name: 'bare spawn', rounds: spawn }, aim: { of: 'ratio', atMost: MOST_OVER_SPAWN } },
  ];
}

/** Like a server: with limits, but optional ones, so that the rows exist on every machine. */
async function execUnderLimits(stage: Stage): Promise<Row[]> {
  const options = { workspacesDir: stage.directory(), isolation: 'bubblewrap' } as const;
  const limited = new LocalBackend({ ...options, preferredLimits: LIMITS });
  await limited.start();
  try {
    const slot = await limited.acquire('bench');
    const command = () => runCommand(limited, slot);
    const after = (pauseMs: number, action: Command) => async () => {
      await delay(pauseMs);
      return medianTime(pauseMs === 0 ? COMMANDS : 1, action);
    };
    await command();
    const note = limited
      .stats()
      .limits.map(({ limit, by }) => `${limit} by ${by}`)
      .join(', ');
    const rows: Row[] = [];
    for (const pauseMs of [0, PAUSE_MS]) {
      const { ours, floor } = await alternate(ROUNDS, {
        floor: after(pauseMs, bareSpawn),
        ours: after(pauseMs, command),
      });
      rows.push({
        what: `local exec, p50, under limits${pauseMs === 0 ? '' : ', after a pause'}`,
        unit: 'ms',
        better: 'less',
        ours,
        floor: { name: pauseMs === 0 ? 'bare spawn' : 'bare spawn, after a pause', rounds: floor },
        aim: { of: 'ratio', atMost: MOST_OVER_SPAWN },
        note,
      });
    }
    return [...rows, await mainThread(command), await firstOfSlot(limited)];
  } finally {
    await limited.stop({ purge: true });
  }
}

/** Processor time, so other load on the machine does not count. */
async function mainThread(command: Command): Promise<Row> {
  const perCommand = (action: Command) => async () => {
    const before = process.threadCpuUsage();
    for (let i = 0; i < MAIN_THREAD_COMMANDS; i++) await action();
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1000 / MAIN_THREAD_COMMANDS;
  };
  const sides = { floor: perCommand(bareSpawn), ours: perCommand(command) };
  await alternate(1, sides);
  const { ours, floor } = await alternate(WIDE_ROUNDS, sides);
  return {
    what: 'local exec, main thread',
    unit: 'ms',
    better: 'less',
    ours,
    floor: { name: 'bare spawn', rounds: floor },
    aim: { of: 'ours', atMost: MAIN_THREAD_MS },
    note: 'processor time of the thread that everything else of a server needs',
  };
}

async function firstOfSlot(backend: ToolBackend): Promise<Row> {
  const { ours, floor } = await alternate(ROUNDS, {
    floor: () => timeOf(bareSpawn),
    ours: async () => {
      const slot = await backend.acquire();
      const took = await timeOf(() => runCommand(backend, slot));
      await backend.release(slot);
      return took;
    },
  });
  return {
    what: 'local exec, first of a slot',
    unit: 'ms',
    better: 'less',
    ours,
    floor: { name: 'bare spawn', rounds: floor },
    note: 'under limits; acquiring the slot is not included',
  };
}

/** How much memory the machine has less, once each slot has run a command. */
async function warmSlots(stage: Stage): Promise<Row> {
  const options = { workspacesDir: stage.directory(), isolation: 'bubblewrap' } as const;
  const backend = new LocalBackend({ ...options, preferredLimits: LIMITS });
  await backend.start();
  try {
    const before = availableMb();
    for (let made = 0; made < WARM_SLOTS; made += WARM_AT_ONCE) {
      const slots = await Promise.all(Array.from({ length: WARM_AT_ONCE }, () => backend.acquire()));
      await runBatch(backend, slots, slots.length);
    }
    return {
      what: `${WARM_SLOTS} warm local slots`,
      unit: 'MB',
      better: 'less',
      ours: [before - availableMb()],
      aim: { of: 'ours', atMost: WARM_MB },
      note: 'each has run a command under limits',
    };
  } finally {
    await backend.stop({ purge: true });
  }
}

function availableMb(): number {
  return Number(/^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) / 1024;
}

async function execWide(backend: ToolBackend, slot: Slot, bareBubblewrap: Command): Promise<Row> {
  const { ours, floor } = await alternate(WIDE_ROUNDS, {
    floor: () => medianTimeWide(WIDTH, COMMANDS, bareBubblewrap),
    ours: () => medianTimeWide(WIDTH, COMMANDS, () => runCommand(backend, slot)),
  });
  return {
    what: `local exec, p50, ${WIDTH} wide`,
    unit: 'ms',
    better: 'less',
    ours,
    floor: { name: 'bare bubblewrap', rounds: floor },
    aim: { of: 'ratio', atMost: MOST_OVER_BUBBLEWRAP },
  };
}

async function batch(backend: ToolBackend, bareBubblewrap: Command): Promise<Row> {
  const slots = await Promise.all(Array.from({ length: SLOTS }, () => backend.acquire()));
  const { ours, floor } = await alternate(BATCH_ROUNDS, {
    floor: () => rateOf(BATCH, () => Promise.all(Array.from({ length: BATCH }, bareBubblewrap))),
    ours: () => rateOf(BATCH, () => runBatch(backend, slots, BATCH)),
  });
  return {
    what: `local batch of ${BATCH}, ${SLOTS} slots`,
    unit: 'commands/s',
    better: 'more',
    ours,
    floor: { name: 'bare bubblewrap', rounds: floor },
    note: 'all at once, on both sides',
  };
}
