/**
 * The rows of the table: pages of the list that the filters ask for, each row in its latest state. A run that appears
 * makes the first page load again, since only the server knows its place in the list.
 */
import { useSignal } from '@preact/signals';
import type { Run } from '@talaria/client';
import { useEffect } from 'preact/hooks';
import { heads, isNewer } from '../../api/live/live.ts';
import { type Resource, useResource } from '../../api/resource.ts';
import { client, noteFailure } from '../../api/session.ts';
import { type Filters, mayMatch, toQuery } from './filters.ts';

const PAGE = 50;

/** New runs of a busy server come in bursts; one reload serves all of them. */
const GATHER_MS = 300;

export interface RunsTable {
  first: Resource<{ data: Run[]; next: string | null }>;
  rows: readonly Run[];
  /** Loads the next page; undefined at the end. */
  more: (() => void) | undefined;
  moreError: unknown;
}

export function useRuns(filters: Filters): RunsTable {
  const key = JSON.stringify(filters);
  const first = useResource(
    async (client, signal) => {
      const query = { ...toQuery(filters, Date.now()), view: 'head', limit: PAGE } as const;
      const { data, next_cursor } = await client.runs.list(query, { signal });
      return { data, next: next_cursor };
    },
    [key],
  );
  const rest = useSignal<{ key: string; data: readonly Run[]; next: string | null } | undefined>(undefined);
  const moreError = useSignal<unknown>(undefined);
  const more = rest.value?.key === key ? rest.value : undefined;
  const next = more === undefined ? first.state.value.data?.next : more.next;

  const listed = new Map<string, Run>();
  for (const run of [...(first.state.value.data?.data ?? []), ...(more?.data ?? [])])
    listed.set(run.run_id, run);
  const rows = [...listed.values()].map((run) => {
    const live = heads.value.get(run.run_id);
    return live !== undefined && isNewer(live, run) ? live : run;
  });
  useReloadForNews(filters, key, first);

  const loadMore = async () => {
    try {
      const query = { ...toQuery(filters, Date.now()), view: 'head', limit: PAGE } as const;
      const page = await client.peek().runs.list({ ...query, after: next ?? undefined });
      rest.value = { key, data: [...(more?.data ?? []), ...page.data], next: page.next_cursor };
      moreError.value = undefined;
    } catch (error) {
      noteFailure(error);
      moreError.value = error;
    }
  };
  return {
    first,
    rows,
    more: next === null || next === undefined ? undefined : () => void loadMore(),
    moreError: moreError.value,
  };
}

function useReloadForNews(filters: Filters, key: string, first: Resource<{ data: Run[] }>): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = heads.subscribe((latest) => {
      const listed = first.state.peek().data?.data;
      if (listed === undefined || timer !== undefined) return;
      const known = new Set(listed.map((run) => run.run_id));
      const newest = Math.max(0, ...listed.map((run) => run.created_at));
      const isNew = [...latest.values()].some(
        (run) => !known.has(run.run_id) && run.created_at >= newest && mayMatch(filters, run),
      );
      if (!isNew) return;
      timer = setTimeout(() => {
        timer = undefined;
        first.reload();
      }, GATHER_MS);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [key, first]);
}
