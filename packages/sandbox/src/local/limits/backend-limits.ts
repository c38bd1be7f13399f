import type { LimitStatus } from '../../limits.ts';
import type { GroupHome } from './group-homes.ts';
import type { OomKills } from './oom-kills.ts';
import type { Rlimits } from './rlimits.ts';
import type { GroupLimits } from './slot-group.ts';
import type { SpaceOptions } from './workspace-space.ts';

/** How a backend enforces its limits, as found at start. */
export interface BackendLimits {
  status: readonly LimitStatus[];
  /** Undefined if control groups enforce no limit. */
  groups: { homes: readonly GroupHome[]; limits: GroupLimits } | undefined;
  /** The amount of memory at which the kernel ends a process, if it is known. */
  oomBytes: number | undefined;
  rlimits: Rlimits;
  /** Undefined if workspaces are not limited. */
  space: SpaceOptions | undefined;
  ownOomKills: OomKills;
}
