/**
 * Slots in containers, whatever runs the containers (container-driver.ts). HOW_IT_WORKS.md explains how the parts work
 * together.
 *
 * A container holds `slotsPerContainer` slots. Every command runs in its own namespaces, which isolate the slots from
 * each other. If namespaces cannot be created inside a container, it holds one slot and ends with it. So slots are
 * always isolated; the backend does not start if they would not be.
 */
import type { WorkspaceReader } from '../artifacts.ts';
import type {
  AcquireOptions,
  BackendStats,
  ExecuteOptions,
  ExecutionRequest,
  ExecutionResult,
  Slot,
  ToolBackend,
} from '../backend.ts';
import { checkCallOptions, DEFAULT_TIMEOUT_S, slotIdOf } from '../check-caller.ts';
import { SandboxError } from '../errors.ts';
import { notRun } from '../not-run.ts';
import { SlotArtifacts } from '../workspace/slot-artifacts.ts';
import { checkTrajectoryId } from '../workspace/workspace-names.ts';
import { Workspaces } from '../workspace/workspaces.ts';
import type { ContainerDriver } from './container-driver.ts';
import type { ContainerBackendOptions } from './container-options.ts';
import { ContainerWorkspaces } from './container-workspaces.ts';
import { HostDirectory } from './host-directory.ts';
import { placesFor } from './places-for.ts';
import { RunningBackend } from './running-backend.ts';
import { sweep } from './sweep.ts';

export class ContainerBackend extends SlotArtifacts implements ToolBackend {
  readonly defaultTimeoutS: number;
  readonly workspaces: ContainerWorkspaces;
  readonly #driver: ContainerDriver;
  readonly #options: ContainerBackendOptions;
  /** `start` and `stop` take effect in the order in which they were called. */
  #lifecycle: Promise<void> = Promise.resolve();
  /** One for each start in progress. */
  readonly #starts = new Set<AbortController>();
  #running: RunningBackend | undefined;

  constructor(driver: ContainerDriver, options: ContainerBackendOptions) {
    super();
    checkCallOptions(options);
    this.#driver = driver;
    this.#options = options;
    this.defaultTimeoutS = options.defaultTimeoutS ?? DEFAULT_TIMEOUT_S;
    this.workspaces = new ContainerWorkspaces(() => this.#started());
  }

  async start(): Promise<void> {
    const abandoned = new AbortController();
    this.#starts.add(abandoned);
    try {
      await this.#inOrder(async () => {
        const options = { ...this.#options, defaultTimeoutS: this.defaultTimeoutS };
        this.#running ??= await RunningBackend.start(this.#driver, options, abandoned.signal);
      });
    } finally {
      this.#starts.delete(abandoned);
    }
  }

  /** A start that is under way is given up: the image of its first container may take minutes to arrive. */
  stop({ purge = false }: { purge?: boolean } = {}): Promise<void> {
    const message = `The ${this.#driver.title} backend was stopped before it had started.`;
    for (const start of this.#starts) start.abort(new SandboxError('backend_down', message));
    return this.#inOrder(async () => {
      const running = this.#running;
      this.#running = undefined;
      await running?.stop();
      if (purge) await this.#purge();
    });
  }

  async acquire(trajectoryId?: string, options: AcquireOptions = {}): Promise<Slot> {
    if (trajectoryId !== undefined) checkTrajectoryId(trajectoryId);
    return this.#started().pool.acquire(trajectoryId, options);
  }

  async release(slot: Slot, options: { resetWorkspace?: boolean } = {}): Promise<void> {
    await this.#running?.pool.release(slot, options);
  }

  async executeBatch(
    requests: readonly ExecutionRequest[],
    options: ExecuteOptions = {},
  ): Promise<ExecutionResult[]> {
    if (this.#running) return this.#running.execute(requests, options);
    return requests.map((request, index) => {
      const result = notRun('backend_down', this.#notStarted, slotIdOf(request));
      options.onResult?.(result, index);
      return result;
    });
  }

  stats(): BackendStats {
    if (this.#running) return this.#running.stats();
    return {
      backend: this.#driver.name,
      isolation: { kind: 'none', description: 'The backend is not started.' },
      limits: [],
      slots: { available: 0, acquired: 0, executing: 0, releasing: 0, error: 0 },
    };
  }

  #inOrder(action: () => Promise<void>): Promise<void> {
    this.#lifecycle = this.#lifecycle.then(action, action);
    return this.#lifecycle;
  }

  #started(): RunningBackend {
    if (this.#running) return this.#running;
    throw new SandboxError('backend_down', this.#notStarted);
  }

  protected override readerOf(slot: Slot): WorkspaceReader {
    const running = this.#started();
    const held = running.pool.containerOf(slot)?.slots.get(slot.slotId);
    if (!held)
      throw new SandboxError('slot_gone', `The slot ${slot.slotId} was released, or its container died.`);
    const seenAs = running.seenAs(held.workspace.name, slot.workspaceDir);
    return running.places.held(held.workspace, seenAs).reader;
  }

  get #notStarted(): string {
    return `The ${this.#driver.title} backend is not started.`;
  }

  async #purge(): Promise<void> {
    const workspaces = await Workspaces.open(this.#options.workspacesDir);
    // Without the directories, nobody would find the containers that a crash left.
    if (await HostDirectory.exists(workspaces.baseDir, this.#driver.name)) await this.#sweep(workspaces);
    await workspaces.removeAll();
  }

  async #sweep(workspaces: Workspaces): Promise<void> {
    const { onTrouble = () => {} } = this.#options;
    const host = await HostDirectory.open(workspaces.baseDir, this.#driver.name);
    try {
      const places = placesFor(this.#driver, workspaces, this.#options);
      await sweep({ driver: this.#driver, host, places, knows: () => false, onTrouble });
    } finally {
      await host.close();
    }
  }
}
