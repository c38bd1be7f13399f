/**
 * The job of one container. Pure: the settings and the request in, the body of Nomad's `register` call out.
 *
 * Each container is a batch job of its own, which Nomad places once and never restarts. With a common job, scaling it down
 * would end the wrong container, and Nomad would replace a stopped one. Under the `docker` driver a container is as strict as
 * those of the Docker backend (docker/container-spec.ts). `raw_exec` and `exec` leave the isolation to the server inside.
 */
import {
  OPEN_FILES,
  SANDBOX_USER,
  SERVER_MEMORY_BYTES,
  SERVER_PROCESSES,
  TMP_BYTES,
} from '../containers/allowances.ts';
import type { ContainerRequest } from '../containers/container-driver.ts';
import { SOCKET_NAME } from '../containers/container-socket.ts';
import { IMAGE_PROGRAM } from '../containers/image/image-context.ts';
import type { ContainerServerConfig } from '../containers/server/main.ts';
import { SERVER_PROGRAM } from '../containers/server-program.ts';
import { SandboxError } from '../errors.ts';
import { SYSTEM_PATH } from '../host/system-path.ts';

export const TASK = 'server';
export const TASK_DRIVERS = ['docker', 'exec', 'raw_exec'] as const;
export type TaskDriver = (typeof TASK_DRIVERS)[number];

/** The exit code of a task whose server was killed; one that is killed as a whole has the signal's. */
export const SERVER_KILLED = 99;
/** The exit code of a task whose server ended in any other way. */
export const SERVER_FAILED = 1;

const MEGABYTE = 1024 * 1024;
const NANOSECONDS = 1e9;

/** In the directory that Nomad gives a task, so that the socket's path is short. */
const IN_TASK_DIR = 'cd "$NOMAD_TASK_DIR" && ';
/** Waits for the server as its parent and so reaps every orphan of the container, which node would leave as zombies. */
const FIRST_PROCESS = [
  '-c',
  `${IN_TASK_DIR}"$@"; [ $? != 137 ] || exit ${SERVER_KILLED}; exit ${SERVER_FAILED}`,
  'sh',
];
/** The directories of a task and of its allocation, which every process in a task of the `docker` driver can write to. */
const WRITABLE_DIRS = ['/local', '/alloc'];
const NAME_OF_WORKSPACES = 'workspaces';

export interface JobSettings {
  driver: TaskDriver;
  /** The `docker` driver runs it; `talaria sandbox-image` makes it. */
  image?: string | undefined;
  /** The command that starts the sandbox program on a node. The `docker` driver takes the one in its image instead. */
  program: readonly string[];
  namespace?: string | undefined;
  region?: string | undefined;
  datacenters: readonly string[];
  nodePool?: string | undefined;
  /** Each in three words: `node.class = sandbox`. */
  constraints: readonly string[];
  /** What a container reserves of a node's processors, in MHz. */
  cpuMhz: number;
  /** What a container reserves of a node's memory if there is no limit for it. */
  memoryMb: number;
  /** What a container reserves of a node's disk. */
  diskMb: number;
}

/** The workspaces directory of the server inside; relative to the task's directory if that has a long path. */
export function workspacesDirOf(driver: TaskDriver): string {
  return driver === 'raw_exec' ? NAME_OF_WORKSPACES : `/local/${NAME_OF_WORKSPACES}`;
}

/** The program of this machine. It works if the nodes have Talaria under the same path. */
export const OWN_PROGRAM: readonly string[] = [
  SERVER_PROGRAM.nodePath,
  `${SERVER_PROGRAM.packageDir}${SERVER_PROGRAM.entry}`,
];

function programOf({ driver, program }: Pick<JobSettings, 'driver' | 'program'>): readonly string[] {
  return driver === 'docker' ? [IMAGE_PROGRAM] : program;
}

/** The command that runs in the allocation to reach its server. */
export function relayCommand(settings: Pick<JobSettings, 'driver' | 'program'>): string[] {
  return ['/bin/sh', '-c', `${IN_TASK_DIR}exec "$@"`, 'sh', ...programOf(settings), 'relay', SOCKET_NAME];
}

