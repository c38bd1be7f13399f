/**
 * The parameters of a sandbox. Pure: the settings and the request in, the parameters of the SDK out.
 *
 * Always: no network unless it is allowed, a limited lifetime even if nobody ends the sandbox, no secret, no volume, no port.
 */
import type { ContainerRequest } from '../containers/container-driver.ts';
import { SOCKET_NAME } from '../containers/container-socket.ts';
import { SERVER_KILLED } from '../containers/first-process.ts';
import type { ContainerServerConfig } from '../containers/server/main.ts';
import { SERVER_PROGRAM } from '../containers/server-program.ts';
import type { SandboxLimits } from '../limits.ts';
import { INSIDE, TMP_DIRS } from './image-layer.ts';
import type { ModalSandboxParams } from './modal-sdk.ts';
import { tagsOf } from './tags.ts';

const MEGABYTE = 1024 * 1024;
/** For the server inside, beyond what its commands may use. */
const SERVER_MEMORY_MB = 128;

/** Only these count against the disk limit. Commands are root, but the files of the image elsewhere are not theirs. */
const WRITABLE_DIRS = [INSIDE.workspaces, INSIDE.run, ...TMP_DIRS];
/** The files in which the kernel counts the processes that it killed for lack of memory, in both versions of control groups. */
const OOM_COUNTERS = ['/sys/fs/cgroup/memory.events', '/sys/fs/cgroup/memory/memory.oom_control'];

const SOCKET = `${INSIDE.run}/${SOCKET_NAME}`;
/** An image may set NODE_OPTIONS for a Node of its own; they must not reach this one. */
const PROGRAM = ['/usr/bin/env', 'NODE_OPTIONS=', INSIDE.node, `${INSIDE.package}/${SERVER_PROGRAM.entry}`];

export const RELAY_COMMAND = [...PROGRAM, 'relay', SOCKET];

export interface SandboxSettings {
  regions: readonly string[];
  /** Processors and megabytes of memory that are reserved. */
  cpus: number;
  memoryMb: number;
  lifetimeS: number;
}

/**
 * The shell of containers/first-process.ts. It reports a killed server only if the memory ran out: Modal does not say why a
 * process was killed, and a command can kill the server, too.
 */
export function firstProcess(counters: readonly string[] = OOM_COUNTERS): string[] {
  const look = `while read -r name count; do [ "$name" != oom_kill ] || [ "$count" = 0 ] || exit ${SERVER_KILLED}; done`;
  const looks = counters.map((file) => `[ ! -r ${file} ] || ${look} < ${file}`);
  return ['/bin/sh', '-c', `"$@"; if [ $? = 137 ]; then ${looks.join('; ')}; fi; exit 1`, 'sh'];
}

export function sandboxParams(request: ContainerRequest, settings: SandboxSettings): ModalSandboxParams {
  const server: ContainerServerConfig = {
    socketPath: SOCKET,
    multiplexed: true,
    backend: {
      ...{ ...request.backend, workspacesDir: INSIDE.workspaces },
      // Nothing keeps a command from writing beside its workspace.
      ...(request.nested ? {} : { writableDirs: WRITABLE_DIRS }),
    },
    version: SERVER_PROGRAM.version,
  };
  return {
    name: request.name,
    tags: tagsOf(request.name, request.labels),
    command: [...firstProcess(), ...PROGRAM, JSON.stringify(server)],
    timeoutMs: settings.lifetimeS * 1000,
    blockNetwork: !request.allowNetwork,
    ...(settings.regions.length > 0 ? { regions: [...settings.regions] } : {}),
    ...resources(request.limits, settings),
  };
}

/** Nothing is reserved beyond its limit. */
function resources(
  { memoryBytes, cpus }: SandboxLimits,
  settings: SandboxSettings,
): Partial<ModalSandboxParams> {
  const most = memoryBytes === undefined ? undefined : Math.ceil(memoryBytes / MEGABYTE) + SERVER_MEMORY_MB;
  return {
    cpu: Math.min(settings.cpus, cpus ?? Number.POSITIVE_INFINITY),
    ...(cpus === undefined ? {} : { cpuLimit: cpus }),
    memoryMiB: Math.min(settings.memoryMb, most ?? Number.POSITIVE_INFINITY),
    ...(most === undefined ? {} : { memoryLimitMiB: most }),
  };
}
