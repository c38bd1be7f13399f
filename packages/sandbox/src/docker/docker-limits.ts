/**
 * Who holds commands to which limit: the container to memory, processes and processor time, which its slots share; the
 * server inside to the size of files and workspaces, and each command to its processes where it can.
 */
import { describeLimit } from '../describe-limits.ts';
import { LimitUnenforceableError } from '../errors.ts';
import type { LimitName, LimitStatus, SandboxLimits } from '../limits.ts';
import { checkedLimits } from '../local/limits/limit-choice.ts';
import type { DaemonInfo } from './docker-api.ts';
import type { DockerBackendOptions } from './docker-options.ts';

export interface DockerLimits {
  container: SandboxLimits;
  /** As the server inside takes them. */
  inside: { limits: SandboxLimits; preferredLimits: SandboxLimits };
  /** Of those that need not hold. */
  unenforced: readonly LimitStatus[];
}

/** By what the daemon says that the kernel can do it. */
const BY_CONTAINER = {
  memoryBytes: 'MemoryLimit',
  processes: 'PidsLimit',
  cpus: 'CpuCfsQuota',
} as const satisfies Partial<Record<LimitName, keyof DaemonInfo>>;

const GIGABYTE = 1024 ** 3;
const DEFAULT_LIMITS: SandboxLimits = { memoryBytes: 2 * GIGABYTE, processes: 512 };

export function divideLimits(options: DockerBackendOptions, info: DaemonInfo): DockerLimits {
  const required = checkedLimits(options.limits ?? DEFAULT_LIMITS);
  const preferred = checkedLimits(options.preferredLimits ?? {});
  const container: SandboxLimits = {};
  const unenforced: LimitStatus[] = [];
  for (const [name, flag] of Object.entries(BY_CONTAINER)) {
    const limit = name as keyof typeof BY_CONTAINER;
    const value = required[limit] ?? preferred[limit];
    if (value === undefined) continue;
    if (info[flag] === true) container[limit] = value;
    else unenforced.push(notEnforced(limit, value));
  }
  const refused = unenforced.filter(({ limit }) => required[limit] !== undefined);
  if (refused.length > 0) throw new LimitUnenforceableError(refused);
  const inside = { limits: withoutContainers(required), preferredLimits: withoutContainers(preferred) };
  return { container, inside, unenforced };
}

function withoutContainers({ memoryBytes, processes, cpus, ...rest }: SandboxLimits): SandboxLimits {
  return rest;
}

function notEnforced(limit: LimitName, value: number): LimitStatus {
  const verdict = { by: 'nothing', per: 'container' } as const;
  const reason = 'Docker says that this kernel has no control group for it; see docker info';
  return { limit, value, ...verdict, description: describeLimit(limit, value, { ...verdict, reason }) };
}
