/** Goes to anything by a few letters: a section, a run, another server, an action. */
import { useSignal } from '@preact/signals';
import { heads } from '../api/live/live.ts';
import { hide, show } from '../navigation/overlays.ts';
import { navigate } from '../navigation/router.ts';
import { Dialog } from '../ui/dialog.tsx';
import { statusName } from '../ui/status.tsx';
import { VisibleText } from '../ui/visible-text.tsx';
import { SECTIONS } from './pages.tsx';
import { servers } from './servers.ts';

interface Entry {
  id: string;
  name: string;
  detail: string;
  go: () => void;
}

const SHOWN = 12;

export function Palette() {
  const words = useSignal('');
  const at = useSignal(0);
  const found = matching(entries(), words.value).slice(0, SHOWN);
  const current = Math.min(at.value, found.length - 1);
  const pick = (entry: Entry | undefined) => {
    if (entry === undefined) return;
    hide();
    entry.go();
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Enter') pick(found[current]);
    else if (step !== undefined) at.value = Math.max(0, Math.min(found.length - 1, current + step));
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go to" onClose={hide}>
      <input
        class="palette-words"
        role="combobox"
        aria-label="Go to"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found[current] && `palette-${found[current].id}`}
        autocomplete="off"
        value={words.value}
        onKeyDown={press}
        onInput={(event) => {
          words.value = event.currentTarget.value;
          at.value = 0;
        }}
      />
      <div id="palette-list" role="listbox" aria-label="Places" class="palette">
        {found.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys go to the field above, which names the active entry
          <div
            key={entry.id}
            id={`palette-${entry.id}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === current}
            onClick={() => pick(entry)}
          >
            <span class="name">
              <VisibleText text={entry.name} />
            </span>
            <span class="muted">{entry.detail}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p class="muted">Nothing here has these words.</p>}
    </Dialog>
  );
}

function entries(): Entry[] {
  const runs = [...heads.value.values()].sort((a, b) => b.created_at - a.created_at);
  return [
    ...SECTIONS.map(({ path, name }) => ({
      id: `section-${path}`,
      name,
      detail: 'page',
      go: () => navigate(path),
    })),
    { id: 'new-run', name: 'New run', detail: 'action', go: () => show('new run') },
    { id: 'settings', name: 'Settings', detail: 'action', go: () => show('settings') },
    { id: 'help', name: 'Keyboard shortcuts', detail: 'action', go: () => show('help') },
    ...servers.value.map(({ name, url }) => ({
      id: `server-${url}`,
      name,
      detail: 'server',
      go: () => location.assign(url),
    })),
    ...runs.map((run) => ({
      id: run.run_id,
      name: run.input || run.run_id,
      detail: statusName(run.status),
      go: () => navigate(`runs/${run.run_id}`),
    })),
  ];
}

function matching(all: readonly Entry[], words: string): readonly Entry[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return all.filter(({ id, name, detail }) => {
    const text = `${name} ${detail} ${id}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}
