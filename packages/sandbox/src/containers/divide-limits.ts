/**
 * Decides who enforces a limit. The container enforces the limits that its driver can, for all of its slots together; the
 * server inside enforces the others.
 */
import { checkedLimits } from '../check-caller.ts';
import { describeLimit } from '../describe-limits.ts';
import { LimitUnenforceableError } from '../errors.ts';
import type { LimitName, LimitStatus, SandboxLimits } from '../limits.ts';
import type { DriverLimits } from './container-driver.ts';
import type { ContainerBackendOptions } from './container-options.ts';

export interface DividedLimits {
  container: SandboxLimits;
  /** In the form that the server inside takes. */
  inside: { limits: SandboxLimits; preferredLimits: SandboxLimits };
  /** Preferred limits that the container should enforce and cannot. */
  unenforced: readonly LimitStatus[];
}

export function divideLimits(
  options: Pick<ContainerBackendOptions, 'limits' | 'preferredLimits'>,
  byContainer: DriverLimits,
): DividedLimits {
  const required = checkedLimits(options.limits ?? {});
  const preferred = checkedLimits(options.preferredLimits ?? {});
  const container: SandboxLimits = {};
  const unenforced: LimitStatus[] = [];
  for (const [name, held] of Object.entries(byContainer)) {
    const limit = name as LimitName;
    const value = required[limit] ?? preferred[limit];
    if (value === undefined) continue;
    if (held === true) container[limit] = value;
    else unenforced.push(notEnforced(limit, value, held));
  }
  const refused = unenforced.filter(({ limit }) => required[limit] !== undefined);
  if (refused.length > 0) throw new LimitUnenforceableError(refused);
  const others = (limits: SandboxLimits): SandboxLimits =>
    Object.fromEntries(Object.entries(limits).filter(([name]) => !(name in byContainer)));
  const inside = { limits: others(required), preferredLimits: others(preferred) };
  return { container, inside, unenforced };
}

function notEnforced(limit: LimitName, value: number, reason: string): LimitStatus {
  const verdict = { by: 'nothing', per: 'container' } as const;
  return { limit, value, ...verdict, description: describeLimit(limit, value, { ...verdict, reason }) };
}
