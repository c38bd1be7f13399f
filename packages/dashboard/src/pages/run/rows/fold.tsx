/** A part of a row that can be opened. Whether it is open is kept with the page, since rows come and go. */
import type { ComponentChildren } from 'preact';
import { useRunView } from '../run-view.ts';

interface FoldProps {
  /** The key of its row. */
  name: string;
  openAtFirst?: boolean;
  summary: ComponentChildren;
  children: () => ComponentChildren;
}

export function Fold({ name, openAtFirst = false, summary, children }: FoldProps) {
  const { opened } = useRunView();
  const open = opened.value.get(name) ?? openAtFirst;
  const toggle = () => {
    opened.value = new Map(opened.value).set(name, !open);
  };
  return (
    <>
      <button type="button" class="fold" aria-expanded={open} onClick={toggle}>
        <span aria-hidden="true">{open ? '▾' : '▸'} </span>
        {summary}
      </button>
      {open && <div class="folded">{children()}</div>}
    </>
  );
}
