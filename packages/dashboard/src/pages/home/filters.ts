/** The filters of the runs table, as the address has them: a link shows the same runs to somebody else. */
import type { Run, RunFilter, RunStatus } from '@talaria/client';
import type { Place } from '../../navigation/router.ts';

export interface Filters {
  status: string | undefined;
  agent: string | undefined;
  session: string | undefined;
  job: string | undefined;
  /** One of `SINCE`. */
  since: string | undefined;
  q: string | undefined;
}

export const SINCE: Readonly<Record<string, [name: string, seconds: number]>> = {
  '1h': ['1 hour', 3600],
  '24h': ['24 hours', 86_400],
  '7d': ['7 days', 604_800],
  '30d': ['30 days', 2_592_000],
};

/** Groups of states under one name, and each state. */
export const STATUSES: Readonly<Record<string, readonly RunStatus[]>> = {
  active: ['started', 'running', 'waiting_for_approval', 'waiting_for_tool', 'stopping'],
  waiting: ['waiting_for_approval', 'waiting_for_tool'],
  failed: ['failed'],
  completed: ['completed'],
  cancelled: ['cancelled'],
};

export function filtersOf({ query }: Place): Filters {
  const read = (name: string) => query.get(name) ?? undefined;
  return {
    status: read('status'),
    agent: read('agent'),
    session: read('session'),
    job: read('job'),
    since: read('since'),
    q: read('q'),
  };
}

/** As the API takes them. The time is taken to the minute, so that a reload asks the same question. */
export function toQuery(filters: Filters, nowMs: number): RunFilter & { agent?: string | undefined } {
  const span = filters.since === undefined ? undefined : SINCE[filters.since]?.[1];
  const since = span === undefined ? undefined : Math.floor(nowMs / 60_000) * 60 - span;
  return {
    status: filters.status === undefined ? undefined : STATUSES[filters.status],
    agent: filters.agent,
    session_id: filters.session,
    job_id: filters.job,
    since,
    q: filters.q,
  };
}

/** Whether a change that just arrived belongs into the list. Words can only be looked up by the server. */
export function mayMatch(filters: Filters, run: Run): boolean {
  const { status, agent, session, job } = filters;
  if (status !== undefined && STATUSES[status]?.includes(run.status) === false) return false;
  if (agent !== undefined && agentOf(run) !== agent) return false;
  if (session !== undefined && run.session_id !== session) return false;
  return job === undefined || run.job_id === job;
}

/** A field that newer servers add. */
export function agentOf(run: Run): string | undefined {
  return (run as { agent?: string }).agent;
}
