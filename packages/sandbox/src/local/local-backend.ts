/**
 * Slots on this machine: a directory per trajectory, an isolated process tree per command.
 *
 * A slot belongs to its trajectory until it is released: acquiring a held trajectory returns the slot that holds it. A
 * slot without a trajectory has a workspace that nobody needs afterwards, so releasing the slot deletes it. Releasing
 * and stopping first end what runs; its results are `aborted`.
 */
import type { WorkspaceReader } from '../artifacts.ts';
import type {
  AcquireOptions,
  BackendStats,
  ExecuteOptions,
  ExecutionRequest,
  ExecutionResult,
  HardeningStatus,
  Isolation,
  Slot,
  ToolBackend,
} from '../backend.ts';
import { checkCallOptions, DEFAULT_OUTPUT_LIMIT_BYTES, DEFAULT_TIMEOUT_S } from '../check-caller.ts';
import { SandboxError } from '../errors.ts';
import type { SandboxLimits } from '../limits.ts';
import { Turns } from '../workspace/files/turns.ts';
import { assertApart, assertMountable } from '../workspace/mountable.ts';
import { SlotArtifacts } from '../workspace/slot-artifacts.ts';
import { anonymousWorkspaceName, workspaceName } from '../workspace/workspace-names.ts';
import { Workspaces } from '../workspace/workspaces.ts';
import { SharedNetwork } from './background/shared-network.ts';
import type { Confinement } from './confinement.ts';
import type { IsolationDriver } from './isolation/isolation-driver.ts';
import { chooseIsolation } from './isolation/probe.ts';
import type { WantedUsers } from './isolation/slot-users.ts';
import { observeTrial, type TrialSite } from './isolation/trial.ts';
import { withEnvironment } from './isolation/with-environment.ts';
import type { Keepers } from './keeper/keepers.ts';
import { Seats } from './keeper/seats.ts';
import { SlotSeat } from './keeper/slot-seat.ts';
import { LimitChoice } from './limits/limit-choice.ts';
import { SlotLimits } from './limits/slot-limits.ts';
import { LocalSlot } from './local-slot.ts';
import { LocalWorkspaces, type StartedWorkspaces } from './local-workspaces.ts';
import { sweepMomentary } from './process/memory-dir.ts';
import { PipeStock } from './process/pipe-stock.ts';
import { type CallPlace, failure, SlotCalls } from './slot-calls.ts';
import type { ToolOutcome } from './tools/tool.ts';

const DEFAULT_SPOOL_LIMIT_BYTES = 64 * 1024 * 1024;

export interface LocalBackendOptions {
  /** Holds the workspaces and nothing else. Created if missing. */
  workspacesDir: string;
  /** For commands without a timeout of their own. 180 by default. */
  defaultTimeoutS?: number;
  /** How many bytes of a command's output are returned; of a longer output, its head and tail. 50 000 by default. */
  outputLimitBytes?: number;
  /** How many bytes of a longer output are stored in a file. 64 MiB by default. */
  spoolLimitBytes?: number;
  /** Whether commands reach the network of the host. Only isolation can keep them from it. */
  allowNetwork?: boolean;
  /** `auto`: the first that works of bubblewrap and unshare, else none. Any other must work or `start` fails. */
  isolation?: Isolation['kind'] | 'auto';
  /** Directories that commands must not see even if they are inside the system's, such as a data directory in /opt. */
  hiddenPaths?: readonly string[];
  /**
   * The kernel users that slots run as. `auto`: separate users if the server is root, else the server's; `shared`: the
   * server's; a range has to work or `start` fails.
   */
  users?: WantedUsers;
  /** Additional environment variables for commands. */
  environment?: Readonly<Record<string, string>>;
  /** What commands may use. One that cannot be enforced here makes `start` fail. */
  limits?: SandboxLimits;
  /** Used for limits that `limits` does not set; if one cannot be enforced here, `stats` only reports it. */
  preferredLimits?: SandboxLimits;
  /** The limits that the container around this process enforces for all its commands. */
  containerLimits?: SandboxLimits;
  /** A container around this process isolates its commands, and has a network only with `allowNetwork`. */
  inContainer?: boolean;
  /**
   * For a backend without isolation and with one slot: all directories that commands can write to. Together they count against
   * the limit of the workspace. By default the workspace and its /tmp.
   */
  writableDirs?: readonly string[];
  /** Directories of the operator that trajectories may work in (`workspaces.mount`). `start` fails if that cannot work. */
  mountable?: readonly string[];
}

