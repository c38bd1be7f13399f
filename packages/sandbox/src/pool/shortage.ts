/** The error for a caller that got no slot in time: the present state, and which setting to change. */
import type { PoolLimits } from './pool-limits.ts';
import type { PoolStats } from './slot-pool.ts';

export interface ShortageCauses {
  startFailure: string | undefined;
  /** The container in which the workspace of the caller's trajectory still is. */
  occupiedContainerId: string | undefined;
}

export function describeShortage(
  { slotsPerContainer, maxContainers, acquireTimeoutS }: PoolLimits,
  { containers, slots }: PoolStats,
  { startFailure, occupiedContainerId }: ShortageCauses,
): string {
  const { starting, ready, draining, stopping } = containers;
  const inUse = slots.acquired + slots.executing + slots.releasing;
  const full = starting === 0 && ready + draining + stopping >= maxContainers;
  const sentences = [
    `No slot was free within ${acquireTimeoutS} s: ${inUse} of ${maxContainers * slotsPerContainer} slots are in use, ` +
      `${ready} of ${maxContainers} containers are ready, ${starting} starting, ${draining + stopping} ending.`,
  ];
  if (occupiedContainerId !== undefined) {
    sentences.push(
      `The workspace of this trajectory is in the container ${occupiedContainerId} until that has ended.`,
    );
  } else if (full) {
    sentences.push(`Raise maxContainers (${maxContainers}) or slotsPerContainer (${slotsPerContainer}).`);
  } else {
    sentences.push(`If containers need longer to start, raise acquireTimeoutS (${acquireTimeoutS}).`);
  }
  // Last, because it may be the log of a container, with many lines.
  if (startFailure !== undefined) sentences.push(`The last start failed: ${startFailure}`);
  return sentences.join(' ');
}