export function jobSpec(settings: JobSettings, request: ContainerRequest): object {
  const { namespace, region, datacenters, nodePool, diskMb } = settings;
  return {
    ID: request.name,
    Name: request.name,
    Type: 'batch',
    ...(namespace ? { Namespace: namespace } : {}),
    ...(region ? { Region: region } : {}),
    ...(nodePool ? { NodePool: nodePool } : {}),
    Datacenters: datacenters,
    Constraints: settings.constraints.map(parseConstraint),
    Meta: request.labels,
    TaskGroups: [
      {
        Name: TASK,
        Count: 1,
        RestartPolicy: { Attempts: 0, Mode: 'fail', Interval: 3600 * NANOSECONDS, Delay: NANOSECONDS },
        ReschedulePolicy: { Attempts: 0, Unlimited: false },
        EphemeralDisk: { SizeMB: diskMb },
        Tasks: [taskSpec(settings, request)],
      },
    ],
  };
}

function taskSpec(settings: JobSettings, request: ContainerRequest): object {
  const { driver } = settings;
  const { memoryBytes } = request.limits;
  return {
    Name: TASK,
    Driver: driver,
    ...(driver === 'docker' ? { User: `${SANDBOX_USER.uid}:${SANDBOX_USER.gid}` } : {}),
    Config: driver === 'docker' ? dockerConfig(settings, request) : plainConfig(settings, request),
    Resources: {
      CPU: settings.cpuMhz,
      MemoryMB:
        memoryBytes === undefined
          ? settings.memoryMb
          : Math.ceil((memoryBytes + SERVER_MEMORY_BYTES) / MEGABYTE),
    },
    // The server inside has nothing to save, so it needs no time to shut down.
    KillSignal: 'SIGKILL',
    KillTimeout: NANOSECONDS,
    LogConfig: { MaxFiles: 1, MaxFileSizeMB: 1 },
  };
}

function dockerConfig(settings: JobSettings, request: ContainerRequest): object {
  const { processes } = request.limits;
  return {
    image: settings.image,
    entrypoint: ['/bin/sh', ...FIRST_PROCESS],
    args: serverCommand(settings, request),
    work_dir: '/',
    ...(request.allowNetwork ? {} : { network_mode: 'none' }),
    cap_drop: ['all'],
    security_opt: ['no-new-privileges'],
    readonly_rootfs: true,
    ...(processes === undefined ? {} : { pids_limit: processes * request.slots + SERVER_PROCESSES }),
    ulimit: [{ core: '0', nofile: `${OPEN_FILES}:${OPEN_FILES}` }],
    mount: [{ type: 'tmpfs', target: '/tmp', tmpfs_options: [{ size: TMP_BYTES, mode: 0o1777 }] }],
  };
}

/** Starts from an empty environment: the agent's may hold secrets. */
function plainConfig(settings: JobSettings, request: ContainerRequest): object {
  const clean = ['/usr/bin/env', '-i', `PATH=${SYSTEM_PATH}`];
  return { command: '/bin/sh', args: [...FIRST_PROCESS, ...clean, ...serverCommand(settings, request)] };
}

function serverCommand(settings: JobSettings, { backend, nested }: ContainerRequest): string[] {
  const config: ContainerServerConfig = {
    socketPath: SOCKET_NAME,
    multiplexed: true,
    backend: {
      ...{ ...backend, workspacesDir: workspacesDirOf(settings.driver) },
      // Nothing keeps a command from writing beside its workspace.
      ...(nested ? {} : { writableDirs: WRITABLE_DIRS }),
    },
    version: SERVER_PROGRAM.version,
  };
  return [...programOf(settings), JSON.stringify(config)];
}

function parseConstraint(text: string): object {
  // In the files of jobs it is written as \${node.class}.
  const [, left, operand, right = ''] = /^(?:\$\{)?([^\s}]+)\}?\s+(\S+)\s*(.*)$/.exec(text.trim()) ?? [];
  if (!left || !operand)
    throw new SandboxError(
      'invalid_request',
      `A constraint should look like node.class = sandbox, not "${text}".`,
    );
  return { LTarget: `\${${left}}`, Operand: operand, RTarget: right };
}
