/** Light or dark: as the system says, unless the user chose. */
import { effect, signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';

const NAME = 'talaria theme';

export const theme = signal<Theme>(read());

effect(() => {
  const chosen = theme.value;
  if (chosen === 'system') localStorage.removeItem(NAME);
  else localStorage.setItem(NAME, chosen);
  document.documentElement.dataset.theme = chosen;
});

function read(): Theme {
  const kept = localStorage.getItem(NAME);
  return kept === 'light' || kept === 'dark' ? kept : 'system';
}
