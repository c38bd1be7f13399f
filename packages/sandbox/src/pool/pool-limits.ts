import { requireCount, requirePositive } from '../check-numbers.ts';
import { SandboxError } from '../errors.ts';
import { LONGEST_TIMER_S } from '../longest-timer.ts';

export interface PoolLimits {
  slotsPerContainer: number;
  /** Started at the beginning, and never ended for being idle. */
  minContainers: number;
  maxContainers: number;
  /** Free slots that are kept ready in addition to those in use and waited for. */
  warmSlots: number;
  /** How long a caller waits for a slot. */
  acquireTimeoutS: number;
  /** How long an unneeded container stays empty before it is ended. */
  idleContainerS: number;
  healthIntervalS: number;
  /** A container that takes longer to answer a check is dead. */
  healthTimeoutS: number;
}

export function checkPoolLimits(limits: PoolLimits): void {
  const { slotsPerContainer, minContainers, maxContainers, warmSlots } = limits;
  requireCount('slotsPerContainer', slotsPerContainer, 1);
  requireCount('minContainers', minContainers);
  requireCount('maxContainers', maxContainers, Math.max(1, minContainers));
  requireCount('warmSlots', warmSlots);
  if (warmSlots > maxContainers * slotsPerContainer) {
    throw new SandboxError(
      'invalid_request',
      `warmSlots is ${warmSlots}, but there are never more than ${maxContainers} containers of ${slotsPerContainer} slots.`,
    );
  }
  for (const name of ['acquireTimeoutS', 'idleContainerS', 'healthIntervalS', 'healthTimeoutS'] as const) {
    requirePositive(name, limits[name], LONGEST_TIMER_S);
  }
}
