import { Markdown } from '../../../ui/markdown.tsx';
import { useRevision } from '../run-view.ts';
import type { ReasoningRow } from '../transcript/rows.ts';
import { Fold } from './fold.tsx';
import { Taken } from './taken.tsx';

export function Reasoning({ row }: { row: ReasoningRow }) {
  useRevision();
  const { key, text, taken } = row;
  return (
    <Fold name={key} summary={<span class="muted">thought {taken && <Taken />}</span>}>
      {() => <Markdown text={text} />}
    </Fold>
  );
}
