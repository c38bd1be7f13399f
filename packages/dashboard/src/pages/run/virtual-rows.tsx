/**
 * A list that has only the rows in sight in the page. At its end it follows what is added; anywhere else it never
 * moves what the reader looks at, whatever is added, measured or completed around it.
 */
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from '@tanstack/virtual-core';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks';

interface VirtualRowsProps {
  label: string;
  count: number;
  keyOf: (index: number) => string;
  /** How high a row is thought to be until it was seen, in pixels. */
  estimate: (index: number) => number;
  children: (index: number) => ComponentChildren;
  /** Whether the end is in sight. */
  onEnd?: (atEnd: boolean) => void;
  /** Gets the list, to send it somewhere. */
  handle?: (list: RowList) => void;
  /** Stays at the end while rows are added. */
  follow?: boolean;
}

export interface RowList {
  toRow(index: number): void;
  toEnd(): void;
}

/** How many pixels from the end still count as the end. */
const END_PX = 60;
const OVERSCAN = 8;

export function VirtualRows(props: VirtualRowsProps) {
  const { label, count, keyOf, estimate, children, onEnd, handle, follow = false } = props;
  const scroller = useRef<HTMLElement>(null);
  const [, redraw] = useReducer((draws: number, _: undefined) => draws + 1, 0);
  const options = {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: estimate,
    getItemKey: keyOf,
    overscan: OVERSCAN,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    anchorTo: 'end' as const,
    followOnAppend: follow,
    scrollEndThreshold: END_PX,
    onChange: (list: Virtualizer<HTMLElement, HTMLElement>) => {
      onEnd?.(list.isAtEnd(END_PX));
      redraw(undefined);
    },
  };
  const [list] = useState(() => new Virtualizer<HTMLElement, HTMLElement>(options));
  list.setOptions(options);
  useLayoutEffect(() => {
    handle?.({
      toRow: (index) => list.scrollToIndex(index, { align: 'start' }),
      toEnd: () => list.scrollToEnd(),
    });
    return list._didMount();
  }, [list]);
  useLayoutEffect(() => list._willUpdate());

  const items = list.getVirtualItems();
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by the keyboard
    <section class="scroller" aria-label={label} ref={scroller} tabIndex={0}>
      <div class="rows" style={{ height: `${list.getTotalSize()}px` }}>
        <div style={{ transform: `translateY(${items[0]?.start ?? 0}px)` }}>
          {items.map(({ key, index }) => (
            <div key={key} data-index={index} ref={list.measureElement}>
              {children(index)}
            </div>
          ))}
        </div>
      </div>
    </section>
  );
}
