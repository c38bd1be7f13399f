/** The events as they came, one line each; an opened one in full. */
import { useSignal } from '@preact/signals';
import { VisibleText } from '../../../ui/visible-text.tsx';
import { ForkButton } from '../fork.tsx';
import { useRunView } from '../run-view.ts';
import { VirtualRows } from '../virtual-rows.tsx';

const LINE_PX = 28;

export function EventsPanel() {
  const { watched, target, goTo } = useRunView();
  watched.revision.value;
  const { events } = watched.transcript.value;
  const opened = useSignal<number | undefined>(target.peek()?.seq);
  return (
    <div class="events">
      <VirtualRows
        label="Events"
        count={events.length}
        keyOf={(index) => `${events[index]!.seq}`}
        estimate={() => LINE_PX}
        follow
      >
        {(index) => {
          const event = events[index]!;
          const open = opened.value === event.seq;
          return (
            <div class={`event ${target.value?.seq === event.seq ? 'target' : ''}`}>
              <button
                type="button"
                class="fold"
                aria-expanded={open}
                onClick={() => {
                  opened.value = open ? undefined : event.seq;
                }}
              >
                <span class="muted">{event.seq}</span> {event.event}
              </button>
              {open && (
                <>
                  <pre class="output wrap" dir="ltr">
                    <VisibleText text={JSON.stringify(event, null, 2)} />
                  </pre>
                  <button type="button" class="small" onClick={() => goTo(event.seq)}>
                    Show in the transcript
                  </button>{' '}
                  <ForkButton at={event.seq} />
                </>
              )}
            </div>
          );
        }}
      </VirtualRows>
    </div>
  );
}
