/**
 * Finds the addresses of a receiver without `getaddrinfo`, if possible: that runs on the threads that also read and
 * write the server's files, and a few names whose DNS servers never answer would block all of them. It is used only
 * when the DNS answered quickly that it does not know the name, or there is no DNS server: the name may be in the hosts
 * file, or be completed by a search domain.
 */
import { lookup, Resolver } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';

const TIMEOUT_MS = 2_000;
const TRIES = 2;

/** Answers after which another way to resolve the name is worth a try, and takes no time. */
const UNKNOWN = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED', 'EBADNAME']);

/** No question for the DNS. */
const LOCAL_NAME = /(?:^|\.)localhost\.?$/i;

interface Address {
  address: string;
  family: number;
}

export interface NameOptions {
  /** DNS servers other than those of the system. */
  servers?: readonly string[];
  timeoutMs?: number;
}

/** For the `lookup` of a socket. */
export function createLookup(options: NameOptions = {}): LookupFunction {
  return (name, { all, family: wanted }, done) => {
    addressesOf(name, options).then(
      (addresses) => {
        const fitting = addresses.filter(({ family }) => !wanted || wanted === family);
        const [first] = fitting;
        if (first === undefined) done(notFound(name), '');
        else if (all) done(null, fitting);
        else done(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => done(error, ''),
    );
  };
}

async function addressesOf(
  name: string,
  { servers, timeoutMs = TIMEOUT_MS }: NameOptions,
): Promise<Address[]> {
  if (LOCAL_NAME.test(name)) return lookup(name, { all: true });
  const resolver = new Resolver({ timeout: timeoutMs, tries: TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const found = [
    ...(four.status === 'fulfilled' ? four.value.map((address) => ({ address, family: 4 })) : []),
    ...(six.status === 'fulfilled' ? six.value.map((address) => ({ address, family: 6 })) : []),
  ];
  if (found.length > 0) return found;
  for (const answer of [four, six]) {
    if (answer.status === 'rejected' && !UNKNOWN.has(answer.reason.code)) throw answer.reason;
  }
  return lookup(name, { all: true });
}

function notFound(name: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`no address of ${name}`), { code: 'ENOTFOUND' });
}