interface Running extends StartedWorkspaces {
  hardening: readonly HardeningStatus[];
  pipes: PipeStock;
  /** The keepers that start commands; undefined if the server starts them. */
  keepers: Keepers | undefined;
  seats: Seats;
}

export class LocalBackend extends SlotArtifacts implements ToolBackend {
  readonly defaultTimeoutS: number;
  readonly workspaces: LocalWorkspaces;
  readonly #options: LocalBackendOptions;
  readonly #slots = new Map<string, LocalSlot>();
  /** Acquire, release and discard of one workspace happen one after the other. */
  readonly #turns = new Turns();
  readonly #calls: SlotCalls;
  #running: Running | undefined;
  #starting: Promise<void> | undefined;

  constructor(options: LocalBackendOptions) {
    super();
    checkCallOptions(options);
    this.#options = options;
    this.defaultTimeoutS = options.defaultTimeoutS ?? DEFAULT_TIMEOUT_S;
    this.workspaces = new LocalWorkspaces({
      started: () => this.#started(),
      turns: this.#turns,
      holderOf: (name) => this.#holderOf(name),
      writableDirs: options.writableDirs,
    });
    this.#calls = new SlotCalls({
      placeOf: (slotId) => this.#placeOf(slotId),
      output: {
        limitBytes: options.outputLimitBytes ?? DEFAULT_OUTPUT_LIMIT_BYTES,
        spoolLimitBytes: options.spoolLimitBytes ?? DEFAULT_SPOOL_LIMIT_BYTES,
      },
      inContainer: options.inContainer ?? false,
      defaultTimeoutS: this.defaultTimeoutS,
    });
  }

  /** Two concurrent calls are one start. */
  start(): Promise<void> {
    this.#starting ??= this.#bringUp().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async #bringUp(): Promise<void> {
    if (this.#running) return;
    sweepMomentary();
    const { workspacesDir, hiddenPaths = [], mountable = [] } = this.#options;
    const workspaces = await Workspaces.open(workspacesDir, mountable);
    const pipes = new PipeStock();
    try {
      const found = await this.#findOut({ workspaces, pipes });
      for (const dir of mountable) {
        await assertMountable(dir);
        await assertApart(dir, [workspaces.baseDir, ...hiddenPaths]);
        await found.isolation.mountedOwner(dir);
      }
      this.#running = { workspaces, pipes, ...found };
    } catch (error) {
      await pipes.close();
      await workspaces.close();
      throw error;
    }
  }

  /** Finds out how to isolate commands here, and how to enforce their limits. */
  async #findOut(
    site: TrialSite,
  ): Promise<Pick<Running, 'isolation' | 'hardening' | 'limits' | 'keepers' | 'seats'>> {
    const {
      limits: required = {},
      preferredLimits: preferred = {},
      containerLimits: container = {},
    } = this.#options;
    const choice = await LimitChoice.prepare({ required, preferred, container }, site.workspaces.baseDir);
    try {
      const { driver, observed, hardening, keepers } = await chooseIsolation({
        wanted: this.#options.isolation ?? 'auto',
        allowNetwork: this.#options.allowNetwork ?? false,
        hiddenPaths: this.#options.hiddenPaths ?? [],
        users: this.#options.users ?? 'auto',
        trial: choice.trial,
        ...site,
      });
      const limits = await choice
        .decide(driver, observed, (trial) => observeTrial(driver, trial, site))
        .catch(async (error: unknown) => {
          await keepers?.close();
          throw error;
        });
      return {
        isolation: withEnvironment(driver, this.#options.environment ?? {}),
        hardening,
        limits,
        keepers,
        seats: new Seats(keepers, limits.groups),
      };
    } finally {
      await choice.close();
    }
  }

  async stop({ purge = false }: { purge?: boolean } = {}): Promise<void> {
    await this.#starting?.catch(() => {});
    const running = this.#running;
    this.#running = undefined;
    const slots = [...this.#slots.values()];
    this.#slots.clear();
    await Promise.all(slots.map((slot) => slot.end()));
    await this.#turns.settled();
    for (const slot of slots) slot.phase = 'available';
    await running?.seats.close();
    await running?.keepers?.close();
    await running?.pipes.close();
    await running?.workspaces.close();
    if (purge) {
      const workspaces = running?.workspaces ?? (await Workspaces.open(this.#options.workspacesDir));
      await workspaces.removeAll();
    }
  }

  async acquire(trajectoryId?: string, { signal }: AcquireOptions = {}): Promise<Slot> {
    const name = trajectoryId === undefined ? anonymousWorkspaceName() : workspaceName(trajectoryId);
    return this.#turns.take(name, async () => {
      signal?.throwIfAborted();
      const { isolation, limits, workspaces, keepers, seats } = this.#started();
      seats.prepare();
      const held = this.#holderOf(name);
      if (held) return held;
      const created = await workspaces.create(name);
      const workspace = await isolation.prepare(created);
      this.#started();
      const slot = new LocalSlot({
        workspace,
        workspaceDir: isolation.workspaceDir(workspace),
        trajectoryId,
        limits: new SlotLimits(limits, created, this.#options.writableDirs),
        network: new SharedNetwork(keepers && !workspace.isMounted ? undefined : isolation.openNetwork),
        seat: new SlotSeat(seats),
      });
      this.#slots.set(slot.slotId, slot);
      return slot;
    });
  }

  async release(slot: Slot, { resetWorkspace = false }: { resetWorkspace?: boolean } = {}): Promise<void> {
    const held = this.#slots.get(slot.slotId);
    if (!held) return;
    await this.#turns.take(held.workspace.name, async () => {
      if (!this.#slots.has(held.slotId)) return;
      const { isolation, workspaces } = this.#started();
      held.phase = 'releasing';
      await held.end();
      this.#slots.delete(held.slotId);
      isolation.release(held.workspace);
      try {
        if (resetWorkspace || held.trajectoryId === undefined) await workspaces.remove(held.workspace.name);
        held.phase = 'available';
      } catch (error) {
        held.phase = 'error';
        throw error;
      }
    });
  }

  executeBatch(
    requests: readonly ExecutionRequest[],
    options: ExecuteOptions = {},
  ): Promise<ExecutionResult[]> {
    return this.#calls.execute(requests, options);
  }

  stats(): BackendStats {
    const slots = { available: 0, acquired: 0, executing: 0, releasing: 0, error: 0 };
    for (const slot of this.#slots.values()) slots[slot.state]++;
    const { kind, description } = this.#running?.isolation ?? {
      kind: 'none' as const,
      description: 'The backend is not started.',
    };
    const { hardening = [], limits } = this.#running ?? {};
    return {
      backend: 'local',
      isolation: { kind, description, hardening },
      limits: limits?.status ?? [],
      slots,
    };
  }

  #placeOf(slotId: string): CallPlace | ToolOutcome {
    if (!this.#running) return failure('backend_down', 'The local backend is not started.');
    const slot = this.#slots.get(slotId);
    if (!slot || slot.state === 'releasing') return failure('gone', `The slot ${slotId} was released.`);
    const { isolation, pipes } = this.#running;
    return { slot, isolation, pipes, confinement: this.#confinementBy(isolation) };
  }

  #confinementBy({ kind }: IsolationDriver): Confinement {
    const { inContainer = false, allowNetwork = false } = this.#options;
    const sandboxed = kind !== 'none' || inContainer;
    return { sandboxed, network: allowNetwork || !sandboxed, canCutOff: kind !== 'none' };
  }

  #started(): Running {
    if (this.#running) return this.#running;
    throw new SandboxError('backend_down', 'The local backend is not started.');
  }

  protected override readerOf({ slotId }: Slot): WorkspaceReader {
    this.#started();
    const slot = this.#slots.get(slotId);
    if (!slot || slot.state === 'releasing') {
      throw new SandboxError('slot_gone', `The slot ${slotId} was released.`);
    }
    return this.workspaces.view(slot.workspace).reader;
  }

  #holderOf(workspaceName: string): LocalSlot | undefined {
    return [...this.#slots.values()].find((slot) => slot.workspace.name === workspaceName);
  }
}
