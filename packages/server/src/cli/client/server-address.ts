/**
 * Which server the commands talk to, and with which key. The first that is given decides:
 *
 *   address  --server, TALARIA_BASE_URL, API_SERVER_HOST and API_SERVER_PORT (what `serve` listens on), the default
 *   key      TALARIA_API_KEY, HERMES_API_KEY, API_SERVER_KEY
 *
 * API_SERVER_KEY is the key of this machine's own server: it is not sent to a server that was named in another way.
 */
import type { Env } from '../../config/environment.ts';

export interface ServerAddress {
  readonly url: string;
  readonly apiKey: string | undefined;
  /** The variable the key is in, for messages. */
  readonly keyName: string | undefined;
}

const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = '8642';
/** Where a server listens that was told nothing. */
export const DEFAULT_URL = `http://${DEFAULT_HOST}:${DEFAULT_PORT}`;

export function serverAddress(given: string | undefined, env: Env): ServerAddress {
  const named = given ?? (env.TALARIA_BASE_URL || undefined);
  const keyNames = ['TALARIA_API_KEY', 'HERMES_API_KEY', ...(named === undefined ? ['API_SERVER_KEY'] : [])];
  const keyName = keyNames.find((name) => env[name]);
  return { url: named ?? ownServer(env), apiKey: keyName === undefined ? undefined : env[keyName], keyName };
}

function ownServer(env: Env): string {
  const port = env.API_SERVER_PORT || DEFAULT_PORT;
  return `http://${reachable(env.API_SERVER_HOST || DEFAULT_HOST)}:${port}`;
}

/** A server that listens everywhere is reached here. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return DEFAULT_HOST;
  const bare = host.replace(/^\[|\]$/g, '');
  if (bare === '::') return '[::1]';
  return bare.includes(':') ? `[${bare}]` : bare;
}
