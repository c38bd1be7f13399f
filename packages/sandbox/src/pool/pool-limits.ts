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
  whole('slotsPerContainer', slotsPerContainer, 1);
  whole('minContainers', minContainers, 0);
  whole('maxContainers', maxContainers, Math.max(1, minContainers));
  whole('warmSlots', warmSlots, 0);
  if (warmSlots > maxContainers * slotsPerContainer) {
    throw new SandboxError(
      'invalid_request',
      `warmSlots is ${warmSlots}, but there are never more than ${maxContainers} containers of ${slotsPerContainer} slots.`,
    );
  }
  for (const name of ['acquireTimeoutS', 'idleContainerS', 'healthIntervalS', 'healthTimeoutS'] as const) {
    const seconds = limits[name];
    if (seconds > 0 && seconds <= LONGEST_TIMER_S) continue;
    throw new SandboxError(
      'invalid_request',
      `${name} is ${seconds}; it has to be over 0, up to ${LONGEST_TIMER_S}.`,
    );
  }
}

function whole(name: keyof PoolLimits, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw new SandboxError(
    'invalid_request',
    `${name} is ${value}; it has to be a whole number, ${least} or more.`,
  );
}
