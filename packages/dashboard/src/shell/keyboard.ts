/**
 * The keys of the whole page. `j` and `k` move the focus over everything marked `data-item`; the focused thing itself
 * answers Enter (a link) and `o s a d` (an approval card). Nothing happens while somebody writes, or above a dialog.
 */
import { overlay, show } from '../navigation/overlays.ts';
import { navigate } from '../navigation/router.ts';

export const SHORTCUTS: readonly [keys: string, what: string][] = [
  ['j / k', 'next or previous card or row'],
  ['Enter', 'open the focused run'],
  ['o', 'allow once (focused card)'],
  ['s', 'allow for the session'],
  ['a', 'allow always: says its scope first'],
  ['d', 'deny'],
  ['/', 'search'],
  ['n', 'new run'],
  ['g', 'go to the runs'],
  ['⌘K, Ctrl K', 'go to anything'],
  ['?', 'this list'],
  ['Esc', 'close what is open'],
];

export function listenToKeys(): void {
  addEventListener('keydown', (event) => {
    if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault();
      show('palette');
      return;
    }
    const plain = !event.metaKey && !event.ctrlKey && !event.altKey && !event.defaultPrevented;
    if (!plain || overlay.value !== undefined || isWriting(event.target)) return;
    const action = ACTIONS[event.key];
    if (action === undefined || document.querySelector('dialog[open]') !== null) return;
    event.preventDefault();
    action();
  });
}

const ACTIONS: Readonly<Record<string, () => void>> = {
  j: () => moveFocus(1),
  k: () => moveFocus(-1),
  n: () => show('new run'),
  g: () => navigate(''),
  '?': () => show('help'),
  '/': () => document.querySelector<HTMLElement>('[data-search]')?.focus(),
};

function moveFocus(by: 1 | -1): void {
  const items = [...document.querySelectorAll<HTMLElement>('[data-item]')];
  const at = items.findIndex((item) => item.contains(document.activeElement));
  const next = at === -1 ? (by === 1 ? 0 : items.length - 1) : at + by;
  items[Math.min(Math.max(next, 0), items.length - 1)]?.focus();
}

function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.matches('input, textarea, select') || target.isContentEditable)
  );
}
