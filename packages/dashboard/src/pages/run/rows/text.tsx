import { CodeBlock } from '../../../ui/code.tsx';
import { Markdown } from '../../../ui/markdown.tsx';
import { useRevision } from '../run-view.ts';
import type { TextRow } from '../transcript/rows.ts';
import { Fold } from './fold.tsx';
import { Taken } from './taken.tsx';

/** How much of text that was taken back its closed row shows. */
const EXCERPT = 80;

export function Text({ row }: { row: TextRow }) {
  useRevision();
  const { block, taken, key } = row;
  const text = block.text + block.unfinished;
  const said = () =>
    block.kind === 'code' ? (
      <CodeBlock text={text} language={block.language} unfinished={block.open} />
    ) : (
      <Markdown text={text} unfinished={block.open} />
    );
  if (!taken) return said();
  const start = text.trim().replace(/\s+/g, ' ').slice(0, EXCERPT);
  return (
    <Fold
      name={key}
      summary={
        <span class="muted">
          <Taken /> <bdi>{start}</bdi>
        </span>
      }
    >
      {said}
    </Fold>
  );
}
