/** The address is the state that people share: which page, which run, which filters. */
import { signal } from '@preact/signals';
import { UI_ROOT } from '../api/place.ts';

export interface Place {
  /** The parts of the path below `/ui/`, decoded. */
  path: readonly string[];
  query: URLSearchParams;
}

export const place = signal(readPlace());

addEventListener('popstate', () => {
  place.value = readPlace();
});

/** An address in the page, such as `runs/run_1?event=7`. */
export function href(to: string): string {
  return new URL(to, UI_ROOT).href;
}

export function navigate(to: string, how: 'push' | 'replace' = 'push'): void {
  history[how === 'push' ? 'pushState' : 'replaceState'](null, '', href(to));
  place.value = readPlace();
}

/** Puts some values into the query, and removes those that are empty. */
export function changeQuery(changes: Record<string, string | undefined>): void {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  history.replaceState(null, '', url);
  place.value = readPlace();
}

/** Follows the page's own links without loading it again. */
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey)
    return;
  const link = (event.target as Element).closest('a');
  if (link === null || link.target !== '' || link.hasAttribute('download')) return;
  const inside = link.href.startsWith(UI_ROOT.href) && !link.href.startsWith(`${UI_ROOT.href}approve/`);
  if (!inside) return;
  event.preventDefault();
  navigate(link.href);
  scrollTo(0, 0);
}

function readPlace(): Place {
  const below = location.pathname.slice(UI_ROOT.pathname.length);
  return {
    path: below.split('/').filter(Boolean).map(decode),
    query: new URLSearchParams(location.search),
  };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
