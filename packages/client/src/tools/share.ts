/**
 * Divides calls among processes that serve the same tools and do not know of each other: each call belongs to exactly
 * one of them, whichever process sees it.
 */

export interface Share {
  /** From 0. */
  index: number;
  /** How many processes there are. */
  count: number;
}

export function checkShare({ index, count }: Share): void {
  if (Number.isInteger(index) && Number.isInteger(count) && index >= 0 && index < count) return;
  throw new TypeError(`share must have an index from 0 and a larger count, got ${index} of ${count}`);
}

export function isInShare(key: string, share: Share | undefined): boolean {
  return share === undefined || hash(key) % share.count === share.index;
}

/** FNV-1a: gives the same hash everywhere, and spreads evenly enough. */
function hash(text: string): number {
  let hashed = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hashed = Math.imul(hashed ^ text.charCodeAt(i), 0x01000193);
  return hashed >>> 0;
}
