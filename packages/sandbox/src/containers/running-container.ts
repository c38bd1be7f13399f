/** A running container, as the host knows it: its directory, the connection to the server inside, and its slots. */
import { SandboxError } from '../errors.ts';
import type { Container } from '../pool/pool-driver.ts';
import type { ContainerDirectory } from './container-directory.ts';
import type { Examined, Reached } from './container-driver.ts';
import type { SandboxClient } from './server/sandbox-client.ts';
import type { PlacedWorkspace } from './workspace-places.ts';

export interface ContainerSlot {
  workspace: PlacedWorkspace;
  /** The server's name for it; empty until the server has opened it. */
  innerSlotId: string;
}

export interface ContainerParts {
  containerId: string;
  name: string;
  directory: ContainerDirectory;
  client: SandboxClient;
  /** The connection that the client uses. */
  reached: Reached;
}

export class RunningContainer implements Container {
  readonly containerId: string;
  readonly name: string;
  readonly directory: ContainerDirectory;
  readonly client: SandboxClient;
  readonly slots = new Map<string, ContainerSlot>();
  /** How it ended, once somebody has asked; undefined inside it means that nobody knows. */
  end: Promise<Examined | undefined> | undefined;
  readonly #reached: Reached;
  readonly #underWay = new Set<Promise<unknown>>();
  #released = false;

  constructor({ containerId, name, directory, client, reached }: ContainerParts) {
    this.containerId = containerId;
    this.name = name;
    this.directory = directory;
    this.client = client;
    this.#reached = reached;
  }

  /** For work on its slots, which has to finish before their workspaces are saved, and must not begin after. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    if (this.#released)
      throw new SandboxError('slot_gone', `The container ${this.containerId} has been ended.`);
    const settled = work();
    this.#underWay.add(settled);
    try {
      return await settled;
    } finally {
      this.#underWay.delete(settled);
    }
  }

  /** Whether the server was released on purpose, and not lost. */
  get released(): boolean {
    return this.#released;
  }

  /** Whether its server was released by work on its slots that is still in progress. */
  get closing(): boolean {
    return this.#released && this.#underWay.size > 0;
  }

  /** Releases the server, which then ends. */
  release(): void {
    this.#released = true;
    this.client.detach();
  }

  /** Resolves when no work uses it any more; after `release` none begins. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
    await this.#reached.close();
  }
}
