/**
 * The seam between `ContainerBackend`, which knows slots, workspaces and calls, and whatever runs containers: Docker, or a
 * plain process in the tests. A driver starts, reaches, checks, lists and ends containers, and nothing else.
 *
 * - A container runs one program, the server inside (server/main.ts), and ends with it. The driver hands it a
 *   `ContainerServerConfig`.
 * - Every container has a name of ours, under which all calls find it, and carries the labels it is given until it is
 *   removed. So whoever starts after a crash finds what was left.
 * - Every call settles in bounded time, except for `ended`, which the caller aborts.
 * - A container that was asked for may be there when `start` rejects. `remove` removes it.
 */
import type { Duplex } from 'node:stream';
import type { LimitName, SandboxLimits } from '../limits.ts';
import type { LocalBackendOptions } from '../local/local-backend.ts';
import type { Owner } from '../workspace/workspaces.ts';
import type { ContainerDirectory } from './container-directory.ts';

export interface ContainerDriver {
  /** In statistics, and in the names of directories: `docker`. */
  readonly name: string;
  /** In sentences: `Docker`. */
  readonly title: string;
  /** What a container is made of, in sentences: `the image debian:13`. */
  readonly source: string;
  /**
   * Where a workspace is while a slot has it. `host`: in the container's directory on this machine, which the container
   * sees and fills as this owner; it outlives the container. `container`: where only the server inside reaches it. It
   * travels there as a snapshot and comes back when its slot is closed; a container that dies takes along what was
   * changed since.
   */
  readonly workspaces: { on: 'host'; owner: Owner } | { on: 'container' };
  /** Where the server inside has its workspaces: what commands without namespaces see of them. */
  readonly workspacesDir: string;
  /** Why commands cannot have namespaces inside; undefined where they may, which the first container then shows. */
  readonly noNesting?: string | undefined;

  /** Looks at what runs the containers, before the first is started; rejects with what to change. */
  prepare(): Promise<DriverLimits>;
  /** Resolves with the container's id when it runs; its server may not take connections yet. */
  start(request: ContainerRequest, signal: AbortSignal): Promise<string>;
  /** Resolves when the server inside can be connected to. */
  reach(request: ContainerRequest, signal: AbortSignal): Promise<Reached>;
  /** Resolves when the container has ended. */
  ended(name: string, signal: AbortSignal): Promise<void>;
  /** What is known of a container that ended, or does not come up. */
  examine(name: string): Promise<Examined>;
  /** Those with this label and value, also those that do not run. */
  list(label: string, value: string): Promise<ListedContainer[]>;
  /** Kills it, whatever state it is in, and deletes it; resolves too if there is none. */
  remove(name: string): Promise<void>;
}

/** For each limit: `true` where a container holds its commands to it, why not where it should; else the server inside does. */
export type DriverLimits = Partial<Record<LimitName, true | string>>;

export interface ContainerRequest {
  name: string;
  labels: Readonly<Record<string, string>>;
  /** Whether the server inside makes namespaces for its commands; else the container is all that isolates them. */
  nested: boolean;
  slots: number;
  allowNetwork: boolean;
  /** Of all slots together, except that processes are those of each. */
  limits: SandboxLimits;
  /** For the server inside, with the driver's `workspacesDir`. */
  backend: Omit<LocalBackendOptions, 'workspacesDir'>;
  /** The container's own on this machine. */
  directory: ContainerDirectory;
}

/** The way to a server inside. */
export interface Reached {
  /** A new connection. What goes wrong with it is an error of the stream. */
  connect(): Duplex;
  /** Called when no connection is made any more. */
  close(): Promise<void>;
}

export interface Examined {
  /** The kernel ended the server inside, and with it the container, for want of memory. */
  outOfMemory: boolean;
  /** The last lines it printed. */
  printed: string;
}

export interface ListedContainer {
  name: string;
  labels: Readonly<Record<string, string>>;
}
