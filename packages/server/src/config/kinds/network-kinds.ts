/**
 * Kinds of values for networks and databases: hosts, URLs, origins, API keys, stores. The contract is that of
 * `kinds.ts`. A URL may carry a password, so every URL is shown without its user part.
 */
import { BlockList, isIP } from 'node:net';
import { fileURLToPath } from 'node:url';
import { eachHost } from '../../network/postgres-hosts.ts';
import { HIDDEN, isHeaderToken, type Kind, type Read, showGiven, textKind } from './kinds.ts';

/** An API key and the name that its runs belong to. */
export interface ApiKey {
  readonly name: string;
  readonly key: string;
}

/** Where the journal lives. */
export type Database =
  | {
      readonly kind: 'sqlite';
      /** Absolute. */
      readonly path: string;
    }
  | {
      readonly kind: 'postgres';
      /** Including the credentials: a secret. */
      readonly url: string;
    };

/** The origins a browser may call from; `*` is every one. */
export type CorsOrigins = '*' | readonly string[];

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/**
 * True only if the address certainly stays on this machine: a wrong "yes" opens a server without a key to the network,
 * a wrong "no" asks for a key that was not needed.
 */
export function isLoopback(host: string): boolean {
  if (host.toLowerCase() === 'localhost') return true;
  // A zone (fe80::1%eth0) belongs to link-local addresses, which are not loopback.
  const version = host.includes('%') ? 0 : isIP(host);
  return version !== 0 && loopback.check(host, version === 4 ? 'ipv4' : 'ipv6');
}

export function host(): Kind<string> {
  return textKind({
    name: 'host',
    allowed: 'an IP address or a host name, without scheme or port',
    read(text) {
      const name = text.trim().replace(/^\[(.*)\]$/, '$1');
      if (isIP(name) !== 0) return { value: name };
      // Digits and dots alone are a mistyped address; resolvers read "127.1" or "0" in surprising ways.
      const isName = /^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/i.test(name) && !/^[\d.]+$/.test(name);
      return isName ? { value: name } : { refused: '' };
    },
    format: (value) => value,
  });
}

/** The base of an HTTP API. Paths are appended to it, so nothing may come after its path. */
export function httpUrl(): Kind<string> {
  return textKind({
    name: 'url',
    allowed: 'an http:// or https:// URL without user name, password, query or fragment',
    read(text) {
      const url = URL.parse(text.trim());
      if (url === null || !isHttp(url) || url.search !== '' || url.hash !== '') return { refused: '' };
      if (url.username !== '' || url.password !== '') {
        return { refused: 'it contains credentials; the key has a setting of its own' };
      }
      return { value: url.href.replace(/\/+$/, '') };
    },
    format: (value) => value,
    shown: showUrl,
  });
}

/** A comma-separated list of origins, or `*`. A JSON file may also give an array. */
export function corsOrigins(): Kind<CorsOrigins> {
  const read = (entries: readonly unknown[]): Read<CorsOrigins> => {
    if (entries.length === 1 && entries[0] === '*') return { value: '*' };
    if (entries.includes('*')) return { refused: '* stands alone' };
    const origins = entries.map(readOrigin);
    const bad = origins.indexOf(undefined);
    if (bad >= 0) return { refused: `entry ${bad + 1} is not an origin` };
    return { value: [...new Set(origins as string[])] };
  };
  return {
    name: 'list',
    allowed: '* or a list of origins like https://app.example.com or http://localhost:3000',
    secret: false,
    fromText: (text) => read(splitList(text)),
    fromJson(json) {
      if (typeof json === 'string') return read(splitList(json));
      return Array.isArray(json) ? read(json) : { refused: '' };
    },
    shown: showUrl,
    format: (value) => (value === '*' ? '*' : value.join(',')),
  };
}

/** The origin exactly as a browser sends it: lower case, no default port, no trailing slash. */
function readOrigin(entry: unknown): string | undefined {
  const url = typeof entry === 'string' ? URL.parse(entry) : null;
  // A pattern such as https://*.example.com parses, and would then silently match nothing.
  if (url === null || !isHttp(url) || url.hostname.includes('*')) return undefined;
  return url.href === `${url.origin}/` ? url.origin : undefined;
}

