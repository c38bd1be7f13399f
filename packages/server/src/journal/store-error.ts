import { TalariaError } from '@talaria/protocol';

/** Whether the store was unavailable or did not accept a write, so that a retry may succeed. */
export function isStoreError(error: unknown): boolean {
  return error instanceof TalariaError && error.code === 'store_unavailable';
}

/** Whether a disk has no room for what was to be stored. Less may still fit. */
export function isDiskFull(error: unknown): boolean {
  const { code } = ((error as Error | undefined)?.cause ?? {}) as NodeJS.ErrnoException;
  return isStoreError(error) && (code === 'ENOSPC' || code === 'EDQUOT');
}
