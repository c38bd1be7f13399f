/** A Docker backend between `start` and `stop`: everything that is there only then. */
import type { BackendStats, ExecuteOptions, ExecutionRequest, ExecutionResult } from '../backend.ts';
import { blueprintOf } from '../docker/blueprint.ts';
import { checkDaemon } from '../docker/check-daemon.ts';
import { INSIDE } from '../docker/container-spec.ts';
import type { DockerApi } from '../docker/docker-api.ts';
import { DockerDriver } from '../docker/docker-driver.ts';
import { divideLimits } from '../docker/docker-limits.ts';
import { type DockerBackendOptions, poolLimits } from '../docker/docker-options.ts';
import { WORKSPACE_DIR } from '../local/isolation/system-view.ts';
import { SlotPool } from '../pool/slot-pool.ts';
import { Workspaces } from '../workspace/workspaces.ts';
import { chooseDriver, type DriverChoice } from './choose-driver.ts';
import { ContainerCalls } from './container-calls.ts';
import { HostDirectory } from './host-directory.ts';
import type { DockerContainer } from './running-container.ts';
import { sweep } from './sweep.ts';
import { WorkspacePlaces } from './workspace-places.ts';

const SWEEP_EVERY_MS = 60_000;

interface Parts extends DriverChoice {
  pool: SlotPool<DockerContainer>;
  places: WorkspacePlaces;
  defaultTimeoutS: number;
  onTrouble(message: string): void;
  resources: AsyncDisposableStack;
}

export class RunningDocker {
  readonly pool: SlotPool<DockerContainer>;
  readonly places: WorkspacePlaces;
  readonly #parts: Parts;
  readonly #calls: ContainerCalls;
  readonly #stopping = new AbortController();
  readonly #executions = new Set<Promise<unknown>>();

  private constructor(parts: Parts) {
    this.pool = parts.pool;
    this.places = parts.places;
    this.#parts = parts;
    this.#calls = new ContainerCalls(parts.pool, parts.driver, parts.defaultTimeoutS);
  }

  static async start(
    api: DockerApi,
    options: DockerBackendOptions & { defaultTimeoutS: number },
  ): Promise<RunningDocker> {
    const { onTrouble = () => {} } = options;
    const daemon = await checkDaemon(api, options.image);
    const limits = divideLimits(options, daemon);
    await using resources = new AsyncDisposableStack();
    const workspaces = await Workspaces.open(options.workspacesDir);
    resources.defer(() => workspaces.close());
    const host = await HostDirectory.open(workspaces.baseDir);
    resources.defer(() => host.close());
    const places = new WorkspacePlaces(workspaces);
    const sweepAll = (knows: (name: string) => boolean) => sweep({ api, host, places, knows, onTrouble });
    await sweepAll(() => false);

    let pool: SlotPool<DockerContainer> | undefined;
    const create = (nested: boolean) =>
      new DockerDriver({
        ...{ api, host, places },
        blueprint: blueprintOf(options, nested, daemon, limits),
        onLost: (container, reason) => pool?.containerFailed(container, reason),
      });
    const pooling = poolLimits(options);
    const choice = await chooseDriver(create, pooling.slotsPerContainer);
    const { driver, nested } = choice;
    resources.defer(() => driver.close());
    pool = new SlotPool({ ...pooling, driver, singleUse: !nested, onTrouble });
    await pool.start();
    resources.defer(() => pool.stop());
    await driver.close();

    let sweeping: Promise<void> | undefined;
    const sweeper = setInterval(() => {
      // One at a time, however long the daemon takes.
      sweeping ??= sweepAll((name) => driver.knows(name))
        .catch((error: Error) => onTrouble(error.message))
        .finally(() => {
          sweeping = undefined;
        });
    }, SWEEP_EVERY_MS);
    sweeper.unref();
    resources.defer(async () => {
      clearInterval(sweeper);
      await sweeping;
    });
    return new RunningDocker({
      ...{ ...choice, limits: [...choice.limits, ...limits.unenforced] },
      ...{ pool, places, onTrouble, resources: resources.move() },
      defaultTimeoutS: options.defaultTimeoutS,
    });
  }

  /** Answers what runs, then ends the containers. What cannot be ended now is for the next start. */
  async stop(): Promise<void> {
    const { resources, onTrouble } = this.#parts;
    this.#stopping.abort();
    await Promise.allSettled(this.#executions);
    await resources.disposeAsync().catch((error: Error) => onTrouble(error.message));
  }

  async execute(requests: readonly ExecutionRequest[], options: ExecuteOptions): Promise<ExecutionResult[]> {
    const execution = this.#calls.execute(requests, options, this.#stopping.signal);
    this.#executions.add(execution);
    try {
      return await execution;
    } finally {
      this.#executions.delete(execution);
    }
  }

  stats(): BackendStats {
    const { slots, containers, startFailure } = this.pool.stats();
    const { isolation, limits } = this.#parts;
    const trouble = containers.ready === 0 ? startFailure : undefined;
    return { backend: 'docker', isolation, limits, slots, containers, trouble };
  }

  /** The workspace as commands in a slot see it. */
  readonly workspaceDirOf = (name: string): string =>
    this.#parts.nested ? WORKSPACE_DIR : `${INSIDE.workspaces}/${name}`;
}