/** `name:key,name:key`; in JSON also `{"name": "key"}`. Messages name entries by position: their text may be a key. */
export function apiKeys(): Kind<readonly ApiKey[]> {
  return {
    name: 'secret list',
    allowed:
      'name:key,name:key with unique names of 1 to 64 letters, digits, _ or -, and unique keys of visible ASCII characters',
    secret: true,
    fromText: readKeyList,
    fromJson(json) {
      if (typeof json === 'string') return readKeyList(json);
      if (typeof json !== 'object' || json === null || Array.isArray(json)) return { refused: '' };
      return readKeys(Object.entries(json));
    },
    shown: () => HIDDEN,
    format: (keys) => keys.map(({ name }) => `${name}:${HIDDEN}`).join(','),
  };
}

function readKeyList(text: string): Read<readonly ApiKey[]> {
  return readKeys(
    splitList(text).map((entry) => {
      const colon = entry.indexOf(':');
      return colon < 0 ? ['', entry] : [entry.slice(0, colon), entry.slice(colon + 1)];
    }),
  );
}

function readKeys(entries: readonly (readonly unknown[])[]): Read<readonly ApiKey[]> {
  const keys: ApiKey[] = [];
  for (const [index, [name, key]] of entries.entries()) {
    const place = `entry ${index + 1}`;
    if (typeof name !== 'string' || !/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
      return { refused: `${place} does not start with a valid name and a colon` };
    }
    if (typeof key !== 'string' || !isHeaderToken(key)) {
      return { refused: `${place} (${name}) has no valid key` };
    }
    if (keys.some((other) => other.name === name)) return { refused: `the name ${name} is given twice` };
    const twin = keys.find((other) => other.key === key);
    if (twin !== undefined) return { refused: `${twin.name} and ${name} have the same key` };
    keys.push({ name, key });
  }
  return keys.length === 0 ? { refused: '' } : { value: keys };
}

export function databaseUrl(): Kind<Database> {
  return textKind<Database>({
    name: 'url',
    allowed:
      'sqlite:///absolute/path/to/file.db, file:///absolute/path/to/file.db or postgres://user:password@host:port/name',
    read(text) {
      if (/^postgres(ql)?:/i.test(text)) {
        const named = eachHost(text).every((address) => {
          const url = URL.parse(address);
          return (
            url !== null && url.pathname.length > 1 && (url.hostname !== '' || url.searchParams.has('host'))
          );
        });
        if (!named) return { refused: '' };
        if (/%(?![0-9a-f]{2})/i.test(text)) return { refused: 'a literal % has to be written as %25' };
        return { value: { kind: 'postgres', url: text } };
      }
      // Without the slash check `file:runs.db` would silently mean /runs.db.
      if (!/^(sqlite|file):(\/|\/{3,})[^/]/i.test(text)) return { refused: '' };
      const url = URL.parse(text.replace(/^[a-z]+:\/*/i, 'file:///'));
      if (url === null || url.search !== '' || url.hash !== '' || url.pathname.endsWith('/')) {
        return { refused: '' };
      }
      const path = filePath(url);
      return path === undefined ? { refused: '' } : { value: { kind: 'sqlite', path } };
    },
    format: (database) =>
      database.kind === 'postgres'
        ? `postgres://${describeDatabase(database)}`
        : `sqlite://${encodeURI(database.path).replace(/[?#]/g, encodeURIComponent)}`,
    shown: showUrl,
  });
}

/** Where the database is, without the credentials. */
export function describeDatabase(database: Database): string {
  if (database.kind === 'sqlite') return database.path;
  const urls = eachHost(database.url).map((address) => new URL(address));
  const hosts = urls.map(({ host, searchParams }) => host || (searchParams.get('host') ?? ''));
  return `${hosts.join(',')}${urls[0]!.pathname}`;
}

/** The path, or nothing if its escapes hide a slash or a zero byte. */
function filePath(url: URL): string | undefined {
  try {
    const path = fileURLToPath(url);
    return path.includes('\0') ? undefined : path;
  } catch {
    return undefined;
  }
}

/**
 * Everything up to the last @ may be part of a password (people forget to escape one), and a query may hold
 * one too. The price, a path with an @ shown shorter, is small.
 */
function showUrl(given: unknown): string {
  if (Array.isArray(given)) return `[${given.map(showUrl).join(',')}]`;
  if (typeof given !== 'string') return showGiven(given);
  return showGiven(
    given.replace(/^([a-z][a-z0-9+.-]*:)?(\/*).*@/is, `$1$2${HIDDEN}@`).replace(/\?.*$/s, `?${HIDDEN}`),
  );
}

function isHttp(url: URL): boolean {
  return url.protocol === 'http:' || url.protocol === 'https:';
}

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}
