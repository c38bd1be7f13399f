/**
 * How servers on one store know each other's requests and answers. They share a secret, through the store, and never send
 * it: a request carries a random number and a seal over it, the server it is meant for, and what is asked; the answer
 * carries a seal over the same number. So a stranger that now has the address of a server that is gone learns nothing
 * it could use elsewhere, and its answer is not taken for that server's.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

export const PEER_HEADER = 'x-talaria-peer';

export interface PeerQuestion {
  /** Of the server that is asked. */
  serverId: string;
  method: string;
  /** With its query. */
  path: string;
}

export class PeerSeal {
  readonly #secret: Uint8Array;

  constructor(secret: Uint8Array) {
    this.#secret = secret;
  }

  /** The header of a request, and what that of its answer has to be. */
  ask(question: PeerQuestion): { header: string; answer: string } {
    const nonce = randomBytes(16).toString('hex');
    return { header: `${nonce}.${this.#sealOf(question, nonce)}`, answer: this.#answer(question, nonce) };
  }

  /** The header of the answer to a request of a peer; undefined for a request of anybody else. */
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

/** In a time that tells nothing of where they differ. */
export function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
