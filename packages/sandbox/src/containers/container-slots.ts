/**
 * Runs containers for the pool, through a driver: starts them, puts workspaces into them and takes them out, ends them.
 *
 * Nothing is taken out of a directory that a container could still be writing to. The server inside confirms that for
 * one slot, if slots are separated from the server; the driver confirms it for a whole container. So while the
 * container runtime is down, a container cannot be ended, and its workspaces stay where they are until it can.
 */
import { randomUUID } from 'node:crypto';
import type { BackendIsolation } from '../backend.ts';
import { DEFAULT_OUTPUT_LIMIT_BYTES } from '../check-caller.ts';
import { SandboxError } from '../errors.ts';
import type { PoolDriver, SlotRequest } from '../pool/pool-driver.ts';
import { workspaceName } from '../workspace/workspace-names.ts';
import type { ContainerDriver, ContainerRequest, Examined, Reached } from './container-driver.ts';
import type { HostDirectory } from './host-directory.ts';
import { type ContainerSlot, RunningContainer } from './running-container.ts';
import type { Attached } from './server/protocol.ts';
import { SandboxClient } from './server/sandbox-client.ts';
import type { WorkspacePlaces } from './workspace-places.ts';

const READY_WITHIN_MS = 30_000;
const END_WITHIN_MS = 1_000;

/** The server inside cannot isolate its slots from each other. */
export class NestingError extends SandboxError {}

interface Held {
  reached: Reached;
  client: SandboxClient;
}

/** The settings that all containers of a backend have in common. */
export type ContainerBlueprint = Omit<ContainerRequest, 'name' | 'labels' | 'directory'>;

export interface ContainerSlotsOptions {
  driver: ContainerDriver;
  host: HostDirectory;
  places: WorkspacePlaces;
  blueprint: ContainerBlueprint;
  /** Called when the server inside a container was lost, and was not released on purpose. */
  onLost(container: RunningContainer, reason: string): void;
  onTrouble(message: string): void;
}

export class ContainerSlots implements PoolDriver<RunningContainer> {
  readonly #options: ContainerSlotsOptions;
  /** The names of containers that exist, or may exist. */
  readonly #names = new Set<string>();
  #spare: RunningContainer | undefined;

  constructor(options: ContainerSlotsOptions) {
    this.#options = options;
  }

  /** Whether a container of this name is known here and will be ended. */
  knows(name: string): boolean {
    return this.#names.has(name);
  }

  /** Starts a container ahead, so that the caller knows the outcome now; the next start uses it. */
  async prepare(signal: AbortSignal): Promise<Attached> {
    this.#spare = await this.#start(signal);
    return this.#spare.client.attached;
  }

  /** Ends a container that was started ahead and not used. */
  async close(): Promise<void> {
    const spare = this.#spare;
    this.#spare = undefined;
    if (spare) await this.stopContainer(spare);
  }

  async startContainer(signal: AbortSignal): Promise<RunningContainer> {
    const spare = this.#spare;
    this.#spare = undefined;
    if (spare && !spare.client.lost.aborted) return spare;
    if (spare) await this.stopContainer(spare);
    return await this.#start(signal);
  }

  /** A container that we release to close its slot does not answer any more, but is not dead. */
  async checkContainer(container: RunningContainer, signal: AbortSignal): Promise<void> {
    try {
      await container.client.ping(signal);
    } catch (error) {
      if (!container.closing) throw error;
    }
  }

  async stopContainer(container: RunningContainer): Promise<void> {
    const { driver, places } = this.#options;
    const { name, directory } = container;
    if (container.client.lost.aborted) await this.endOf(container);
    if (driver.workspaces.on === 'container') await this.#saveOpen(container);
    container.release();
    await container.settled();
    await driver.remove(name);
    await places.takeOutAll(directory);
    await directory.remove();
    this.#names.delete(name);
  }

  openSlot(
    container: RunningContainer,
    { slotId, trajectoryId: given }: SlotRequest,
  ): Promise<{ workspaceDir: string }> {
    const { places, blueprint } = this.#options;
    return container.during(async () => {
      const trajectoryId = given ?? slotId;
      const note = { nobodys: given === undefined, trustedState: blueprint.nested };
      const workspace = { name: workspaceName(trajectoryId), trajectoryId, note };
      const slot: ContainerSlot = { workspace, innerSlotId: '' };
      container.slots.set(slotId, slot);
      await places.putIn(workspace, container);
      const opened = await container.client.open(trajectoryId);
      slot.innerSlotId = opened.slotId;
      return { workspaceDir: opened.workspaceDir };
    });
  }

  closeSlot(
    container: RunningContainer,
    { slotId }: SlotRequest,
    { resetWorkspace }: { resetWorkspace: boolean },
  ): Promise<void> {
    const { driver, places, blueprint } = this.#options;
    return container.during(async () => {
      const slot = container.slots.get(slotId);
      if (!slot) return;
      if (blueprint.nested || driver.workspaces.on === 'container') await closeInside(container, slot);
      else {
        // Nothing inside can be trusted, but its answers to the calls that it ends are worth waiting for.
        await closeInside(container, slot).catch(() => {});
        container.release();
        await driver.remove(container.name);
      }
      await places.takeOut(slot.workspace, container, { discard: resetWorkspace });
      container.slots.delete(slotId);
    });
  }

