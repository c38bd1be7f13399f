import { Copy } from '../../../ui/copy.tsx';
import { Markdown } from '../../../ui/markdown.tsx';
import { VisibleText } from '../../../ui/visible-text.tsx';
import { useRunView } from '../run-view.ts';
import type { EndRow } from '../transcript/rows.ts';

export function End({ row: { event } }: { row: EndRow }) {
  const { watched } = useRunView();
  if (event.event === 'run.failed') {
    return (
      <div class="problem">
        <p>
          ✖ The run failed: <VisibleText text={event.error ?? 'no reason given'} />{' '}
          {event.error_code && <code>{event.error_code}</code>}
        </p>
      </div>
    );
  }
  if (event.event === 'run.cancelled') return <p class="note">■ The run was stopped.</p>;
  // The answer was told as it was written, but for one of a set form, or where the events began later.
  const said = watched.transcript.value.rows.some((row) => row.kind === 'text' && !row.taken);
  return (
    <div class="note">
      {!said && event.output !== undefined && <Markdown text={event.output} />}
      <span class="good">✔ The run is done.</span> <Copy text={() => event.output ?? ''} what="the answer" />
    </div>
  );
}
