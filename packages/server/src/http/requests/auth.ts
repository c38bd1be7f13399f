/**
 * Decides who the caller is. A request belongs to the API key it carries. Without configured keys everyone is the same
 * owner, and only a request that names the server by a loopback host is admitted. Otherwise any web page could reach an
 * open server on its visitor's machine, by pointing a host name of its own at 127.0.0.1.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { TalariaError } from '@talaria/protocol';
import type { FastifyRequest } from 'fastify';
import { type ApiKey, isLoopback } from '../../config/index.ts';

/** The owner of runs when no key is configured. */
export const OPEN_OWNER = 'local';

export type Authenticate = (request: FastifyRequest) => string;

/** Returns the owner, or throws. */
export function createAuthenticate(keys: readonly ApiKey[]): Authenticate {
  if (keys.length === 0) {
    return (request) => {
      if (!isLoopback(hostName(request.headers.host ?? ''))) throw new TalariaError('host_not_allowed');
      return OPEN_OWNER;
    };
  }
  const known = keys.map(({ name, key }) => ({ name, digest: digest(key) }));
  return (request) => {
    const token = /^Bearer +(.*)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const given = digest(token);
    let owner: string | undefined;
    // Every key is compared, and digests have equal length, so the duration reveals nothing.
    for (const { name, digest: expected } of known) if (timingSafeEqual(given, expected)) owner = name;
    if (owner === undefined) throw new TalariaError('invalid_api_key');
    return owner;
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function hostName(host: string): string {
  const bracketed = /^\[([^\]]*)\]/.exec(host);
  return bracketed?.[1] ?? host.replace(/:\d*$/, '');
}
