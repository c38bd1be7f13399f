/**
 * Other servers of the user. Each has its own page, and the content security policy of this one lets it talk to its own
 * server only: so these are links. They are kept in this browser, by the address of this page.
 */
import { signal } from '@preact/signals';
import { UI_ROOT } from '../api/place.ts';

export interface KnownServer {
  name: string;
  /** The address of the server's page. */
  url: string;
}

const NAME = `talaria servers ${UI_ROOT.pathname}`;

export const servers = signal<readonly KnownServer[]>(read());

/** Takes the address of a server or of its page; false for anything that is no http address. */
export function addServer(given: string): boolean {
  const url = toPage(given);
  if (url === undefined || url.href === UI_ROOT.href) return false;
  const others = servers.value.filter((server) => server.url !== url.href);
  keep([...others, { name: url.host + url.pathname.replace(/\/ui\/$/, ''), url: url.href }]);
  return true;
}

export function removeServer(url: string): void {
  keep(servers.value.filter((server) => server.url !== url));
}

function toPage(given: string): URL | undefined {
  try {
    const url = new URL(/^https?:\/\//.test(given) ? given : `https://${given}`);
    const path = url.pathname.replace(/\/(ui\/?)?$/, '');
    return new URL(`${url.origin}${path}/ui/`);
  } catch {
    return undefined;
  }
}

function keep(list: readonly KnownServer[]): void {
  servers.value = list;
  localStorage.setItem(NAME, JSON.stringify(list));
}

function read(): readonly KnownServer[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(NAME) ?? '[]');
    return Array.isArray(list) ? list.filter(isServer) : [];
  } catch {
    return [];
  }
}

/** Only http addresses become links, whoever wrote into the storage. */
function isServer(value: unknown): value is KnownServer {
  const { name, url } = (value ?? {}) as Partial<KnownServer>;
  return typeof name === 'string' && typeof url === 'string' && /^https?:\/\//.test(url);
}
