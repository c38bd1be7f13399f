/** What can be done with a session: continue from here elsewhere, or delete it, after a second press. */
import { useSignal } from '@preact/signals';
import { navigate } from '../../navigation/router.ts';
import { Problem } from '../../ui/problem.tsx';
import { useAction } from '../../ui/use-action.ts';

interface SessionProps {
  sessionId: string;
  /** The list of sessions is another one now. */
  onChanged: () => void;
}

export function SessionActions({ sessionId, onChanged }: SessionProps) {
  const action = useAction();
  const sure = useSignal(false);
  const remove = async () => {
    const done = await action.run((client) => client.sessions.delete(sessionId));
    sure.value = false;
    if (!done) return;
    onChanged();
    navigate('chats');
  };
  return (
    <div class="in-line">
      <a href={`./?session=${encodeURIComponent(sessionId)}`}>Its runs</a>
      <ForkButton sessionId={sessionId} onChanged={onChanged} />
      {sure.value ? (
        <button type="button" class="small bad" disabled={action.busy.value} onClick={() => void remove()}>
          Really delete it
        </button>
      ) : (
        <button
          type="button"
          class="small quiet"
          title="Deletes the conversation and what was allowed in it; its runs stay until their events are deleted"
          onClick={() => {
            sure.value = true;
          }}
        >
          Delete…
        </button>
      )}
      {action.error.value !== undefined && <Problem error={action.error.value} />}
    </div>
  );
}

interface ForkProps extends SessionProps {
  /** How many of its messages the new session begins with; all by default. */
  messages?: number;
}

export function ForkButton({ sessionId, onChanged, messages }: ForkProps) {
  const action = useAction();
  const fork = () =>
    action.run(async (client) => {
      const { session_id } = await client.sessions.fork(
        sessionId,
        messages === undefined ? {} : { messages },
      );
      onChanged();
      navigate(`chats/${encodeURIComponent(session_id)}`);
    });
  return (
    <>
      <button
        type="button"
        class="small quiet"
        title="Begins a new session with what was said so far"
        disabled={action.busy.value}
        onClick={() => void fork()}
      >
        {messages === undefined ? 'Fork' : 'Fork here'}
      </button>
      {action.error.value !== undefined && <Problem error={action.error.value} />}
    </>
  );
}
