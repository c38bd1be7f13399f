/**
 * The sandbox in Docker: acquiring a slot in a running container and in one that has to be started, and commands that
 * do nothing. The daemon is that of the tests (sandbox/src/docker/testing), with its image.
 *
 * Fair because `docker exec` runs in the same containers that the backend created. It lacks what the backend adds,
 * first of all a namespace for each command that ends everything the command started. Bare bubblewrap, which creates
 * such namespaces, is spawned on the host with the options of the local backend (sandbox-local.ts): the cost of a
 * command on this machine without any container.
 */
import type { Slot, ToolBackend } from '../../packages/sandbox/src/backend.ts';
import { DockerBackend } from '../../packages/sandbox/src/docker/docker-backend.ts';
import {
  openTestDaemon,
  TEST_IMAGE,
  whyNoDocker,
} from '../../packages/sandbox/src/docker/testing/docker-daemon.ts';
import { LocalBackend } from '../../packages/sandbox/src/local/local-backend.ts';
import { medianTime, medianTimeWide, rateOf, runBatch, runCommand, timeOf } from '../client/commands.ts';
import { createBareBubblewrap } from '../floors/bare-commands.ts';
import { dockerExec, startBareContainer } from '../floors/docker-commands.ts';
import type { Missing, Row } from '../rows.ts';
import type { Stage } from '../stage.ts';
import { alternate } from '../statistics.ts';

const ROUNDS = 9;
const ACQUIRES = 20;
const COLD_ROUNDS = 3;
const COMMANDS = 4;
const WIDTH = 8;
const WIDE_ROUNDS = 5;
const BATCH_ROUNDS = 3;
const BATCH = 200;
const SLOTS = 50;
/** Fewer than of ours: it is far slower, and its rate does not depend on the number. */
const FLOOR_BATCH = 40;

export async function sandboxDocker(stage: Stage): Promise<(Row | Missing)[]> {
  const reason = await whyNoDocker();
  if (reason !== undefined) return [{ what: 'sandbox in Docker', missing: reason }];
  await using daemon = await openTestDaemon();
  const create = () =>
    new DockerBackend({
      workspacesDir: stage.directory(),
      image: TEST_IMAGE,
      dockerHost: daemon.host,
      slotsPerContainer: SLOTS + ACQUIRES,
      maxContainers: 2,
      limits: { processes: 4_000 },
    });
  const backend = create();
  await backend.start();
  try {
    const slot = await backend.acquire('bench');
    const floor = () => dockerExec(daemon.host, slot.containerId);
    return [
      await acquireWarm(backend),
      await acquireCold(create, daemon.host),
      await exec(backend, slot, floor),
      await execOverBubblewrap(backend, slot, stage),
      await execWide(backend, slot, floor),
      await batch(backend, floor),
    ];
  } finally {
    await backend.stop({ purge: true });
  }
}

async function acquireWarm(backend: ToolBackend): Promise<Row> {
  let names = 0;
  const { ours } = await alternate(ROUNDS, {
    ours: async () => {
      const slots: Slot[] = [];
      const took = await medianTime(ACQUIRES, async () => {
        slots.push(await backend.acquire(`warm-${names++}`));
      });
      await Promise.all(slots.map((slot) => backend.release(slot, { resetWorkspace: true })));
      return took;
    },
  });
  return {
    what: 'Docker acquire, warm',
    unit: 'ms',
    better: 'less',
    ours,
    aim: { of: 'ours', atMost: 5 },
    note: 'a new trajectory, in a container that has room',
  };
}

async function acquireCold(create: () => DockerBackend, host: string): Promise<Row> {
  const { ours, floor } = await alternate(COLD_ROUNDS, {
    floor: async () => {
      let remove = async () => {};
      const took = await timeOf(async () => {
        remove = await startBareContainer(host, TEST_IMAGE);
      });
      await remove();
      return took;
    },
    ours: async () => {
      const backend = create();
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
    what: 'Docker acquire, cold',
    unit: 'ms',
    better: 'less',
    ours,
    floor: { name: 'bare container', rounds: floor },
    note: 'from nothing: the backend starts, with its first container and the server in it',
  };
}

const EXEC = { what: 'Docker exec, p50', unit: 'ms', better: 'less' } as const;

async function exec(backend: ToolBackend, slot: Slot, dockerExec: () => Promise<void>): Promise<Row> {
  const sides = {
    floor: () => medianTime(COMMANDS, dockerExec),
    ours: () => medianTime(COMMANDS, () => runCommand(backend, slot)),
  };
  await alternate(1, sides);
  const { ours, floor } = await alternate(ROUNDS, sides);
  return { ...EXEC, ours, floor: { name: 'docker exec', rounds: floor }, aim: { of: 'ours', atMost: 5 } };
}

async function execOverBubblewrap(backend: ToolBackend, slot: Slot, stage: Stage): Promise<Row | Missing> {
  const local = new LocalBackend({ workspacesDir: stage.directory(), isolation: 'bubblewrap' });
  try {
    await local.start();
  } catch (error) {
    return { what: `${EXEC.what}, over bare bubblewrap`, missing: (error as Error).message };
  }
  try {
    const bareBubblewrap = await createBareBubblewrap();
    const { ours, floor } = await alternate(ROUNDS, {
      floor: () => medianTime(COMMANDS, bareBubblewrap),
      ours: () => medianTime(COMMANDS, () => runCommand(backend, slot)),
    });
    return { ...EXEC, ours, floor: { name: 'bare bubblewrap', rounds: floor } };
  } finally {
    await local.stop({ purge: true });
  }
}

async function execWide(backend: ToolBackend, slot: Slot, dockerExec: () => Promise<void>): Promise<Row> {
  const { ours, floor } = await alternate(WIDE_ROUNDS, {
    floor: () => medianTimeWide(WIDTH, COMMANDS / 2, dockerExec),
    ours: () => medianTimeWide(WIDTH, COMMANDS / 2, () => runCommand(backend, slot)),
  });
  return {
    what: `Docker exec, p50, ${WIDTH} wide`,
    unit: 'ms',
    better: 'less',
    ours,
    floor: { name: 'docker exec', rounds: floor },
  };
}

async function batch(backend: ToolBackend, dockerExec: () => Promise<void>): Promise<Row> {
  const slots = await Promise.all(Array.from({ length: SLOTS }, () => backend.acquire()));
  const { ours, floor } = await alternate(BATCH_ROUNDS, {
    floor: () => rateOf(FLOOR_BATCH, () => Promise.all(Array.from({ length: FLOOR_BATCH }, dockerExec))),
    ours: () => rateOf(BATCH, () => runBatch(backend, slots, BATCH)),
  });
  return {
    what: `Docker batch of ${BATCH}, ${SLOTS} slots`,
    unit: 'commands/s',
    better: 'more',
    ours,
    floor: { name: 'docker exec', rounds: floor },
    note: `all at once; of docker exec, ${FLOOR_BATCH}`,
  };
}
