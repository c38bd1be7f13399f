/** One command under the limits of its slot, from before its launch to its end. */
import type { CommandEnd, RunningCommand } from '../process/run-command.ts';
import type { BackendLimits } from './backend-limits.ts';
import { countWritten } from './disk-meter.ts';
import type { LaunchLimits } from './launch-limits.ts';
import {
  fileTooLarge,
  type LimitHit,
  outOfMemory,
  tooManyProcesses,
  workspaceFull,
  workspaceOver,
} from './limit-hits.ts';
import type { OomKills } from './oom-kills.ts';
import type { SlotGroup } from './slot-group.ts';
import type { SpaceWatcher, WorkspaceSpace } from './workspace-space.ts';

/** The error of a fork beyond a limit, as a code or in words. */
const NO_PROCESS = /\bEAGAIN\b|Resource temporarily unavailable/;

/** The means by which a slot limits its commands. */
export interface SlotMeans {
  limits: BackendLimits;
  group: SlotGroup | undefined;
  /** Counts the kills in its group, or in the one that all slots share. */
  oomKills: OomKills;
  space: WorkspaceSpace | undefined;
}

export class LimitedCommand implements SpaceWatcher {
  readonly launch: LaunchLimits;
  running: RunningCommand | undefined;
  readonly #means: SlotMeans;
  readonly #running: Set<LimitedCommand>;
  readonly #oomKillsBefore: number;
  /** Whether no other command has run in the slot at the same time. */
  #isAlone: boolean;
  readonly usedBefore: number | undefined;
  /** How much the workspace held when the command was ended for being over the limit. */
  #usedWhenEnded: number | undefined;
  readonly #callerSignal: AbortSignal;
  readonly #controller = new AbortController();
  readonly #abort = () => this.#controller.abort();

  /** `running`: the commands of the slot, to which this one is added. */
  constructor(
    means: SlotMeans,
    running: Set<LimitedCommand>,
    usedIfOver: number | undefined,
    callerSignal: AbortSignal,
  ) {
    const { rlimits } = means.limits;
    this.#means = means;
    this.usedBefore = usedIfOver;
    this.launch = {
      entrances: means.group?.entrances ?? [],
      rlimits: usedIfOver === undefined ? rlimits : { ...rlimits, fileSizeBytes: 0 },
    };
    this.#oomKillsBefore = means.oomKills();
    this.#isAlone = means.group?.oomKills !== undefined && running.size === 0;
    for (const other of running) other.#isAlone = false;
    this.#running = running;
    running.add(this);
    this.#callerSignal = callerSignal;
    if (callerSignal.aborted) this.#abort();
    callerSignal.addEventListener('abort', this.#abort, { once: true });
    means.space?.watch(this);
  }

  /** The root process of everything that it runs. */
  get pid(): number | undefined {
    return this.running?.pid;
  }

  /** Aborts because of the caller, or because the workspace is over its limit. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  onOver(usedBytes: number): void {
    this.#usedWhenEnded ??= usedBytes;
    this.#abort();
  }

  /** The limit it ran into. If a command ended before anybody checked its workspace, that is checked here. */
  async hitBy(end: CommandEnd): Promise<LimitHit | undefined> {
    const { limits, space } = this.#means;
    countWritten(end.writtenBytes);
    if (end.cause === 'timeout' || end.cause === 'lost') return undefined;
    const processes = limits.status.find(({ limit }) => limit === 'processes')?.value;
    if (processes !== undefined && !end.started && NO_PROCESS.test(end.message))
      return tooManyProcesses(processes);
    if (this.#isOomVictim(end)) return outOfMemory(limits.oomBytes);
    const { fileSizeBytes } = limits.rlimits;
    if (end.signal === 'SIGXFSZ' && fileSizeBytes !== undefined) return fileTooLarge(fileSizeBytes);
    if (!space) return undefined;
    if (this.usedBefore !== undefined && end.cause === 'exited') {
      return end.exitCode === 0 ? undefined : workspaceFull(this.usedBefore, space.limitBytes, end.exitCode);
    }
    if (this.#usedWhenEnded !== undefined) return workspaceOver(this.#usedWhenEnded, space.limitBytes, true);
    if (end.cause === 'aborted') return undefined;
    const usedBytes = await space.usedIfOver();
    return usedBytes === undefined ? undefined : workspaceOver(usedBytes, space.limitBytes, false);
  }

  done(): void {
    this.#running.delete(this);
    this.#means.space?.unwatch(this);
    this.#callerSignal.removeEventListener('abort', this.#abort);
  }

  #isOomVictim({ cause, exitCode, signal }: CommandEnd): boolean {
    if (cause !== 'exited' || exitCode === 0) return false;
    // A command that shares its group with others may fail for reasons of its own while one of them is ended.
    if (!this.#isAlone && signal !== 'SIGKILL') return false;
    return this.#means.oomKills() > this.#oomKillsBefore;
  }
}
