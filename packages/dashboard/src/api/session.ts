/** Holds the client with the key that this browser has, and whether the server accepts that key. */
import { signal } from '@preact/signals';
import { APIError, Talaria } from '@talaria/client';
import { forgetKey, keepKey, keepKeyInTab, readKey, takeKeyFromAddress } from './key.ts';
import { API_ROOT } from './place.ts';

/** `refused`: the server does not accept the key, or wants one and there is none. */
export const access = signal<'unknown' | 'granted' | 'refused'>('unknown');

/**
 * A key that a link brought while this browser has another one. Anybody can make such a link, and with its key the page would show
 * and start the runs of somebody else. So the user decides.
 */
export const offeredKey = signal<string | undefined>(undefined);

takeOffer();

export const client = signal(createClient(readKey()));

// A link with a key that is opened where the page already is: the browser does not load it again.
addEventListener('hashchange', () => {
  if (takeOffer()) become(readKey());
});

/** Takes the key of the address, or offers it to the user. Returns true if the page now uses it. */
function takeOffer(): boolean {
  const given = takeKeyFromAddress();
  const present = readKey();
  if (given === undefined || given === present) return false;
  if (present === undefined) keepKeyInTab(given);
  else offeredKey.value = given;
  return present === undefined;
}

export function acceptOffer(): void {
  const given = offeredKey.value;
  if (given === undefined) return;
  offeredKey.value = undefined;
  keepKeyInTab(given);
  become(given);
}

export function declineOffer(): void {
  offeredKey.value = undefined;
}

export function signIn(key: string, remember: boolean): void {
  keepKey(key, remember);
  become(key);
}

export function signOut(): void {
  forgetKey();
  client.value = createClient(undefined);
  access.value = 'refused';
}

function become(key: string | undefined): void {
  client.value = createClient(key);
  access.value = 'unknown';
}

/** Every failure passes through here: a key that is revoked while the page is open ends at the sign-in. */
export function noteFailure(error: unknown): void {
  if (error instanceof APIError && error.status === 401) access.value = 'refused';
}

function createClient(key: string | undefined): Talaria {
  return new Talaria({ baseUrl: API_ROOT, apiKey: key ?? null });
}
