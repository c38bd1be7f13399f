/**
 * Chooses what enforces each limit on this machine: a control group if the server can create one, else an rlimit, else
 * nothing; a workspace is measured. A first command tries each. If a required limit does not hold, the start fails. A limit
 * that the container around the server enforces is not enforced again, with one exception: a command that starts too many
 * processes should hit its own rlimit, if that works, and not use up the processes of all others.
 *
 *   prepare ─a first command runs under `trial`→ decide ─→ BackendLimits
 */

import { checkedLimits } from '../../check-caller.ts';
import { describeLimit } from '../../describe-limits.ts';
import { LimitUnenforceableError } from '../../errors.ts';
import { findDiskUsage } from '../../host/disk-usage.ts';
import type { LimitName, LimitStatus, SandboxLimits } from '../../limits.ts';
import type { IsolationDriver } from '../isolation/isolation-driver.ts';
import type { Observed, Trial } from '../isolation/trial.ts';
import type { BackendLimits } from './backend-limits.ts';
import { DiskMeter } from './disk-meter.ts';
import type { GroupHome } from './group-homes.ts';
import { RLIMIT_TESTS, type Test, trialOf, whyNoRlimit } from './limit-trial.ts';
import { ownOomKills } from './oom-kills.ts';
import type { Controller } from './own-groups.ts';
import { TrialGroups } from './trial-groups.ts';
import type { SpaceOptions } from './workspace-space.ts';

export interface WantedLimits {
  /** Enforced, or the start fails. */
  required: SandboxLimits;
  /** Enforced if this machine can. */
  preferred: SandboxLimits;
  /** Enforced already, by the container that this process runs in. */
  container: SandboxLimits;
}

interface Verdict extends Pick<LimitStatus, 'by' | 'per'> {
  /** Why no stronger means enforces the limit. */
  reason?: string | undefined;
}

interface Means {
  groups: TrialGroups;
  /** How workspaces are measured, or why they cannot be. */
  space: SpaceOptions | Error | undefined;
}

/** In the order in which they are reported. */
const LIMITS: readonly LimitName[] = ['memoryBytes', 'processes', 'cpus', 'fileSizeBytes', 'workspaceBytes'];
const CONTROLLERS: Partial<Record<LimitName, Controller>> = {
  memoryBytes: 'memory',
  processes: 'pids',
  cpus: 'cpu',
};
const RLIMIT_SCOPES = { memoryBytes: 'process', processes: 'command', fileSizeBytes: 'file' } as const;

const BY_CONTAINER: Verdict = { by: 'container', per: 'container' };

export class LimitChoice {
  readonly #required: SandboxLimits;
  readonly #container: SandboxLimits;
  readonly #limits: SandboxLimits;
  readonly #groups: TrialGroups;
  readonly #space: SpaceOptions | Error | undefined;

  private constructor(wanted: WantedLimits, limits: SandboxLimits, means: Means) {
    this.#required = wanted.required;
    this.#container = wanted.container;
    this.#limits = limits;
    this.#groups = means.groups;
    this.#space = means.space;
  }

  /** `workspacesDir` is on the file system that holds all workspaces. */
  static async prepare(wanted: WantedLimits, workspacesDir: string): Promise<LimitChoice> {
    const limits = {
      ...checkedLimits(wanted.preferred),
      ...checkedLimits(wanted.required),
      ...checkedLimits(wanted.container),
    };
    const controllers = LIMITS.filter((limit) => limits[limit] !== undefined)
      .filter((limit) => wanted.container[limit] === undefined)
      .map((limit) => CONTROLLERS[limit])
      .filter((controller) => controller !== undefined);
    const [groups, space] = await Promise.all([
      TrialGroups.prepare(controllers, limits),
      limits.workspaceBytes && prepareSpace(limits.workspaceBytes, workspacesDir),
    ]);
    return new LimitChoice(wanted, limits, { groups, space: space || undefined });
  }

