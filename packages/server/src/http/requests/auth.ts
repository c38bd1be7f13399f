/**
 * Decides who the caller is. A request belongs to the API key it carries: as a bearer token, or as `api-key`, the header of
 * Azure's clients. If it has an `Authorization` header, that alone counts, so that no key can hide behind another. Without configured keys everyone is the same
 * owner, and only a request that names the server by a loopback host is admitted. Otherwise any web page could reach an
 * open server on its visitor's machine, by pointing a host name of its own at 127.0.0.1.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
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
    const given = digest(givenKey(request.headers));
    let owner: string | undefined;
    // Every key is compared, and digests have equal length, so the duration reveals nothing.
    for (const { name, digest: expected } of known) if (timingSafeEqual(given, expected)) owner = name;
    if (owner === undefined) throw new TalariaError('invalid_api_key');
    return owner;
  };
}

/** Empty if there is none, which no key is. */
function givenKey({ authorization, 'api-key': apiKey }: IncomingHttpHeaders): string {
  if (authorization !== undefined) return /^Bearer +(.*)$/i.exec(authorization)?.[1] ?? '';
  // Node joins a header that is repeated.
  return typeof apiKey === 'string' ? apiKey : '';
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function hostName(host: string): string {
  const bracketed = /^\[([^\]]*)\]/.exec(host);
  return bracketed?.[1] ?? host.replace(/:\d*$/, '');
}
