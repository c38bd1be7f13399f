/**
 * The API key in this browser: for this tab, or until it is forgotten if the user asks for that. `talaria ui` hands it
 * over behind the `#` of the address, which no server or proxy sees, and which is removed at once.
 */
import { UI_ROOT } from './place.ts';

/** Two servers behind one proxy share an origin, and so its storage. */
const NAME = `talaria key ${UI_ROOT.pathname}`;

/** The key that the address brought; undefined if it brought none. */
export function takeKeyFromAddress(): string | undefined {
  const given = new URLSearchParams(location.hash.slice(1)).get('key');
  if (given === null) return undefined;
  history.replaceState(history.state, '', location.pathname + location.search);
  return given;
}

export function readKey(): string | undefined {
  return sessionStorage.getItem(NAME) ?? localStorage.getItem(NAME) ?? undefined;
}

export function keepKey(key: string, remember: boolean): void {
  forgetKey();
  (remember ? localStorage : sessionStorage).setItem(NAME, key);
}

/** A key that is remembered stays, for other tabs. */
export function keepKeyInTab(key: string): void {
  sessionStorage.setItem(NAME, key);
}

export function forgetKey(): void {
  sessionStorage.removeItem(NAME);
  localStorage.removeItem(NAME);
}
