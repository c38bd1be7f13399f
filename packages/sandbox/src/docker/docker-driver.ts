/**
 * Runs containers for the pool: starts them, puts workspaces into them and takes them out, ends them.
 *
 * Nothing is taken out of a container that could still be writing to it. That it cannot is the word of the server inside
 * for one slot, where slots are separated from the server, and the daemon's word for a whole container. While the daemon
 * is down a container therefore cannot be ended, and its workspaces stay where they are until it can.
 */
import { randomUUID } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import type { BackendIsolation } from '../backend.ts';
import type { ContainerDirectory, SlotNote } from '../containers/container-directory.ts';
import { connectThrough, openSocket } from '../containers/container-socket.ts';
import type { HostDirectory } from '../containers/host-directory.ts';
import { DockerContainer, type DockerSlot } from '../containers/running-container.ts';
import type { Attached } from '../containers/server/protocol.ts';
import { SandboxClient } from '../containers/server/sandbox-client.ts';
import type { WorkspacePlaces } from '../containers/workspace-places.ts';
import { SandboxError } from '../errors.ts';
import { DEFAULT_OUTPUT_LIMIT_BYTES } from '../local/local-backend.ts';
import type { ContainerDriver, SlotRequest } from '../pool/container-driver.ts';
import { workspaceName } from '../workspace/workspaces.ts';
import { type ContainerPlan, containerSpec, SERVER_KILLED } from './container-spec.ts';
import type { ContainerState, DockerApi } from './docker-api.ts';

const READY_WITHIN_MS = 30_000;
const END_WITHIN_MS = 1_000;

/** The server inside cannot separate its slots. */
export class NestingError extends SandboxError {}

interface Reached {
  socket: FileHandle;
  client: SandboxClient;
}

/** What all containers of a backend have in common. */
export type ContainerBlueprint = Omit<ContainerPlan, 'labels' | 'runDir' | 'workspacesDir'>;

export interface DockerDriverOptions {
  api: DockerApi;
  host: HostDirectory;
  places: WorkspacePlaces;
  blueprint: ContainerBlueprint;
  /** The server inside a container was lost, and not because the driver let go of it. */
  onLost(container: DockerContainer, reason: string): void;
}

export class DockerDriver implements ContainerDriver<DockerContainer> {
  readonly #options: DockerDriverOptions;
  /** Of containers that are there, or may be. */
  readonly #names = new Set<string>();
  #spare: DockerContainer | undefined;

  constructor(options: DockerDriverOptions) {
    this.#options = options;
  }

  /** Whether this driver knows the container and will end it. */
  knows(name: string): boolean {
    return this.#names.has(name);
  }

  /** Starts one ahead: what comes of it is known now, and the next start takes it. */
  async prepare(): Promise<Attached> {
    this.#spare = await this.#start(new AbortController().signal);
    return this.#spare.client.attached;
  }

  /** Ends what was started ahead and nobody took. */
  async close(): Promise<void> {
    const spare = this.#spare;
    this.#spare = undefined;
    if (spare) await this.stopContainer(spare);
  }

  async startContainer(signal: AbortSignal): Promise<DockerContainer> {
    const spare = this.#spare;
    this.#spare = undefined;
    if (spare && !spare.client.lost.aborted) return spare;
    if (spare) await this.stopContainer(spare);
    return await this.#start(signal);
  }

  /** One that is let go of because its slot is being closed answers nothing, and is not dead of that. */
  async checkContainer(container: DockerContainer, signal: AbortSignal): Promise<void> {
    try {
      await container.client.ping(signal);
    } catch (error) {
      if (!container.closing) throw error;
    }
  }

  async stopContainer(container: DockerContainer): Promise<void> {
    const { api, places } = this.#options;
    const { containerId, name, directory } = container;
    if (container.client.lost.aborted) await this.endOf(container);
    container.release();
    await container.settled();
    await api.removeContainer(containerId);
    await places.takeOutAll(directory);
    await directory.remove();
    this.#names.delete(name);
  }

  openSlot(
    container: DockerContainer,
    { slotId, trajectoryId }: SlotRequest,
  ): Promise<{ workspaceDir: string }> {
    const { places, blueprint } = this.#options;
    return container.during(async () => {
      const innerTrajectory = trajectoryId ?? slotId;
      const workspace = workspaceName(innerTrajectory);
      const slot = { workspace, note: this.#noteFor(trajectoryId), innerSlotId: '' };
      container.slots.set(slotId, slot);
      await places.putIn(workspace, container.directory, slot.note, blueprint.user);
      const opened = await container.client.open(innerTrajectory);
      slot.innerSlotId = opened.slotId;
      return { workspaceDir: opened.workspaceDir };
    });
  }

  closeSlot(
    container: DockerContainer,
    { slotId }: SlotRequest,
    { resetWorkspace }: { resetWorkspace: boolean },
  ): Promise<void> {
    const { api, places, blueprint } = this.#options;
    return container.during(async () => {
      const slot = container.slots.get(slotId);
      if (!slot) return;
      if (blueprint.nested) await this.#closeInside(container, slot);
      else {
        // Nothing inside can be believed, but what it says of the calls that it ends is worth waiting for.
        await this.#closeInside(container, slot).catch(() => {});
        container.release();
        await api.removeContainer(container.containerId);
      }
      await places.takeOut(slot.workspace, container.directory, slot.note, { discard: resetWorkspace });
      container.slots.delete(slotId);
    });
  }

  async discardWorkspace(trajectoryId: string): Promise<void> {
    await this.#options.places.discard(workspaceName(trajectoryId));
  }

  /** How a container ended, asked once and before it is removed; undefined where the daemon does not know. */
  endOf(container: DockerContainer): Promise<ContainerState | undefined> {
    container.end ??= this.#inspectEnd(container.containerId).catch(() => undefined);
    return container.end;
  }

  async #inspectEnd(id: string): Promise<ContainerState> {
    const { api } = this.#options;
    // The daemon hears of it a moment after the connection broke; of a container that is only frozen it never does.
    await api.waitForExit(id, AbortSignal.timeout(END_WITHIN_MS)).catch(() => {});
    return await api.inspectContainer(id);
  }

