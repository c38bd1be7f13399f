/** Sends the model a word before its next step. */
import type { Run } from '@talaria/client';
import { Problem } from '../../ui/problem.tsx';
import { isSteerable } from '../../ui/steerable.ts';
import { useOutbox } from '../../ui/use-outbox.ts';
import { useRunView } from './run-view.ts';

export function Steer({ status }: { status: Run['status'] }) {
  const { runId, watched } = useRunView();
  const { text, sent, error, send } = useOutbox();
  watched.revision.value;
  const { rows } = watched.transcript.value;
  if (!isSteerable(status)) return null;
  const given = rows.findLast((row) => row.kind === 'note' && row.event.event === 'run.steered');

  const steer = (event: Event) => {
    event.preventDefault();
    send((client, input) => client.runs.steer(runId, input));
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) steer(event);
  };
  return (
    <form class="steer" onSubmit={steer}>
      {error.value !== undefined && <Problem error={error.value} />}
      <label>
        <span class="visually-hidden">Steer the run before its next step</span>
        <textarea
          rows={1}
          placeholder="Steer before its next step…"
          value={text}
          onInput={({ currentTarget }) => {
            text.value = currentTarget.value;
          }}
          onKeyDown={press}
        />
      </label>
      <button type="submit" disabled={text.value.trim() === ''}>
        Steer
      </button>
      <span class="muted" role="status">
        {sent.value > 0 && `sent ${sent.value}`}
        {given !== undefined && ` · last given at event ${given.seq}`}
      </span>
    </form>
  );
}
