/** A native dialog: the browser keeps the focus inside, closes it with Escape, and returns the focus afterwards. */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}

export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  // Before the next frame, so that no key that follows is lost.
  useLayoutEffect(() => {
    dialog.current?.showModal();
    // The browser would take the first thing that can have the focus: the button that closes it.
    dialog.current?.querySelector<HTMLElement>('input, textarea')?.focus();
  }, [dialog]);
  return (
    <dialog ref={dialog} aria-label={title} onClose={onClose}>
      <header class="dialog-head">
        <h2>{title}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick={() => dialog.current?.close()}>
          ✕
        </button>
      </header>
      {children}
    </dialog>
  );
}
