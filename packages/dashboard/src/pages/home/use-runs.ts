/**
 * The rows of the table: pages of the list that the filters ask for, each row in its latest state. A run that appears
 * makes the first page load again, since only the server knows its place in the list.
 */
import { useSignal } from '@preact/signals';
import type { Run, RunFilter, Talaria } from '@talaria/client';
import { useEffect } from 'preact/hooks';
import { heads, isNewer } from '../../api/live/live.ts';
import { type Resource, useResource } from '../../api/resource.ts';
import { client, noteFailure } from '../../api/session.ts';
import { type Filters, mayMatch, toQuery } from './filters.ts';

const PAGE = 50;
/** A search looks at a thousand runs in each. */
const READS_MAX = 20;

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
    (client, signal) => readPage(client, toQuery(filters, Date.now()), signal),
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
      const query = { ...toQuery(filters, Date.now()), after: next ?? undefined };
      const page = await readPage(client.peek(), query);
      rest.value = { key, data: [...(more?.data ?? []), ...page.data], next: page.next };
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

/** A page of a search may be empty although older runs match: reads on until there is something to show. */
async function readPage(
  user: Talaria,
  query: RunFilter,
  signal?: AbortSignal,
): Promise<{ data: Run[]; next: string | null }> {
  let { after } = query;
  for (let reads = 1; ; reads++) {
    const page = await user.runs.list({ ...query, after, view: 'head', limit: PAGE }, { signal });
    const { data, next_cursor: next } = page;
    if (data.length > 0 || next === null || reads === READS_MAX) return { data, next };
    after = next;
  }
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
