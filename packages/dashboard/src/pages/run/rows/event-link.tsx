/** The address of an event: to copy, to open elsewhere, or to mark it here. */
import { useSignal } from '@preact/signals';
import { useRunView } from '../run-view.ts';

const SAID_MS = 1_500;

export function EventLink({ seq }: { seq: number }) {
  const { linkTo, goTo } = useRunView();
  const copied = useSignal(false);
  const go = async (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    goTo(seq);
    try {
      await navigator.clipboard.writeText(linkTo(seq));
    } catch {
      // Not allowed here; the address of the page is the link, too.
      return;
    }
    copied.value = true;
    setTimeout(() => {
      copied.value = false;
    }, SAID_MS);
  };
  return (
    <a
      class="event-link"
      href={linkTo(seq)}
      onClick={(event) => void go(event)}
      title={`Event ${seq}: copy its link`}
    >
      <span class="visually-hidden">Link to event </span>#{seq}
      <span role="status">{copied.value && ' copied'}</span>
    </a>
  );
}
