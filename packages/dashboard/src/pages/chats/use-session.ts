/** What was said in a session and which runs it has: loaded, and loaded again whenever one of its runs ends. */
import { isTerminalStatus, type Run, type SessionMessage, type Talaria } from '@talaria/client';
import { useEffect } from 'preact/hooks';
import { isMissing } from '../../api/live/follow.ts';
import { heads, isNewer } from '../../api/live/live.ts';
import { type Resource, useResource } from '../../api/resource.ts';
import type { Told } from './runs-after.ts';

/** The newest messages; the others are in the runs, and in the API. */
const MESSAGES = 200;
/** The newest runs, which are shown between the messages. */
const RUNS = 200;

interface SessionTold extends Told {
  messages: SessionMessage[];
  runs: readonly Run[];
}

export interface LiveSession {
  told: Resource<SessionTold>;
  /** In their latest state, the oldest first. */
  runs: readonly Run[];
}

export function useSession(sessionId: string, onRunEnded: () => void): LiveSession {
  const told = useResource(
    async (client, signal): Promise<SessionTold> => {
      const ended = new Set([...heads.peek().values()].filter(isOver).map(({ run_id }) => run_id));
      const query = { order: 'latest', limit: MESSAGES } as const;
      const { data } = await client.sessions.messages(sessionId, query, { signal });
      const runs = await runsOf(client, sessionId, signal);
      return { messages: data.sort((a, b) => a.index - b.index), runs, ended };
    },
    [sessionId],
  );
  const live = [...heads.value.values()].filter((run) => run.session_id === sessionId);
  const ended = live.filter(isOver).length;
  useEffect(() => {
    if (ended === 0) return;
    told.reload();
    onRunEnded();
  }, [ended, told]);
  const latest = new Map(told.state.value.data?.runs.map((run) => [run.run_id, run]));
  for (const run of live) {
    const listed = latest.get(run.run_id);
    if (listed === undefined || isNewer(run, listed)) latest.set(run.run_id, run);
  }
  return { told, runs: [...latest.values()].sort((a, b) => a.created_at - b.created_at) };
}

function isOver({ status }: Run): boolean {
  return isTerminalStatus(status);
}

async function runsOf(client: Talaria, sessionId: string, signal: AbortSignal): Promise<readonly Run[]> {
  try {
    return (await client.runs.list({ session_id: sessionId, view: 'head', limit: RUNS }, { signal })).data;
  } catch (error) {
    // A server that lists no runs still has the transcript.
    if (isMissing(error)) return [];
    throw error;
  }
}
