/** Control groups for the first command of a backend, which show whether those of slots would hold. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SandboxLimits } from '../../limits.ts';
import type { Observed } from '../isolation/trial.ts';
import { type GroupHome, openGroupHomes } from './group-homes.ts';
import { couldFork, type Test, TRIAL_PROCESSES } from './limit-trial.ts';
import type { Controller } from './own-groups.ts';
import { SlotGroup } from './slot-group.ts';

export class TrialGroups {
  readonly #homes: readonly GroupHome[];
  readonly #group: SlotGroup | undefined;
  /** Why a controller does not limit commands, for those that do not. */
  readonly reasons: Map<Controller, string>;

  private constructor(
    homes: readonly GroupHome[],
    group: SlotGroup | undefined,
    reasons: Map<Controller, string>,
  ) {
    this.#homes = homes;
    this.#group = group;
    this.reasons = reasons;
  }

  static async prepare(wanted: readonly Controller[], limits: SandboxLimits): Promise<TrialGroups> {
    const { homes, reasons } = await openGroupHomes(wanted);
    if (homes.length === 0) return new TrialGroups([], undefined, reasons);
    try {
      const group = await SlotGroup.create(homes, { ...limits, processes: TRIAL_PROCESSES });
      return new TrialGroups(homes, group, reasons);
    } catch (error) {
      for (const controller of wanted) reasons.set(controller, (error as Error).message);
      return new TrialGroups([], undefined, reasons);
    }
  }

  get entrances(): readonly number[] {
    return this.#group?.entrances ?? [];
  }

  get tests(): Test[] {
    if (!this.#group) return [];
    return this.#has('pids') ? ['groups', 'processGroup'] : ['groups'];
  }

  /** The homes of the groups that hold, according to what the command printed in them. */
  async judge(observed: Observed): Promise<GroupHome[]> {
    const held: GroupHome[] = [];
    for (const home of this.#homes) {
      const controllers: Controller[] = [];
      for (const controller of home.controllers) {
        const reason =
          observed instanceof Error ? observed.message : await this.#whyNot(controller, home, observed);
        if (reason === undefined) controllers.push(controller);
        else this.reasons.set(controller, reason);
      }
      if (controllers.length > 0) held.push({ ...home, controllers });
    }
    return held;
  }

  async remove(): Promise<void> {
    await this.#group?.remove();
  }

  #has(controller: Controller): boolean {
    return this.#homes.some(({ controllers }) => controllers.includes(controller));
  }

  async #whyNot(controller: Controller, home: GroupHome, output: string): Promise<string | undefined> {
    const name = this.#group?.name ?? '';
    const hierarchy = home.version === 2 ? '0::' : `\\d+:([^:]*,)?${controller}(,[^:]*)?:`;
    if (!new RegExp(`^group ${hierarchy}\\S*/${name}$`, 'm').test(output)) {
      return 'a first command was not in the control group made for it';
    }
    if (controller === 'pids' && couldFork(output)) {
      return 'a first command could start processes over the limit';
    }
    if (controller === 'memory') {
      const file = home.version === 2 ? 'memory.peak' : 'memory.max_usage_in_bytes';
      // Older kernels of version 2 do not keep it.
      const peak = await readFile(join(home.dir, name, file), 'utf8').catch(() => 'unknown');
      if (Number(peak) === 0) return 'the memory of a first command was not counted';
    }
    return undefined;
  }
}
