/** What happened to the run from outside: somebody steered it, or the server was restarted. */
import { VisibleText } from '../../../ui/visible-text.tsx';
import type { EventOf, NoteRow } from '../transcript/rows.ts';

export function Note({ row: { event } }: { row: NoteRow }) {
  switch (event.event) {
    case 'run.steered':
      return (
        <p class="note" dir="auto">
          <span class="accent">→ You steered it:</span> <VisibleText text={event.input} />
        </p>
      );
    case 'run.waiting':
      return <p class="note warn">◔ It waits for its client to run {names(event)}.</p>;
    case 'run.resumed':
      return <p class="note warn">↻ {resumed(event)}</p>;
  }
}

function names({ calls }: EventOf<'run.waiting'>): string {
  return [...new Set((calls ?? []).map(({ tool }) => tool))].join(', ') || 'its tools';
}

function resumed(event: EventOf<'run.resumed'>): string {
  const repeated =
    event.discard_from_seq === undefined ? '' : ' The model repeats the step that was cut off.';
  const files = event.workspace_lost
    ? ' It continues in a new workspace, without the files it had made.'
    : event.workspace_restored
      ? ` It continues in a new workspace, with its files${event.workspace_as_of_seq === undefined ? '' : ` as they were after event ${event.workspace_as_of_seq}`}.`
      : '';
  return `The server was restarted, and the run continues.${repeated}${files}`;
}
