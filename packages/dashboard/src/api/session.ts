/** Holds the client with the key that this browser has, and whether the server accepts that key. */
import { signal } from '@preact/signals';
import { APIError, Talaria } from '@talaria/client';
import { forgetKey, keepKey, readKey, takeKeyFromAddress } from './key.ts';
import { API_ROOT } from './place.ts';

/** `refused`: the server does not accept the key, or wants one and there is none. */
export const access = signal<'unknown' | 'granted' | 'refused'>('unknown');

takeKeyFromAddress();

// A link with a key that is opened where the page already is: the browser does not load it again.
addEventListener('hashchange', () => {
  if (takeKeyFromAddress()) become(readKey());
});

export const client = signal(createClient(readKey()));

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
