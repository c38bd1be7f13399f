/** The title of the browser's tab: what the page shows, and before it how many questions wait for the user. */
import { effect } from '@preact/signals';
import { heads, waitingCount } from '../api/live/live.ts';
import { type Place, place } from '../navigation/router.ts';
import { withoutTricks } from '../ui/visible-text.tsx';
import { SECTIONS } from './pages.tsx';

const RUN_CHARACTERS = 60;

export function followTitle(): void {
  effect(() => {
    const waiting = waitingCount.value;
    document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${nameOf(place.value)} · Talaria`;
  });
}

function nameOf({ path: [section = '', id] }: Place): string {
  if (section === 'runs' && id !== undefined) {
    const line = heads.value.get(id)?.input?.trim().split('\n')[0] ?? '';
    return withoutTricks(line).slice(0, RUN_CHARACTERS) || 'Run';
  }
  return SECTIONS.find(({ path }) => path === section)?.name ?? 'Runs';
}
