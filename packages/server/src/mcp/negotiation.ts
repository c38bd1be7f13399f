/**
 * Which revision of the protocol an attempt to connect begins with.
 *
 * auto: with a request of the revision of 2026-07-28, which has no handshake; a server that does not understand it gets
 * the handshake. legacy: with the handshake of the earlier ones.
 *
 * Over HTTP the newer one comes first: its headers say from the first request on what is asked in which version, and
 * servers and gateways may refuse requests without them. A server that is a child process may end because of a message
 * that is not the handshake, so there the older one comes first. After a failure the next attempt uses the other one.
 */
import type { McpServerConfig } from '../config/index.ts';

export type Negotiation = 'auto' | 'legacy';

export function firstNegotiation({ transport }: McpServerConfig): Negotiation {
  return transport.kind === 'http' ? 'auto' : 'legacy';
}

export function otherNegotiation(negotiation: Negotiation): Negotiation {
  return negotiation === 'legacy' ? 'auto' : 'legacy';
}
