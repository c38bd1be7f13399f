/**
 * Containers as batch jobs of a Nomad cluster, anywhere on it: nothing is shared with this machine. Each is reached by the
 * streams of one `alloc exec`, which needs no port and works without a network.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type {
  ContainerDriver,
  ContainerRequest,
  DriverLimits,
  Examined,
  ListedContainer,
  Reached,
} from '../containers/container-driver.ts';
import { FAR_ANSWERS_WITHIN_MS, RelayEndedAtOnce, reachByRelay } from '../containers/relay/reach-by-relay.ts';
import { SandboxError } from '../errors.ts';
import {
  type JobSettings,
  jobSpec,
  relayCommand,
  SERVER_FAILED,
  SERVER_KILLED,
  TASK,
  workspacesDirOf,
} from './job-spec.ts';
import type { NomadApi } from './nomad-api.ts';
import type { Allocation, Evaluation, TaskEvent } from './nomad-types.ts';

/** A node may have to pull the image first. */
const TIMES = { runningWithinMs: 5 * 60_000, endedWithinMs: 60_000 };
const WORDS_WITHIN_MS = 3_000;
const LOOK_EVERY_MS = 100;
/**
 * Nomad's docker driver takes an exec that Docker has not begun yet for one that has ended. Docker then begins it without input, so
 * it ends by itself, and the next exec is the first that works.
 */
const EXEC_ATTEMPTS = 10;
const PREFIX = 'talaria-';
const TERMINAL = ['complete', 'failed', 'lost'];

const NO_NESTING =
  'Nomad’s docker driver covers parts of /proc, so no namespaces can be made in its containers';
const NO_CPU_LIMIT =
  'Nomad shares processor time out and does not hold a task to its share; reserve it with TALARIA_NOMAD_CPU_MHZ';

export class NomadDriver implements ContainerDriver {
  readonly name = 'nomad';
  readonly title = 'Nomad';
  readonly source: string;
  readonly workspaces = { on: 'container' } as const;
  readonly answersWithinMs = FAR_ANSWERS_WITHIN_MS;
  readonly workspacesDir: string;
  readonly noNesting: string | undefined;
  readonly mustNest: string | undefined;
  readonly #api: NomadApi;
  readonly #settings: JobSettings;
  readonly #times: typeof TIMES;
  readonly #allocations = new Map<string, string>();

  constructor(api: NomadApi, settings: JobSettings, times: Partial<typeof TIMES> = {}) {
    const { driver, image } = settings;
    this.#api = api;
    this.#times = { ...TIMES, ...times };
    this.#settings = settings;
    this.source = driver === 'docker' ? `the image ${image}` : `the driver ${driver}`;
    this.workspacesDir = workspacesDirOf(driver);
    if (driver === 'docker') this.noNesting = NO_NESTING;
    else this.mustNest = `a task of Nomad’s ${driver} driver has the network of its node`;
  }

