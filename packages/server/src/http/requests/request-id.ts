/**
 * The id of a request: in its response (`x-request-id`), in the log, and in the logs of clients and proxies. A client
 * may choose it; an id that could break a log line or a header is replaced.
 */
import { createId } from '@talaria/protocol';

/** The characters of uuids, of trace ids and of the ids that proxies make. */
const WELL_FORMED = /^[\w.:/+=@-]{1,128}$/;

export function requestIdOf({ headers }: { headers: Record<string, string | string[] | undefined> }): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && WELL_FORMED.test(given) ? given : createId('req');
}
