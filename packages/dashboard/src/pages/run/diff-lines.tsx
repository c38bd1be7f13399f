/** Lines of a diff, with their numbers where they are known. Each line is one node of the page. */
import { VisibleText } from '../../ui/visible-text.tsx';
import type { DiffLine } from './patch-lines.ts';

const SIGNS: Record<DiffLine['kind'], string> = {
  file: '',
  place: '',
  same: ' ',
  added: '+',
  removed: '−',
};

export function DiffLines({ lines }: { lines: readonly DiffLine[] }) {
  return (
    <pre class="diff-lines" dir="ltr">
      {lines.map(({ kind, text, before, after }, index) => {
        const number = after ?? before;
        return (
          <span
            key={index}
            class={`line ${kind} ${number === undefined ? '' : 'numbered'}`}
            data-number={number}
            data-sign={SIGNS[kind]}
          >
            <VisibleText text={text === '' ? '\n' : text} />
          </span>
        );
      })}
    </pre>
  );
}
