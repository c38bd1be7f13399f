/**
 * Containers that exist only in memory, for the pool's own tests. What a test sets in `before` happens first in every
 * call: it can wait or throw. A request that a driver must never get throws and is recorded in `violations`.
 */
import type { Container, PoolDriver, SlotRequest } from '../pool-driver.ts';

export interface FakeContainer extends Container {
  alive: boolean;
  readonly open: Map<string, SlotRequest>;
}

export interface Before {
  start(): Promise<void> | void;
  stop(container: FakeContainer): Promise<void> | void;
  check(container: FakeContainer, signal: AbortSignal): Promise<void> | void;
  open(container: FakeContainer, request: SlotRequest): Promise<void> | void;
  close(container: FakeContainer, request: SlotRequest): Promise<void> | void;
  discard(trajectoryId: string): Promise<void> | void;
}

export class FakeDriver implements PoolDriver<FakeContainer> {
  readonly before: { [K in keyof Before]?: Before[K] | undefined } = {};
  readonly slotsPerContainer: number;
  readonly maxContainers: number;
  /** The containers that were not stopped, dead or alive. */
  readonly containers = new Set<FakeContainer>();
  /** Trajectories whose workspace is kept outside of any container. */
  readonly kept = new Set<string>();
  /** In the order of the calls; undefined for a slot without a trajectory. */
  readonly opened: (string | undefined)[] = [];
  readonly violations: string[] = [];
  starting = 0;
  starts = 0;
  discarded: string[] = [];
  #ids = 0;

  constructor(limits: { slotsPerContainer: number; maxContainers: number }) {
    this.slotsPerContainer = limits.slotsPerContainer;
    this.maxContainers = limits.maxContainers;
  }

  async startContainer(signal: AbortSignal): Promise<FakeContainer> {
    this.starting++;
    this.starts++;
    if (this.starting + this.containers.size > this.maxContainers)
      this.#violation('more containers than may be');
    try {
      await untilAborted(signal, this.before.start?.());
      const container = { containerId: `container_${++this.#ids}`, alive: true, open: new Map() };
      this.containers.add(container);
      return container;
    } finally {
      this.starting--;
    }
  }

  async stopContainer(container: FakeContainer): Promise<void> {
    await this.before.stop?.(container);
    for (const { trajectoryId } of container.open.values()) {
      if (trajectoryId !== undefined) this.kept.add(trajectoryId);
    }
    container.open.clear();
    container.alive = false;
    this.containers.delete(container);
  }

  async checkContainer(container: FakeContainer, signal: AbortSignal): Promise<void> {
    await this.before.check?.(container, signal);
    if (!container.alive) throw new Error('it is dead');
  }

  async openSlot(container: FakeContainer, request: SlotRequest): Promise<{ workspaceDir: string }> {
    const { slotId, trajectoryId } = request;
    if (!this.containers.has(container)) this.#violation('a slot in a container that is gone');
    if (trajectoryId !== undefined && this.holderOf(trajectoryId))
      this.#violation('a trajectory in two slots');
    this.opened.push(trajectoryId);
    container.open.set(slotId, request);
    if (container.open.size > this.slotsPerContainer) this.#violation('more slots than a container has');
    await this.before.open?.(container, request);
    if (!container.alive) throw new Error('the container is dead');
    if (trajectoryId !== undefined) this.kept.delete(trajectoryId);
    return { workspaceDir: `/workspaces/${slotId}` };
  }

  async closeSlot(
    container: FakeContainer,
    request: SlotRequest,
    { resetWorkspace }: { resetWorkspace: boolean },
  ): Promise<void> {
    const { slotId, trajectoryId } = request;
    if (!container.open.has(slotId)) this.#violation('a slot closed twice');
    await this.before.close?.(container, request);
    if (!container.alive) throw new Error('the container is dead');
    container.open.delete(slotId);
    if (trajectoryId !== undefined && !resetWorkspace) this.kept.add(trajectoryId);
  }

  async discardWorkspace(trajectoryId: string): Promise<void> {
    if (this.holderOf(trajectoryId)) this.#violation('a workspace discarded in its slot');
    await this.before.discard?.(trajectoryId);
    this.discarded.push(trajectoryId);
    this.kept.delete(trajectoryId);
  }

  holderOf(trajectoryId: string): FakeContainer | undefined {
    return [...this.containers].find((container) =>
      [...container.open.values()].some((request) => request.trajectoryId === trajectoryId),
    );
  }

  #violation(what: string): never {
    this.violations.push(what);
    throw new Error(`The pool asked for ${what}.`);
  }
}

async function untilAborted(signal: AbortSignal, work: Promise<void> | void): Promise<void> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