  async #start(signal: AbortSignal): Promise<DockerContainer> {
    const { host, blueprint } = this.#options;
    const name = `talaria-${randomUUID()}`;
    const directory = host.container(name);
    this.#names.add(name);
    try {
      await directory.create(blueprint.user);
      return await this.#bringUp(name, directory, signal);
    } catch (error) {
      await this.#removeAttempt(name, directory);
      throw error;
    }
  }

  async #bringUp(name: string, directory: ContainerDirectory, signal: AbortSignal): Promise<DockerContainer> {
    const { api, host, blueprint } = this.#options;
    const { runDir, workspacesDir } = directory;
    const spec = containerSpec({ ...blueprint, labels: host.labels, runDir, workspacesDir });
    // Not given up half-way: the daemon might go on with it, and nobody would know of what it made.
    const id = await api.createContainer(name, spec);
    signal.throwIfAborted();
    try {
      await api.startContainer(id, signal);
      await using opened = new AsyncDisposableStack();
      const reached = await this.#untilReady(id, runDir, signal);
      opened.defer(() => letGo(reached));
      const { socket, client } = reached;
      requireIsolation(client.attached.isolation, blueprint.nested);
      opened.move();
      return this.#watched(new DockerContainer(id, name, directory, client, socket));
    } catch (error) {
      if (signal.aborted || error instanceof NestingError) throw error;
      throw await this.#describeFailure(id, error as Error);
    }
  }

  #watched(container: DockerContainer): DockerContainer {
    const { lost } = container.client;
    lost.addEventListener('abort', () => {
      if (!container.released) this.#options.onLost(container, (lost.reason as Error).message);
    });
    return container;
  }

  async #closeInside({ client }: DockerContainer, { innerSlotId }: DockerSlot): Promise<void> {
    if (innerSlotId !== '') await client.close(innerSlotId);
  }

  /** The hold on its server, or an error as soon as it is clear that there will be none. */
  async #untilReady(id: string, runDir: string, signal: AbortSignal): Promise<Reached> {
    const decided = new AbortController();
    const limit = AbortSignal.timeout(READY_WITHIN_MS);
    const any = AbortSignal.any([signal, limit, decided.signal]);
    const exited = this.#options.api.waitForExit(id, any).then(() => {
      throw new Error('its server ended');
    });
    const reaching = this.#reach(runDir, any);
    try {
      return await Promise.race([reaching, exited]);
    } catch (error) {
      reaching.then(letGo, () => {});
      throw limit.aborted ? new Error(`its server was not ready within ${READY_WITHIN_MS / 1000} s`) : error;
    } finally {
      decided.abort();
      exited.catch(() => {});
    }
  }

  async #reach(runDir: string, signal: AbortSignal): Promise<Reached> {
    const { outputLimitBytes = DEFAULT_OUTPUT_LIMIT_BYTES } = this.#options.blueprint.server.backend;
    const socket = await openSocket(runDir, signal);
    try {
      const client = await SandboxClient.attach(() => connectThrough(socket), signal, { outputLimitBytes });
      return { socket, client };
    } catch (error) {
      await socket.close();
      throw error;
    }
  }

  async #describeFailure(id: string, error: Error): Promise<SandboxError> {
    const { api, blueprint } = this.#options;
    const log = await api.containerLog(id).catch(() => '');
    const printed = log === '' ? 'It printed nothing.' : `It printed:\n${log}`;
    return new SandboxError(
      'container_failed',
      `A container of the image ${blueprint.image} did not come up: ${error.message}. ${printed}`,
      { cause: error },
    );
  }

  /** What cannot be removed now is left to the sweep. */
  async #removeAttempt(name: string, directory: ContainerDirectory): Promise<void> {
    try {
      await this.#options.api.removeContainer(name);
      await directory.remove();
    } catch {
      // The error of the start says more.
    } finally {
      this.#names.delete(name);
    }
  }

  #noteFor(trajectoryId: string | undefined): SlotNote {
    return { nobodys: trajectoryId === undefined, trustedState: this.#options.blueprint.nested };
  }
}

export function wasOutOfMemory(end: ContainerState | undefined): boolean {
  return end?.OOMKilled === true && end.ExitCode === SERVER_KILLED;
}

async function letGo({ socket, client }: Reached): Promise<void> {
  client.detach();
  await socket.close();
}

function requireIsolation({ kind, description }: BackendIsolation, nested: boolean): void {
  if (nested && kind === 'none') throw new NestingError('isolation_unavailable', description);
}
