/** A container that runs, as the host knows it: its directory, the hold on the server inside, and its slots. */
import type { FileHandle } from 'node:fs/promises';
import type { ContainerState } from '../docker/docker-api.ts';
import { SandboxError } from '../errors.ts';
import type { Container } from '../pool/container-driver.ts';
import type { ContainerDirectory, SlotNote } from './container-directory.ts';
import type { SandboxClient } from './server/sandbox-client.ts';

export interface DockerSlot {
  /** The name of its workspace. */
  workspace: string;
  note: SlotNote;
  /** What the server inside calls it; empty until that has opened it. */
  innerSlotId: string;
}

export class DockerContainer implements Container {
  readonly containerId: string;
  readonly name: string;
  readonly directory: ContainerDirectory;
  readonly client: SandboxClient;
  readonly slots = new Map<string, DockerSlot>();
  /** How it ended, once somebody has asked; undefined inside where nobody knows. */
  end: Promise<ContainerState | undefined> | undefined;
  readonly #socket: FileHandle;
  readonly #underWay = new Set<Promise<unknown>>();
  #released = false;

  /** `socket` is what the client connects through. */
  constructor(
    containerId: string,
    name: string,
    directory: ContainerDirectory,
    client: SandboxClient,
    socket: FileHandle,
  ) {
    this.containerId = containerId;
    this.name = name;
    this.directory = directory;
    this.client = client;
    this.#socket = socket;
  }

  /** For work on its slots, which has to be over before their workspaces are saved, and must not begin after. */
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

  /** Whether the server was let go of, and not lost. */
  get released(): boolean {
    return this.#released;
  }

  /** Whether its server was let go of in the course of work on its slots that goes on. */
  get closing(): boolean {
    return this.#released && this.#underWay.size > 0;
  }

  /** Lets go of the server, which ends then. */
  release(): void {
    this.#released = true;
    this.client.detach();
  }

  /** Resolves when nothing works with it any more; after `release` nothing begins to. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay);
    await this.#socket.close();
  }
}
