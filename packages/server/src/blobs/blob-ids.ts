/** Random, so that every driver can spread blobs evenly by the beginning of their ids, and a store can take those of another. */
import { randomBytes } from 'node:crypto';

const BYTES = 16;
const PATTERN = /^[0-9a-f]{32}$/;

export function createBlobId(): string {
  return randomBytes(BYTES).toString('hex');
}

export function isBlobId(text: string): boolean {
  return PATTERN.test(text);
}
