/**
 * The next message. While a run of the session is at work, Enter queues it as the next turn; two buttons give it to the
 * run that works, or stop that run first.
 */
import type { Run, Talaria } from '@talaria/client';
import { startRun } from '../../api/start-run.ts';
import { Problem } from '../../ui/problem.tsx';
import { isSteerable } from '../../ui/steerable.ts';
import { useOutbox } from '../../ui/use-outbox.ts';

interface ComposerProps {
  sessionId: string;
  /** The run that works now. */
  current: Run | undefined;
}

export function Composer({ sessionId, current }: ComposerProps) {
  const { text, sending, error, send } = useOutbox();
  const start = (client: Talaria, input: string) => startRun(client, input, sessionId);
  const steer = (client: Talaria, input: string) => client.runs.steer(current!.run_id, input);
  const stopAndSend = async (client: Talaria, input: string) => {
    await client.runs.stop(current!.run_id);
    await start(client, input);
  };
  const press = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send(start);
  };
  const disabled = text.value.trim() === '';
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send(start);
      }}
    >
      {error.value !== undefined && <Problem error={error.value} />}
      <label>
        <span class="visually-hidden">Message</span>
        <textarea
          rows={3}
          placeholder={current === undefined ? 'Message…' : 'Enter queues it as the next turn…'}
          value={text}
          onKeyDown={press}
          onInput={(event) => {
            text.value = event.currentTarget.value;
          }}
        />
      </label>
      <div class="in-line">
        <button type="submit" class="primary" disabled={disabled}>
          {current === undefined ? 'Send' : 'Queue next turn'}
        </button>
        {current !== undefined && (
          <>
            <button
              type="button"
              disabled={disabled || !isSteerable(current.status)}
              onClick={() => send(steer)}
            >
              Steer now
            </button>
            <button type="button" disabled={disabled} onClick={() => send(stopAndSend)}>
              Stop and send
            </button>
          </>
        )}
        <span class="muted" role="status">
          {sending.value && 'Sending…'}
        </span>
      </div>
    </form>
  );
}
