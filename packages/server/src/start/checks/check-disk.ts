/** What `/health/detailed` says about the room of ended runs on the disk of this server. */
import type { Check } from '../../basics/check.ts';
import type { DiskState } from '../../engine/disk-bound.ts';

export interface DiskCheck extends Check {
  used_bytes: number;
  max_bytes: number;
}

export function checkDisk({ usedBytes, maxBytes, isFull }: DiskState): DiskCheck {
  return {
    status: isFull ? 'degraded' : 'ok',
    detail: isFull
      ? 'Ended runs take more than they may, and only kept ones are left'
      : 'Ended runs take less than they may',
    used_bytes: usedBytes,
    max_bytes: maxBytes,
  };
}
