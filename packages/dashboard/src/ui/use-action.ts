/** Something that a button does: one at a time, and its failure is shown where the button is. */
import { type Signal, useSignal } from '@preact/signals';
import type { Talaria } from '@talaria/client';
import { client, noteFailure } from '../api/session.ts';

export interface Action {
  busy: Signal<boolean>;
  error: Signal<unknown>;
  /** Resolves with whether it succeeded. */
  run(what: (client: Talaria) => Promise<unknown>): Promise<boolean>;
}

export function useAction(): Action {
  const busy = useSignal(false);
  const error = useSignal<unknown>(undefined);
  return {
    busy,
    error,
    async run(what) {
      if (busy.value) return false;
      busy.value = true;
      error.value = undefined;
      try {
        await what(client.peek());
        return true;
      } catch (failure) {
        noteFailure(failure);
        error.value = failure;
        return false;
      } finally {
        busy.value = false;
      }
    },
  };
}
