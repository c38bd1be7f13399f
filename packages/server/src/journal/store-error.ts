import { TalariaError } from '@talaria/protocol';

/** Whether the store was unavailable or did not accept a write, so that a retry may succeed. */
export function isStoreError(error: unknown): boolean {
  return error instanceof TalariaError && error.code === 'store_unavailable';
}
