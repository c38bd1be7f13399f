/** Sessions, and the talk in one of them. */
import type { Session } from '@talaria/client';
import { type Resource, useResource } from '../../api/resource.ts';
import { navigate } from '../../navigation/router.ts';
import { now } from '../../ui/clock.ts';
import { age } from '../../ui/format.ts';
import { Loading } from '../../ui/loading.tsx';
import { Problem } from '../../ui/problem.tsx';
import { useAction } from '../../ui/use-action.ts';
import { VisibleText } from '../../ui/visible-text.tsx';
import { Talk } from './talk.tsx';
import './chats.css';

export function ChatsPage({ sessionId }: { sessionId: string | undefined }) {
  const sessions = useResource(
    async (client, signal) => (await client.sessions.list({ limit: 100 }, { signal })).data,
    [],
  );
  return (
    <main class={`chats ${sessionId === undefined ? 'listing' : 'talking'}`}>
      <h1>Chats</h1>
      <div class="columns">
        <Sessions sessions={sessions} current={sessionId} />
        {sessionId === undefined ? (
          <p class="empty">Choose a session, or begin a new one.</p>
        ) : (
          <Talk key={sessionId} sessionId={sessionId} onChanged={sessions.reload} />
        )}
      </div>
    </main>
  );
}

interface SessionsProps {
  sessions: Resource<Session[]>;
  current: string | undefined;
}

function Sessions({ sessions, current }: SessionsProps) {
  const action = useAction();
  const begin = () =>
    action.run(async (client) => {
      const { session_id } = await client.sessions.create();
      sessions.reload();
      navigate(`chats/${encodeURIComponent(session_id)}`);
    });
  return (
    <nav class="sessions" aria-label="Sessions">
      <button type="button" class="primary" disabled={action.busy.value} onClick={() => void begin()}>
        New chat
      </button>
      {action.error.value !== undefined && <Problem error={action.error.value} />}
      <Loading of={sessions}>
        {(all) =>
          all.length === 0 ? (
            <p class="muted">There is no session yet.</p>
          ) : (
            <ul>
              {all.map((session) => (
                <li key={session.session_id}>
                  <a
                    href={`./chats/${encodeURIComponent(session.session_id)}`}
                    aria-current={session.session_id === current ? 'page' : undefined}
                    data-item
                  >
                    {session.forked_from !== null && (
                      <span title={`A fork of ${session.forked_from}`}>⑂ </span>
                    )}
                    <VisibleText text={titleOf(session)} />
                  </a>
                  <span class="muted"> {age(now.value - session.updated_at)}</span>
                </li>
              ))}
            </ul>
          )
        }
      </Loading>
    </nav>
  );
}

function titleOf({ title, preview, session_id }: Session): string {
  return title ?? preview ?? session_id;
}
