/** Beside the transcript: one call in full, the files, the events as they came, and the run itself. */
import { type Tab, useRunView } from '../run-view.ts';
import { CallPanel } from './call-panel.tsx';
import { EventsPanel } from './events-panel.tsx';
import { FilesPanel } from './files-panel.tsx';
import { RunPanel } from './run-panel.tsx';

const TABS: readonly [Tab, string, () => preact.JSX.Element][] = [
  ['call', 'Call', CallPanel],
  ['files', 'Files', FilesPanel],
  ['events', 'Events', EventsPanel],
  ['run', 'Run', RunPanel],
];

export function Inspector() {
  const { tab, inspecting } = useRunView();
  const move = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    const index = TABS.findIndex(([name]) => name === tab.value);
    tab.value = TABS[(index + step + TABS.length) % TABS.length]![0];
    document.getElementById(`tab-${tab.value}`)?.focus();
  };
  const Panel = TABS.find(([name]) => name === tab.value)![2];
  return (
    <aside class="inspector" aria-label="Inspector">
      <div class="tabs">
        <div role="tablist" aria-label="Inspector" onKeyDown={move}>
          {TABS.map(([name, title]) => (
            <button
              type="button"
              key={name}
              id={`tab-${name}`}
              role="tab"
              aria-selected={tab.value === name}
              aria-controls="inspector-panel"
              tabIndex={tab.value === name ? 0 : -1}
              onClick={() => {
                tab.value = name;
              }}
            >
              {title}
            </button>
          ))}
        </div>
        <button
          type="button"
          class="phone-only quiet"
          aria-label="Close the inspector"
          onClick={() => {
            inspecting.value = false;
          }}
        >
          ✕
        </button>
      </div>
      <div class="panel" id="inspector-panel" role="tabpanel" aria-labelledby={`tab-${tab.value}`}>
        <Panel />
      </div>
    </aside>
  );
}
