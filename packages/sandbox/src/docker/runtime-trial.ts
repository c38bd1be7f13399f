/**
 * Finds out what a runtime enforces, by containers of its own that run into limits. The name of a runtime does not tell: gVisor
 * limits memory and processor time, unless its configuration ignores control groups.
 *
 * A container answers with its exit code, and the daemon removes it at its end. So nothing is left, whatever happens to this
 * process meanwhile.
 */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { DriverLimits } from '../containers/container-driver.ts';
import { SERVER_PROGRAM } from '../containers/server-program.ts';
import { SandboxError } from '../errors.ts';
import type { Owner } from '../workspace/give-tree-to.ts';
import type { DockerApi } from './docker-api.ts';
import { processOptions, type Runtime } from './runtime.ts';

const MB = 1024 * 1024;
const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const NODE = '/talaria/node';
/** Enough for Node and for a kernel beside it. */
const MEMORY_BYTES = 256 * MB;
/** Enough for the threads of Node, and for a few more. */
const PROCESSES = 24;

/** The exit codes of the programs of a trial. `killed` is the code that a shell reports when the kernel killed a process. */
const EXIT = { yes: 40, no: 41, killed: 137 };

const PROGRAMS = {
  sameKernel: `read -r id < ${BOOT_ID} && [ "$id" = "$1" ] && exit ${EXIT.yes}; exit ${EXIT.no}`,
  memory: `try { Buffer.alloc(${2 * MEMORY_BYTES}, 1) } catch { process.exit(${EXIT.yes}) } process.exit(${EXIT.no})`,
  processes: `
    const { spawn } = require('node:child_process');
    let started = 0;
    const stopped = () => process.exit(${EXIT.yes});
    const onSpawn = () => { if (++started === ${PROCESSES}) process.exit(${EXIT.no}) };
    try {
      for (let i = 0; i < ${PROCESSES}; i++)
        spawn('/bin/sh', ['-c', 'read line'], { stdio: ['pipe', 'ignore', 'ignore'] }).on('error', stopped).on('spawn', onSpawn);
    } catch { stopped() }`,
};

const NO_GROUPS =
  'a first container of the runtime used more memory than it may. For gVisor, remove --ignore-cgroups from the runtimeArgs of the runtime';
const NO_COUNT = 'a first container of the runtime started more processes than it may';

export interface Tried {
  runtime: Runtime;
  /** Whether the runtime enforced each limit that was tried, whatever the daemon says. */
  limits: DriverLimits;
}

export interface Trial {
  api: DockerApi;
  image: string;
  user: Owner;
  /** Undefined means the daemon's default. */
  runtime: string | undefined;
}

export async function tryRuntime(trial: Trial): Promise<Tried> {
  const { runtime: name } = trial;
  const bootId = (await readFile(BOOT_ID, 'utf8')).trim();
  const look = await run(trial, ['/bin/sh', '-c', PROGRAMS.sameKernel, 'sh', bootId], {});
  const runtime: Runtime = { name, ownKernel: look !== EXIT.yes };
  const [memory, processes] = await Promise.all([
    run(trial, [NODE, '-e', PROGRAMS.memory], { Memory: MEMORY_BYTES, MemorySwap: MEMORY_BYTES }),
    run(trial, [NODE, '-e', PROGRAMS.processes], processOptions(PROCESSES, runtime)),
  ]);
  const groups = holds(memory, [EXIT.yes, EXIT.killed], NO_GROUPS);
  // A runtime that ignores the control group for memory also ignores the one for processors.
  const limits = { memoryBytes: groups, cpus: groups, processes: holds(processes, [EXIT.yes], NO_COUNT) };
  return { runtime, limits };
}

function holds(exitCode: number, expected: readonly number[], why: string): true | string {
  if (expected.includes(exitCode)) return true;
  if (exitCode === EXIT.no) return why;
  throw new SandboxError(
    'container_failed',
    `A first container, which tests whether limits hold, ended with the unexpected code ${exitCode}.`,
  );
}

/** Runs a command in a container like those of slots, as far as it matters here. */
function run({ api, image, user, runtime }: Trial, command: string[], limits: object): Promise<number> {
  return api.runContainer(`talaria-trial-${randomUUID()}`, {
    Image: image,
    User: `${user.uid}:${user.gid}`,
    Entrypoint: command,
    Cmd: [],
    Env: ['NODE_OPTIONS='],
    WorkingDir: '/',
    HostConfig: {
      Runtime: runtime,
      AutoRemove: true,
      NetworkMode: 'none',
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      ReadonlyRootfs: true,
      Mounts: [{ Type: 'bind', Source: SERVER_PROGRAM.nodePath, Target: NODE, ReadOnly: true }],
      LogConfig: { Type: 'none', Config: {} },
      ...limits,
    },
  });
}
