/**
 * The local sandbox, for a program that uses the package on its own: acquiring a slot, and commands that do nothing,
 * one after the other, eight at a time, and in one large batch.
 *
 * Fair because the same process spawns the floors and reads them to their end, and bare bubblewrap has the backend's
 * options. It lacks what the backend adds: a first process that outlives everything the command started, outputs in
 * order and within bounds, a script of any length, timeouts.
 */
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
    const bareBubblewrap = await createBareBubblewrap(backend, slot);
    return [
      ...(await acquireWarm(backend, stage.directory())),
      await acquireCold(stage, bareBubblewrap),
      ...(await exec(backend, slot, bareBubblewrap)),
      await execWide(backend, slot, bareBubblewrap),
      ...(await execUnderLimits(stage, backend, slot)),
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
    { ...row, floor: { name: 'bare spawn', rounds: spawn } },
  ];
}

/** Like a server: with limits, but optional ones, so that the row exists on every machine. */
async function execUnderLimits(stage: Stage, backend: ToolBackend, slot: Slot): Promise<Row[]> {
  const options = { workspacesDir: stage.directory(), isolation: 'bubblewrap' } as const;
  const limited = new LocalBackend({ ...options, preferredLimits: LIMITS });
  await limited.start();
  try {
    const limitedSlot = await limited.acquire('bench');
    const after = (pauseMs: number, on: ToolBackend, commands: Slot) => async () => {
      await delay(pauseMs);
      return medianTime(pauseMs === 0 ? COMMANDS : 1, () => runCommand(on, commands));
    };
    const rows: Row[] = [];
    for (const pauseMs of [0, PAUSE_MS]) {
      const { ours, floor } = await alternate(WIDE_ROUNDS, {
        floor: after(pauseMs, backend, slot),
        ours: after(pauseMs, limited, limitedSlot),
      });
      rows.push({
        what: `local exec, p50, under limits${pauseMs === 0 ? '' : ', after a pause'}`,
        unit: 'ms',
        better: 'less',
        ours,
        floor: { name: 'without limits', rounds: floor },
        note: limited
          .stats()
          .limits.map(({ limit, by }) => `${limit} by ${by}`)
          .join(', '),
      });
    }
    return rows;
  } finally {
    await limited.stop({ purge: true });
  }
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
