/**
 * The seam between `ContainerBackend`, which knows slots, workspaces and calls, and whatever runs containers: Docker, Nomad,
 * or a plain process in the tests. A driver starts, reaches, checks, lists and ends containers, and nothing else.
 *
 * - A container runs one program, the server inside (server/main.ts), and ends with it. The driver hands it a
 *   `ContainerServerConfig`.
 * - Every container has a name of ours, under which all calls find it, and carries the labels it is given until it is
 *   removed. So the server that starts after a crash finds the containers that are left.
 * - Every call settles in bounded time, except for `ended`, which the caller aborts.
 * - A container that was asked for may be there when `start` rejects. `remove` removes it.
 */
import type { Duplex } from 'node:stream';
import type { LimitName, SandboxLimits } from '../limits.ts';
import type { LocalBackendOptions } from '../local/local-backend.ts';
import type { Owner } from '../workspace/give-tree-to.ts';
import type { ContainerDirectory } from './container-directory.ts';

export interface ContainerDriver {
  /** In statistics, and in the names of directories: `docker`. */
  readonly name: string;
  /** Its name in sentences: `Docker`. */
  readonly title: string;
  /** What a container is made of, in sentences: `the image debian:13`. */
  readonly source: string;
  /**
   * The place of a workspace while a slot has it. `host`: in the container's directory on this machine, which the container
   * sees and writes as this owner; it outlives the container. `container`: only the server inside can reach the workspace.
   * It travels there as a snapshot and comes back when its slot is closed; a container that dies loses the changes
   * since then.
   */
  readonly workspaces: { on: 'host'; owner: Owner } | { on: 'container' };
  /** The directory of workspaces of the server inside, as commands without namespaces see it. */
  readonly workspacesDir: string;
  /** Why commands cannot have namespaces inside; undefined if they may, which the first container then shows. */
  readonly noNesting?: string | undefined;
  /** How long a container that was started may take until its server is ready. Half a minute by default. */
  readonly readyWithinMs?: number | undefined;
  /** How long a running container may leave pings unanswered before it counts as lost. A few seconds by default. */
  readonly answersWithinMs?: number | undefined;
  /** Why a container alone isolates nothing, if so: the backend then starts only with namespaces inside. */
  readonly mustNest?: string | undefined;

  /** Checks what runs the containers, before the first one is started; rejects with what to change. */
  prepare(): Promise<DriverLimits>;
  /** Resolves with the container's id when it runs; its server may not take connections yet. */
  start(request: ContainerRequest, signal: AbortSignal): Promise<string>;
  /** Resolves when the server inside can be connected to. */
  reach(request: ContainerRequest, signal: AbortSignal): Promise<Reached>;
  /** Resolves when the container has ended. */
  ended(name: string, signal: AbortSignal): Promise<void>;
  /** What is known about a container that ended, or does not start. */
  examine(name: string): Promise<Examined>;
  /** The containers with this label and value, including stopped ones. */
  list(label: string, value: string): Promise<ListedContainer[]>;
  /** Kills it, whatever its state, and deletes it; also resolves if there is none. */
  remove(name: string): Promise<void>;
}

/**
 * For each limit: `true` if a container enforces it, or the reason why it cannot although it should; otherwise the
 * server inside enforces it.
 */
export type DriverLimits = Partial<Record<LimitName, true | string>>;

export interface ContainerRequest {
  name: string;
  labels: Readonly<Record<string, string>>;
  /** Whether the server inside creates namespaces for its commands; if not, the container is their only isolation. */
  nested: boolean;
  slots: number;
  allowNetwork: boolean;
  /** For all slots together, except that processes are counted per slot. */
  limits: SandboxLimits;
  /** For the server inside, with the driver's `workspacesDir`. */
  backend: Omit<LocalBackendOptions, 'workspacesDir'>;
  /** The container's own directory on this machine. */
  directory: ContainerDirectory;
}

/** How to reach a server inside. */
export interface Reached {
  /** A new connection. A failure is an error of the stream. */
  connect(): Duplex;
  /** Called when no more connections will be made. */
  close(): Promise<void>;
}

export interface Examined {
  /** The kernel ended the server inside, and with it the container, because memory ran out. */
  outOfMemory: boolean;
  /** The last lines it printed. */
  printed: string;
  /** Why whatever runs the containers has ended it, in a few words; undefined if it did not, or does not say. */
  reason?: string | undefined;
}

export interface ListedContainer {
  name: string;
  labels: Readonly<Record<string, string>>;
  /** Nothing runs in it any more. False if the driver cannot tell. */
  ended: boolean;
}
