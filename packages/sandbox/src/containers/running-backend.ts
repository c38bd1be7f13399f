/** A container backend between `start` and `stop`: everything that exists only then. */

import { posix } from 'node:path';
import type { BackendStats, ExecuteOptions, ExecutionRequest, ExecutionResult } from '../backend.ts';
import { SlotPool } from '../pool/slot-pool.ts';
import type { SeenAs } from '../workspace/artifacts/workspace-place.ts';
import { WORKSPACE_DIR } from '../workspace/workspace-dir.ts';
import { tmpWithin, Workspaces } from '../workspace/workspaces.ts';
import { Staging } from '../workspace/writing/staging.ts';
import { chooseNesting, type NestingChoice } from './choose-nesting.ts';
import { ContainerCalls } from './container-calls.ts';
import type { ContainerDriver } from './container-driver.ts';
import { type ContainerBackendOptions, poolLimits } from './container-options.ts';
import { type ContainerBlueprint, ContainerSlots } from './container-slots.ts';
import { type DividedLimits, divideLimits } from './divide-limits.ts';
import { HostDirectory } from './host-directory.ts';
import { placesFor } from './places-for.ts';
import type { RunningContainer } from './running-container.ts';
import { sweep } from './sweep.ts';
import type { WorkspacePlaces } from './workspace-places.ts';

const SWEEP_EVERY_MS = 60_000;

export type RunningOptions = ContainerBackendOptions & { defaultTimeoutS: number };

interface Parts extends NestingChoice {
  driver: ContainerDriver;
  pool: SlotPool<RunningContainer>;
  places: WorkspacePlaces;
  staging: Staging;
  defaultTimeoutS: number;
  onTrouble(message: string): void;
  resources: AsyncDisposableStack;
}

export class RunningBackend {
  readonly pool: SlotPool<RunningContainer>;
  readonly places: WorkspacePlaces;
  readonly staging: Staging;
  readonly #parts: Parts;
  readonly #calls: ContainerCalls;
  readonly #stopping = new AbortController();
  readonly #executions = new Set<Promise<unknown>>();

  private constructor(parts: Parts) {
    this.pool = parts.pool;
    this.places = parts.places;
    this.staging = parts.staging;
    this.#parts = parts;
    const { pool, slots, defaultTimeoutS, driver } = parts;
    const filesAfterLoss = driver.workspaces.on === 'host' ? 'kept' : 'reverted';
    this.#calls = new ContainerCalls(pool, slots, { defaultTimeoutS, filesAfterLoss });
  }

  /** When it rejects, also because the signal aborts, nothing is left. */
  static async start(
    driver: ContainerDriver,
    options: RunningOptions,
    signal: AbortSignal,
  ): Promise<RunningBackend> {
    signal.throwIfAborted();
    const { onTrouble = () => {} } = options;
    const limits = divideLimits(options, await driver.prepare());
    await using resources = new AsyncDisposableStack();
    const workspaces = await Workspaces.open(options.workspacesDir);
    resources.defer(() => workspaces.close());
    const host = await HostDirectory.open(workspaces.baseDir, driver.name);
    resources.defer(() => host.close());
    const places = placesFor(driver, workspaces, options);
    const sweepAll = (knows: (name: string) => boolean) => sweep({ driver, host, places, knows, onTrouble });
    await sweepAll(() => false);

    let pool: SlotPool<RunningContainer> | undefined;
    const create = (nested: boolean) =>
      new ContainerSlots({
        ...{ driver, host, places, onTrouble },
        blueprint: blueprintOf(options, nested, limits),
        onLost: (container, reason) => pool?.containerFailed(container, reason),
      });
    const pooling = poolLimits(options, driver);
    const choice = await chooseNesting(driver, create, pooling.slotsPerContainer, signal);
    const { slots, nested } = choice;
    resources.defer(() => slots.close());
    pool = new SlotPool({ ...pooling, driver: slots, singleUse: !nested, onTrouble });
    resources.defer(() => pool.stop());
    await startUnlessAborted(pool, signal);
    await slots.close();

    let sweeping: Promise<void> | undefined;
    const sweeper = setInterval(() => {
      // One at a time, however long the driver takes.
      sweeping ??= sweepAll((name) => slots.knows(name))
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
    return new RunningBackend({
      ...{ ...choice, limits: [...choice.limits, ...limits.unenforced] },
      ...{ driver, pool, places, onTrouble, resources: resources.move() },
      staging: new Staging(workspaces.stagingDir),
      defaultTimeoutS: options.defaultTimeoutS,
    });
  }

  /** Answers running calls, then ends the containers. The next start handles what cannot be ended now. */
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
    const { driver, isolation, limits } = this.#parts;
    const trouble = containers.ready === 0 ? startFailure : undefined;
    return { backend: driver.name, isolation, limits, slots, containers, trouble };
  }

  /** Where commands in a slot see the workspace; `dir` is where, if a slot has it. */
  seenAs(name: string, dir?: string): SeenAs {
    const { nested, driver } = this.#parts;
    if (nested) return { dir: WORKSPACE_DIR, tmpDir: '/tmp' };
    const workspacesDir = dir === undefined ? driver.workspacesDir : posix.dirname(dir);
    return { dir: posix.join(workspacesDir, name), tmpDir: posix.join(workspacesDir, ...tmpWithin(name)) };
  }
}

async function startUnlessAborted(pool: SlotPool<RunningContainer>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const stop = () => void pool.stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    await pool.start();
    signal.throwIfAborted();
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function blueprintOf(options: RunningOptions, nested: boolean, limits: DividedLimits): ContainerBlueprint {
  const { allowNetwork = false, defaultTimeoutS, outputLimitBytes, spoolLimitBytes } = options;
  return {
    ...{ nested, allowNetwork, limits: limits.container },
    slots: poolLimits(options).slotsPerContainer,
    backend: {
      isolation: nested ? 'auto' : 'none',
      ...{ inContainer: true, allowNetwork, containerLimits: limits.container, ...limits.inside },
      ...defined({ defaultTimeoutS, outputLimitBytes, spoolLimitBytes }),
    },
  };
}

type Defined<T> = { [Key in keyof T]?: Exclude<T[Key], undefined> };

function defined<T extends object>(values: T): Defined<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Defined<T>;
}
