import { createHash } from 'node:crypto';

/** The name of what is not there. */
export const NO_BLOB = '0'.repeat(40);

/** The name that git gives to a content. */
export function gitBlobId(content: Uint8Array): string {
  return createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex');
}
