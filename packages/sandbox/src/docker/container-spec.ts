/**
 * How a container is created. Pure: takes settings and paths, returns the body of Docker's `create` call.
 *
 * Always: no capabilities, no new privileges, a user that is not root, a read-only root file system, a bounded log, no
 * network unless it is allowed, nothing of the host but the program it runs and its own directory. Memory, processes
 * and processor time are limited unless the operator disables that.
 *
 * `nested` decides who separates the commands. If true, they run in namespaces that the server in the container creates
 * for each (local/isolation). That needs our seccomp profile instead of Docker's and a /proc without covered paths: the
 * kernel lets nobody mount a second /proc that shows more than the first. If false, only the container is between a
 * command and the host, so it keeps Docker's own profiles.
 */
import { OPEN_FILES, SERVER_MEMORY_BYTES, SERVER_PROCESSES, TMP_BYTES } from '../containers/allowances.ts';
import type { ContainerRequest } from '../containers/container-driver.ts';
import { SOCKET_NAME } from '../containers/container-socket.ts';
import { FIRST_PROCESS } from '../containers/first-process.ts';
import type { ContainerServerConfig } from '../containers/server/main.ts';
import { SERVER_PROGRAM } from '../containers/server-program.ts';
import type { Owner } from '../workspace/give-tree-to.ts';
import { hasSecurityOption } from './check-daemon.ts';
import type { DaemonInfo } from './docker-api.ts';
import { kernelMemory, processOptions, type Runtime } from './runtime.ts';
import { seccompProfile } from './seccomp-profile.ts';

/** The paths of the mounts in a container. */
export const INSIDE = {
  node: '/talaria/node',
  package: '/talaria/sandbox',
  run: '/talaria/run',
  workspaces: '/talaria/workspaces',
} as const;

export interface ContainerPlan extends ContainerRequest {
  image: string;
  user: Owner;
  daemon: DaemonInfo;
  runtime: Runtime;
}

export function containerSpec(plan: ContainerPlan): object {
  const { user, directory } = plan;
  const { nodePath, packageDir, entry } = SERVER_PROGRAM;
  const server: ContainerServerConfig = {
    socketPath: `${INSIDE.run}/${SOCKET_NAME}`,
    backend: {
      ...{ ...plan.backend, workspacesDir: INSIDE.workspaces },
      // Nothing keeps a command from writing beside its workspace.
      ...(plan.nested ? {} : { writableDirs: [INSIDE.workspaces, INSIDE.run] }),
    },
  };
  return {
    Image: plan.image,
    User: `${user.uid}:${user.gid}`,
    Entrypoint: [...FIRST_PROCESS, INSIDE.node, `${INSIDE.package}/${entry}`, JSON.stringify(server)],
    Cmd: [],
    // The image's own variables stay, except those meant for a Node of its own.
    Env: ['NODE_OPTIONS='],
    WorkingDir: '/',
    Hostname: 'sandbox',
    Labels: plan.labels,
    Healthcheck: { Test: ['NONE'] },
    // There is nothing to shut down, and a first process ignores signals that it does not handle.
    StopSignal: 'SIGKILL',
    HostConfig: {
      Runtime: plan.runtime.name,
      NetworkMode: plan.allowNetwork ? 'default' : 'none',
      CapDrop: ['ALL'],
      SecurityOpt: securityOptions(plan),
      ...(plan.nested ? { MaskedPaths: [], ReadonlyPaths: [] } : {}),
      ...(hasSecurityOption(plan.daemon, 'userns') ? { UsernsMode: 'host' } : {}),
      ReadonlyRootfs: true,
      Tmpfs: {
        '/tmp': `rw,nosuid,nodev,size=${TMP_BYTES},uid=${user.uid},gid=${user.gid},mode=0700`,
      },
      Mounts: [
        bind(nodePath, INSIDE.node, true),
        bind(packageDir, INSIDE.package, true),
        bind(directory.runDir, INSIDE.run, false),
        bind(directory.workspacesDir, INSIDE.workspaces, false),
      ],
      ...limitOptions(plan),
      LogConfig: { Type: 'json-file', Config: { 'max-size': '1m', 'max-file': '1' } },
      RestartPolicy: { Name: 'no' },
    },
  };
}

function limitOptions({ limits, slots, daemon, runtime }: ContainerPlan): object {
  const { memoryBytes, cpus, processes } = limits;
  // Both the same: no swap in addition.
  const memory =
    memoryBytes === undefined ? undefined : memoryBytes + SERVER_MEMORY_BYTES + kernelMemory(runtime);
  const counted = processes === undefined ? undefined : processes * slots + SERVER_PROCESSES;
  const byRuntime = processOptions(counted, runtime);
  return {
    Memory: memory,
    MemorySwap: memory,
    // Docker refuses to promise more than there are.
    NanoCpus: cpus === undefined ? undefined : Math.round(Math.min(cpus, daemon.NCPU) * 1e9),
    ...byRuntime,
    Ulimits: [
      { Name: 'core', Soft: 0, Hard: 0 },
      { Name: 'nofile', Soft: OPEN_FILES, Hard: OPEN_FILES },
      ...byRuntime.Ulimits,
    ],
  };
}

function securityOptions(plan: ContainerPlan): string[] {
  const options = ['no-new-privileges'];
  if (plan.nested) options.push(`seccomp=${seccompProfile()}`);
  // Docker's AppArmor profile forbids every mount, also in a namespace of one's own.
  if (plan.nested && hasSecurityOption(plan.daemon, 'apparmor')) options.push('apparmor=unconfined');
  // The workspaces carry the host's label, which a confined container may not touch.
  if (hasSecurityOption(plan.daemon, 'selinux')) options.push('label=disable');
  return options;
}

/** Not a `Bind`: for that Docker would create a missing source itself. */
function bind(source: string, target: string, readOnly: boolean): object {
  return { Type: 'bind', Source: source, Target: target, ReadOnly: readOnly };
}
