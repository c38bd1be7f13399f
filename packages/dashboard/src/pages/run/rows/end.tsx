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
  // Usually the rows above show the answer. They do not if it has a requested format, or if its events were not read.
  const said = watched.transcript.value.rows.some((row) => row.kind === 'text' && !row.taken);
  return (
    <div class="note">
      {!said && event.output !== undefined && <Markdown text={event.output} />}
      <span class="good">✔ The run is done.</span> <Copy text={() => event.output ?? ''} what="the answer" />
    </div>
  );
}
