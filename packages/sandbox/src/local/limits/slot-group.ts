/** The control groups of one slot: one directory per hierarchy, all with the same name. */
import { randomUUID } from 'node:crypto';
import { closeSync, constants, openSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ignoreMissing } from '../../workspace/files/workspace-path.ts';
import type { GroupHome } from './group-homes.ts';
import { groupName, removeGroup } from './group-names.ts';
import { type OomKills, oomKillsOf } from './oom-kills.ts';

export interface GroupLimits {
  memoryBytes?: number | undefined;
  processes?: number | undefined;
  cpus?: number | undefined;
}

/** The kernel's own default: within each the share of processor time may be used up at any moment. */
const CPU_PERIOD_US = 100_000;

export class SlotGroup {
  readonly name: string;
  /** Open for writing: a process that writes 0 to all of them is in the group. */
  readonly entrances: readonly number[];
  readonly oomKills: OomKills | undefined;
  readonly #dirs: readonly string[];

  private constructor(name: string, homes: readonly GroupHome[]) {
    this.name = name;
    this.#dirs = homes.map((home) => join(home.dir, name));
    this.entrances = this.#dirs.map((dir) => openSync(join(dir, 'cgroup.procs'), constants.O_WRONLY));
    const memory = homes.find((home) => home.controllers.includes('memory'));
    this.oomKills = memory && oomKillsOf(join(memory.dir, name), memory.version);
  }

  static async create(homes: readonly GroupHome[], limits: GroupLimits): Promise<SlotGroup> {
    const name = groupName(randomUUID());
    try {
      for (const home of homes) {
        await mkdir(join(home.dir, name));
        await setLimits(join(home.dir, name), home, limits);
      }
      return new SlotGroup(name, homes);
    } catch (error) {
      for (const home of homes) await removeGroup(join(home.dir, name));
      throw error;
    }
  }

  async remove(): Promise<void> {
    for (const fd of this.entrances) closeSync(fd);
    for (const dir of this.#dirs) await removeGroup(dir);
  }
}

async function setLimits(
  dir: string,
  { version, controllers }: GroupHome,
  limits: GroupLimits,
): Promise<void> {
  const set = (file: string, value: number | string) =>
    writeFile(join(dir, file), String(value), { flag: 'r+' });
  const { memoryBytes, processes, cpus } = limits;
  if (memoryBytes !== undefined && controllers.includes('memory')) {
    const [memory, swap, noSwap] =
      version === 2
        ? (['memory.max', 'memory.swap.max', 0] as const)
        : (['memory.limit_in_bytes', 'memory.memsw.limit_in_bytes', memoryBytes] as const);
    await set(memory, memoryBytes);
    // Missing if the kernel counts no swap.
    await ignoreMissing(set(swap, noSwap));
  }
  if (processes !== undefined && controllers.includes('pids')) await set('pids.max', processes);
  if (cpus !== undefined && controllers.includes('cpu')) {
    const quotaUs = Math.max(1000, Math.round(cpus * CPU_PERIOD_US));
    if (version === 2) return set('cpu.max', `${quotaUs} ${CPU_PERIOD_US}`);
    await set('cpu.cfs_period_us', CPU_PERIOD_US);
    await set('cpu.cfs_quota_us', quotaUs);
  }
}
