/**
 * The next message. While a run of the session is at work, Enter queues it as the next turn; two buttons give it to the
 * run that works, or stop that run first.
 */
import { useSignal } from '@preact/signals';
import type { Run, Talaria } from '@talaria/client';
import { startRun } from '../../api/start-run.ts';
import { Attachments } from '../../ui/attachments.tsx';
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
  const disabled = text.value.trim() === '';
  const attached = useSignal<readonly File[]>([]);
  /** Sends the message with the files that are attached now; if that fails, they return with its text. */
  const starting = (before?: (client: Talaria) => Promise<unknown>) => {
    const files = attached.value;
    attached.value = [];
    return async (client: Talaria, input: string) => {
      try {
        await before?.(client);
        await startRun(client, { text: input, files }, sessionId);
      } catch (failure) {
        attached.value = [...files, ...attached.value];
        throw failure;
      }
    };
  };
  const steer = (client: Talaria, input: string) => client.runs.steer(current!.run_id, input);
  const submit = () => {
    if (!disabled) send(starting());
  };
  const stopAndSend = () => send(starting((client) => client.runs.stop(current!.run_id)));
  const press = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
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
              disabled={disabled || attached.value.length > 0 || !isSteerable(current.status)}
              onClick={() => send(steer)}
            >
              Steer now
            </button>
            <button type="button" disabled={disabled} onClick={stopAndSend}>
              Stop and send
            </button>
          </>
        )}
        <Attachments files={attached} />
        <span class="muted" role="status">
          {sending.value && 'Sending…'}
        </span>
      </div>
    </form>
  );
}