  async prepare(): Promise<DriverLimits> {
    await this.#api.leader();
    await this.#api.listJobs(PREFIX);
    if (this.#settings.driver !== 'docker') return {};
    return { memoryBytes: true, processes: true, cpus: NO_CPU_LIMIT };
  }

  async start(request: ContainerRequest, signal: AbortSignal): Promise<string> {
    const evaluation = await this.#api.registerJob(jobSpec(this.#settings, request));
    const { runningWithinMs } = this.#times;
    const late = () =>
      new SandboxError('container_failed', `its task did not run within ${runningWithinMs / 1_000} s`);
    const id = await inTime(runningWithinMs, late, signal, async (any) => {
      await this.#api.untilEvaluation(evaluation, placed, any);
      return await this.#api.untilAllocations(request.name, running, any);
    });
    this.#allocations.set(request.name, id);
    return id;
  }

  async reach({ name }: ContainerRequest, signal: AbortSignal): Promise<Reached> {
    const id = this.#allocations.get(name);
    if (id === undefined) throw new Error(`the container ${name} was not started here`);
    for (let attempt = 1; ; attempt++) {
      const stream = await this.#api.exec(id, TASK, relayCommand(this.#settings), signal);
      try {
        return await reachByRelay(stream, signal);
      } catch (error) {
        if (!(error instanceof RelayEndedAtOnce) || attempt === EXEC_ATTEMPTS) throw error;
      }
      await delay(LOOK_EVERY_MS, undefined, { signal });
    }
  }

  async ended(name: string, signal: AbortSignal): Promise<void> {
    await this.#api.untilAllocations(name, allEnded, signal);
  }

  async examine(name: string): Promise<Examined> {
    const allocation = newest(await this.#api.allocations(name));
    if (!allocation) throw new Error(`Nomad has no allocation of ${name}`);
    const events = eventsOf(allocation);
    const outOfMemory = events.some(
      ({ ExitCode, Details }) => ExitCode === SERVER_KILLED && Details?.oom_killed === 'true',
    );
    const log = await this.#lastWords(allocation.ID, events).catch(() => '');
    return { outOfMemory, printed: log || describeEvents(events) };
  }

  /** A server that failed by itself printed why, but Nomad may collect that a moment after it reports the end. */
  async #lastWords(allocation: string, events: readonly TaskEvent[]): Promise<string> {
    const failed = events.some(({ ExitCode }) => ExitCode === SERVER_FAILED);
    for (const deadline = performance.now() + WORDS_WITHIN_MS; ; await delay(LOOK_EVERY_MS)) {
      const log = await this.#api.taskLog(allocation, TASK, 'stderr');
      if (log !== '' || !failed || performance.now() > deadline) return log;
    }
  }

  async list(label: string, value: string): Promise<ListedContainer[]> {
    const jobs = await this.#api.listJobs(PREFIX);
    return jobs
      .map(({ ID, Meta, Status }) => ({ name: ID, labels: Meta ?? {}, ended: Status === 'dead' }))
      .filter(({ labels }) => labels[label] === value);
  }

  /** Purges the job only when its task has ended: afterwards nobody could find out whether the task still runs. */
  async remove(name: string): Promise<void> {
    await this.#api.stopJob(name, { purge: false });
    const { endedWithinMs } = this.#times;
    const late = () =>
      new SandboxError('backend_down', `its task did not end within ${endedWithinMs / 1_000} s`);
    await inTime(endedWithinMs, late, undefined, (any) => this.#api.untilAllocations(name, allEnded, any));
    await this.#api.stopJob(name, { purge: true });
    this.#allocations.delete(name);
  }
}

/** `late` says what took too long; the error of a signal that has timed out does not. */
async function inTime<T>(
  ms: number,
  late: () => Error,
  signal: AbortSignal | undefined,
  work: (any: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = AbortSignal.timeout(ms);
  try {
    return await work(signal ? AbortSignal.any([signal, limit]) : limit);
  } catch (error) {
    throw limit.aborted && !signal?.aborted ? late() : error;
  }
}

/** Throws if there is no place for the container: Nomad would wait until there is one. */
function placed({ Status, StatusDescription, FailedTGAllocs }: Evaluation): true | undefined {
  const failed = Object.values(FailedTGAllocs ?? {})[0];
  if (failed) {
    const exhausted = Object.entries(failed.DimensionExhausted ?? {});
    const filtered = Object.entries(failed.ConstraintFiltered ?? {});
    const reasons = [
      ...exhausted.map(([what, nodes]) => `${what} is used up on ${nodes} of them`),
      ...filtered.map(([what, nodes]) => `${nodes} of them do not have ${what}`),
    ];
    const nodes = `${failed.NodesEvaluated ?? 0} nodes were looked at`;
    throw new SandboxError(
      'slot_unavailable',
      `Nomad has no room for another container: ${[nodes, ...reasons].join(', ')}. Add nodes, reserve less, or lower TALARIA_MAX_CONTAINERS.`,
    );
  }
  if (Status === 'complete') return true;
  if (Status === 'pending' || Status === 'blocked') return undefined;
  throw new SandboxError('container_failed', `Nomad placed no container: ${StatusDescription || Status}.`);
}

function running(allocations: Allocation[]): string | undefined {
  const allocation = newest(allocations);
  if (allocation?.ClientStatus === 'running') return allocation.ID;
  if (!allocation || !TERMINAL.includes(allocation.ClientStatus)) return undefined;
  const said =
    describeEvents(eventsOf(allocation)) || allocation.ClientDescription || allocation.ClientStatus;
  throw new SandboxError('container_failed', `its task ended before it ran: ${said}`);
}

function allEnded(allocations: Allocation[]): true | undefined {
  return allocations.every(({ ClientStatus }) => TERMINAL.includes(ClientStatus)) || undefined;
}

function newest(allocations: Allocation[]): Allocation | undefined {
  return allocations.toSorted((one, other) => other.CreateIndex - one.CreateIndex)[0];
}

function eventsOf({ TaskStates }: Allocation): TaskEvent[] {
  return TaskStates?.[TASK]?.Events ?? [];
}

function describeEvents(events: readonly TaskEvent[]): string {
  return events
    .map(({ DisplayMessage }) => DisplayMessage)
    .filter(Boolean)
    .join('\n');
}