  get trial(): Trial {
    return trialOf([...this.#groups.tests, ...this.#rlimitTests()], this.#groups.entrances);
  }

  /** `observe` runs a further trial, needed if groups could be created but do not hold. */
  async decide(
    isolation: IsolationDriver,
    first: Observed,
    observe: (trial: Trial) => Promise<Observed>,
  ): Promise<BackendLimits> {
    const tested = this.#rlimitTests();
    const homes = await this.#groups.judge(first);
    const untested = this.#rlimitTests().some((test) => !tested.includes(test));
    const observed = untested ? await observe(trialOf(this.#rlimitTests())) : first;

    const limits = this.#limits;
    const status = LIMITS.filter((limit) => limits[limit] !== undefined).map((limit): LimitStatus => {
      const value = limits[limit] as number;
      const verdict = this.#judge(limit, homes, observed, isolation);
      return {
        limit,
        value,
        by: verdict.by,
        per: verdict.per,
        description: describeLimit(limit, value, verdict),
      };
    });
    const unenforced = status.filter(
      ({ limit, by }) => this.#required[limit] !== undefined && by === 'nothing',
    );
    if (unenforced.length > 0) throw new LimitUnenforceableError(unenforced);
    const memory = status.find(
      ({ limit, by }) => limit === 'memoryBytes' && by !== 'rlimit' && by !== 'nothing',
    );
    const space = this.#space instanceof Error ? undefined : this.#space;
    const underRlimit = (limit: LimitName) =>
      status.some((each) => each.limit === limit && each.by === 'rlimit') ? limits[limit] : undefined;
    return {
      status,
      groups: homes.length > 0 ? { homes, limits } : undefined,
      oomBytes: memory?.value,
      rlimits: {
        fileSizeBytes: least(underRlimit('fileSizeBytes'), space?.limitBytes),
        dataBytes: underRlimit('memoryBytes'),
        processes: underRlimit('processes'),
      },
      space,
      ownOomKills: await ownOomKills(),
    };
  }

  async close(): Promise<void> {
    await this.#groups.remove();
  }

  /** For the limits that no group is known to enforce. */
  #rlimitTests(): Test[] {
    return LIMITS.filter((limit) => this.#limits[limit] !== undefined)
      .filter(canBeRlimited)
      .filter((limit) => limit === 'processes' || this.#container[limit] === undefined)
      .filter((limit) => this.#whyNoGroup(limit) !== undefined)
      .map((limit) => RLIMIT_TESTS[limit]);
  }

  #whyNoGroup(limit: LimitName): string | undefined {
    const controller = CONTROLLERS[limit];
    if (controller === undefined) return 'there is no controller for it';
    return this.#container[limit] === undefined
      ? this.#groups.reasons.get(controller)
      : 'the container has one for all';
  }

  #judge(
    limit: LimitName,
    homes: readonly GroupHome[],
    observed: Observed,
    { kind }: IsolationDriver,
  ): Verdict {
    if (limit === 'workspaceBytes') return judgeSpace(this.#space);
    const byContainer = this.#container[limit] !== undefined;
    if (byContainer && limit !== 'processes') return BY_CONTAINER;
    const home = homes.find(({ controllers }) => controllers.some((each) => each === CONTROLLERS[limit]));
    if (home) return { by: `cgroup v${home.version}`, per: 'slot' };
    const noGroup = CONTROLLERS[limit] && `no control group: ${this.#whyNoGroup(limit)}`;
    if (!canBeRlimited(limit)) return { by: 'nothing', per: 'slot', reason: noGroup };
    const noRlimit = observed instanceof Error ? observed.message : whyNoRlimit(limit, observed, kind);
    if (noRlimit === undefined) return { by: 'rlimit', per: RLIMIT_SCOPES[limit], reason: noGroup };
    if (byContainer) return BY_CONTAINER;
    const reasons = [noGroup, `no rlimit: ${noRlimit}`];
    return { by: 'nothing', per: RLIMIT_SCOPES[limit], reason: reasons.filter(Boolean).join('; ') };
  }
}

async function prepareSpace(limitBytes: number, workspacesDir: string): Promise<SpaceOptions | Error> {
  return findDiskUsage().then(
    (usage) => ({ limitBytes, usage, meter: new DiskMeter(workspacesDir) }),
    (error: Error) => error,
  );
}

/** The smaller of those that are there. */
function least(...values: (number | undefined)[]): number | undefined {
  const given = values.filter((value) => value !== undefined);
  return given.length > 0 ? Math.min(...given) : undefined;
}

function judgeSpace(space: SpaceOptions | Error | undefined): Verdict {
  if (!(space instanceof Error)) return { by: 'measurement', per: 'workspace' };
  return { by: 'nothing', per: 'workspace', reason: space.message };
}

function canBeRlimited(limit: LimitName): limit is keyof typeof RLIMIT_TESTS {
  return limit in RLIMIT_TESTS;
}
