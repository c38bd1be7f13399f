/**
 * What a request is called: in its answer (`x-request-id`), in the log, and in whatever a client or a proxy writes
 * down about it. A client may choose the name; one that could break a log line or a header is replaced by one of ours.
 */
import { createId } from '@talaria/protocol';

/** The characters of uuids, of trace ids and of what proxies make up. */
const WELL_FORMED = /^[\w.:/+=@-]{1,128}$/;

export function requestIdOf({ headers }: { headers: Record<string, string | string[] | undefined> }): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && WELL_FORMED.test(given) ? given : createId('req');
}
