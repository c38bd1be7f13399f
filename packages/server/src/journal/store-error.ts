import { TalariaError } from '@talaria/protocol';

/** Whether the store could not be asked, or did not take something, and may when it is tried again. */
export function isStoreError(error: unknown): boolean {
  return error instanceof TalariaError && error.code === 'store_unavailable';
}
