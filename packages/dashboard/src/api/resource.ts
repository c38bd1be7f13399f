/**
 * Loads what a page shows. It tells "not loaded yet", "failed" and "empty" apart, so that no page shows a failure as an
 * empty list. After a failure, the page still has what was loaded before.
 */
import { type ReadonlySignal, signal } from '@preact/signals';
import type { Talaria } from '@talaria/client';
import { useEffect, useMemo } from 'preact/hooks';
import { access, client, noteFailure } from './session.ts';

export interface Loaded<T> {
  data: T | undefined;
  error: unknown;
  loading: boolean;
}

export interface Resource<T> {
  state: ReadonlySignal<Loaded<T>>;
  reload(): void;
}

export type Load<T> = (client: Talaria, signal: AbortSignal) => Promise<T>;

/** Loads again when one of `inputs` or the user changes; a load that is no longer wanted is aborted. */
export function useResource<T>(load: Load<T>, inputs: readonly unknown[]): Resource<T> {
  const user = client.value;
  const resource = useMemo(() => createResource(load, user), [user, ...inputs]);
  useEffect(() => resource.begin(), [resource]);
  return resource;
}

function createResource<T>(load: Load<T>, user: Talaria): Resource<T> & { begin(): () => void } {
  const state = signal<Loaded<T>>({ data: undefined, error: undefined, loading: true });
  let controller = new AbortController();
  const run = async () => {
    controller.abort();
    controller = new AbortController();
    const { signal: aborted } = controller;
    state.value = { ...state.peek(), loading: true };
    try {
      const data = await load(user, aborted);
      if (aborted.aborted) return;
      access.value = 'granted';
      state.value = { data, error: undefined, loading: false };
    } catch (error) {
      if (aborted.aborted) return;
      noteFailure(error);
      state.value = { ...state.peek(), error, loading: false };
    }
  };
  return {
    state,
    reload: () => void run(),
    begin: () => {
      void run();
      return () => controller.abort();
    },
  };
}
