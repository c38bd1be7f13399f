/**
 * How servers on one store authenticate each other's requests and responses. They share a secret, through the store,
 * and never send it. A request carries a random number and a seal over that number, the intended server, and the
 * request; the response carries a seal over the same number. So a stranger that now has the address of a former server
 * learns nothing it could use elsewhere, and its response is not accepted as that server's.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

export const PEER_HEADER = 'x-talaria-peer';

export interface PeerQuestion {
  /** The server that is asked. */
  serverId: string;
  method: string;
  /** The path with its query. */
  path: string;
}

export class PeerSeal {
  readonly #secret: Uint8Array;

  constructor(secret: Uint8Array) {
    this.#secret = secret;
  }

  /** The header of a request, and the expected header of its response. */
  ask(question: PeerQuestion): { header: string; answer: string } {
    const nonce = randomBytes(16).toString('hex');
    return { header: `${nonce}.${this.#sealOf(question, nonce)}`, answer: this.#answer(question, nonce) };
  }

  /** The header of the response to a peer's request; undefined for a request of anybody else. */
  recognize(question: PeerQuestion, header: unknown): string | undefined {
    const [, nonce = '', seal = ''] = /^([0-9a-f]{32})\.([0-9a-f]{64})$/.exec(String(header)) ?? [];
    return isSame(seal, this.#sealOf(question, nonce)) ? this.#answer(question, nonce) : undefined;
  }

  #sealOf({ serverId, method, path }: PeerQuestion, nonce: string): string {
    return this.#seal('ask', nonce, serverId, method, path);
  }

  #answer({ serverId }: PeerQuestion, nonce: string): string {
    return this.#seal('answer', nonce, serverId);
  }

  #seal(...parts: string[]): string {
    return createHmac('sha256', this.#secret).update(JSON.stringify(parts)).digest('hex');
  }
}

/** In constant time. */
export function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
