import type { LimitStatus } from '../../limits.ts';
import type { GroupHome } from './group-homes.ts';
import type { OomKills } from './oom-kills.ts';
import type { Rlimits } from './rlimits.ts';
import type { GroupLimits } from './slot-group.ts';
import type { SpaceOptions } from './workspace-space.ts';

/** How a backend enforces its limits, as found at start. */
export interface BackendLimits {
  status: readonly LimitStatus[];
  /** Undefined where no limit is left to control groups. */
  groups: { homes: readonly GroupHome[]; limits: GroupLimits } | undefined;
  /** With so much memory in use the kernel ends a process, if it is known with how much. */
  oomBytes: number | undefined;
  rlimits: Rlimits;
  /** Undefined where workspaces are not limited. */
  space: SpaceOptions | undefined;
  ownOomKills: OomKills;
}