  async discardWorkspace(trajectoryId: string): Promise<void> {
    await this.#options.places.discard(workspaceName(trajectoryId));
  }

  /** How a container ended, asked once and before it is removed; undefined if nobody knows. */
  endOf(container: RunningContainer): Promise<Examined | undefined> {
    container.end ??= this.#examineEnd(container.name).catch(() => undefined);
    return container.end;
  }

  async #examineEnd(name: string): Promise<Examined> {
    const { driver } = this.#options;
    // The end may be reported a moment after the connection broke; for a frozen container it never is.
    await driver.ended(name, AbortSignal.timeout(END_WITHIN_MS)).catch(() => {});
    return await driver.examine(name);
  }

  /** A workspace that cannot be saved falls back to its state when its slot was opened. */
  async #saveOpen(container: RunningContainer): Promise<void> {
    const { places, onTrouble } = this.#options;
    for (const slot of container.slots.values()) {
      try {
        await closeInside(container, slot);
        await places.save(slot.workspace, container);
      } catch (error) {
        onTrouble(`The workspace ${slot.workspace.name} could not be saved: ${(error as Error).message}`);
      }
    }
  }

  async #start(signal: AbortSignal): Promise<RunningContainer> {
    const { host, driver, blueprint } = this.#options;
    const name = `talaria-${randomUUID()}`;
    const directory = host.container(name);
    this.#names.add(name);
    try {
      await directory.create(driver.workspaces.on === 'host' ? driver.workspaces.owner : undefined);
      return await this.#bringUp({ ...blueprint, name, labels: host.labels, directory }, signal);
    } catch (error) {
      await this.#removeAttempt(name, host);
      throw error;
    }
  }

  async #bringUp(request: ContainerRequest, signal: AbortSignal): Promise<RunningContainer> {
    const { driver } = this.#options;
    const { name, directory, nested } = request;
    try {
      const containerId = await driver.start(request, signal);
      await using opened = new AsyncDisposableStack();
      const held = await this.#untilReady(request, signal);
      opened.defer(() => letGo(held));
      requireIsolation(held.client.attached.isolation, nested);
      opened.move();
      return this.#watched(new RunningContainer({ containerId, name, directory, ...held }));
    } catch (error) {
      if (signal.aborted || error instanceof NestingError) throw error;
      throw await this.#describeFailure(name, error as Error);
    }
  }

  #watched(container: RunningContainer): RunningContainer {
    const { lost } = container.client;
    lost.addEventListener('abort', () => {
      if (!container.released) this.#options.onLost(container, (lost.reason as Error).message);
    });
    return container;
  }

  /** The attached server, or an error as soon as it is clear that there will be none. */
  async #untilReady(request: ContainerRequest, signal: AbortSignal): Promise<Held> {
    const decided = new AbortController();
    const { driver } = this.#options;
    const { readyWithinMs = READY_WITHIN_MS } = driver;
    const limit = AbortSignal.timeout(readyWithinMs);
    const any = AbortSignal.any([signal, limit, decided.signal]);
    const ended = driver.ended(request.name, any).then(() => {
      throw new Error('its server ended');
    });
    const holding = this.#hold(request, any);
    try {
      return await Promise.race([holding, ended]);
    } catch (error) {
      holding.then(letGo, () => {});
      throw limit.aborted ? new Error(`its server was not ready within ${readyWithinMs / 1000} s`) : error;
    } finally {
      decided.abort();
      ended.catch(() => {});
    }
  }

  async #hold(request: ContainerRequest, signal: AbortSignal): Promise<Held> {
    const { outputLimitBytes = DEFAULT_OUTPUT_LIMIT_BYTES } = request.backend;
    const reached = await this.#options.driver.reach(request, signal);
    try {
      const { answersWithinMs } = this.#options.driver;
      const options = { outputLimitBytes, answersWithinMs };
      const client = await SandboxClient.attach(() => reached.connect(), signal, options);
      return { reached, client };
    } catch (error) {
      await reached.close();
      throw error;
    }
  }

  /** For a container that was never created there is nothing to add. */
  async #describeFailure(name: string, cause: Error): Promise<Error> {
    const { driver } = this.#options;
    const examined = await driver.examine(name).catch(() => undefined);
    if (!examined) return cause;
    const said = examined.printed === '' ? 'It printed nothing.' : `It printed:\n${examined.printed}`;
    const message = `A container of ${driver.source} did not come up: ${cause.message}. ${said}`;
    return new SandboxError('container_failed', message, { cause });
  }

  /** If the removal fails, the sweep removes the rest later. */
  async #removeAttempt(name: string, host: HostDirectory): Promise<void> {
    try {
      await this.#options.driver.remove(name);
      await host.container(name).remove();
    } catch {
      // The error of the start says more.
    } finally {
      this.#names.delete(name);
    }
  }
}

async function closeInside({ client }: RunningContainer, { innerSlotId }: ContainerSlot): Promise<void> {
  if (innerSlotId !== '') await client.close(innerSlotId);
}

async function letGo({ reached, client }: Held): Promise<void> {
  client.detach();
  await reached.close();
}

function requireIsolation({ kind, description }: BackendIsolation, nested: boolean): void {
  if (nested && kind === 'none') throw new NestingError('isolation_unavailable', description);
}
