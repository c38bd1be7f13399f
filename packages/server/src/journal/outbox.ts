/**
 * The part of the store that holds messages for webhooks until they are delivered (docs/webhooks.md).
 *
 * Invariants
 * - A message is added in the transaction of the record it announces: there is one for each such record of a run with
 *   a webhook, and none without a record.
 * - It contains everything that is sent. The eviction of its run does not touch it.
 * - `claim` gives a message to one worker until its lease ends; `settle` counts only under the claim it belongs to. So
 *   one worker at a time sends a message. A worker may die between sending and settling, so it is sent at least once.
 * - A delivered message is deleted. A message that was given up stays for `FAILED_KEPT_MS`, without its body, to be
 *   counted.
 * - The secret of a run's own webhook is deleted when the run has ended and none of its messages is pending. A secret
 *   from the configuration is never stored here.
 * - Time (leases, delays, ages) is the store's clock, not the caller's. A message that is due later than `DELAY_MAX_MS` is
 *   due at once, with the age of a new one.
 */
import { encodeEventJson, type RunWebhook, type WebhookEventName } from '@talaria/protocol';
import type { LogRecord } from './records.ts';

export const FAILED_KEPT_MS = 7 * 24 * 3600 * 1000;

/**
 * No lease and no delay is longer. A message that is due later was postponed by a clock that has been set back since.
 */
export const DELAY_MAX_MS = 6 * 3600 * 1000;

export type WebhookSecret =
  | { kind: 'none' }
  /** The configured secret at the time of sending. */
  | { kind: 'configured' }
  | { kind: 'own'; value: string };

/** Where the messages of a run go. */
export interface Webhook {
  url: string;
  secret: WebhookSecret;
}

/** A message under a lease. */
export interface ClaimedMessage extends Webhook {
  /** The same in every attempt. */
  id: string;
  epoch: number;
  runId: string;
  /** JSON text. */
  body: string;
  /** Failed attempts so far. */
  attempts: number;
  ageMs: number;
}

export interface MessageClaim {
  leaseMs: number;
  limit: number;
  /** How many messages of one receiver (an origin) may be under a lease, whoever holds them. */
  perReceiver: number;
}

export type Settlement =
  | { kind: 'delivered' }
  /** Retry after the delay. */
  | { kind: 'postponed'; delayMs: number; error: string }
  | { kind: 'failed'; error: string }
  /** The claim had no effect: the message is claimable again at once. */
  | { kind: 'returned' };

export interface Due {
  /** Whether a message may be claimed now, as far as its receiver has room. */
  now: boolean;
  /** When the next message becomes due. */
  nextInMs: number | undefined;
}

export interface WebhookState {
  url: string;
  pending: number;
  delivered: number;
  failed: number;
  lastError: string | null;
}

export interface OutboxCounts {
  pending: number;
  failed: number;
}

export interface Outbox {
  /**
   * Claims messages that are due: receivers in turn, first the one with the fewest under a lease, and of each the
   * longest due. Skips a message while an earlier one of the same run is under a lease: a receiver then gets a run's
   * messages in order, unless an attempt fails.
   */
  claim(claim: MessageClaim): Promise<ClaimedMessage[]>;
  /**
   * Returns whether it counted: it does not when the lease had ended and somebody else holds the message or has settled
   * it.
   */
  settle(message: Pick<ClaimedMessage, 'id' | 'epoch'>, settlement: Settlement): Promise<boolean>;
  due(): Promise<Due>;
  /** Undefined for a run without a webhook. */
  state(runId: string): Promise<WebhookState | undefined>;
  /** The last known values while the store is unavailable. */
  counts(): Promise<OutboxCounts>;
  /** Calls `listener` when a message may have become due. */
  watch(listener: () => void): () => void;
}

const ANNOUNCED: Readonly<Record<WebhookEventName, true>> = {
  'run.completed': true,
  'run.failed': true,
  'run.cancelled': true,
  'approval.request': true,
};

export function isAnnounced(event: string): event is WebhookEventName {
  return Object.hasOwn(ANNOUNCED, event);
}

/** The message about a record (`WebhookMessage` in the protocol). */
export function toMessage(
  { runId, sessionId }: { runId: string; sessionId: string },
  { seq, event, at, public: payload }: LogRecord,
): { id: string; body: string } {
  // Without dots: dots separate the parts of the signed text.
  const id = `evt_${runId.slice('run_'.length)}_${seq}`;
  const data = encodeEventJson(runId, { seq: seq ?? 0, event, at, payload: JSON.stringify(payload) });
  const session = JSON.stringify(sessionId);
  const head = `"id":"${id}","object":"event","type":"${event}","created_at":${at / 1000},"session_id":${session}`;
  return { id, body: `{${head},"data":${data}}` };
}

/** In the form that clients see (PROTOCOL.md). */
export function toWireWebhook({ url, pending, delivered, failed, lastError }: WebhookState): RunWebhook {
  return { origin: receiverOf(url), pending, delivered, failed, last_error: lastError };
}

/** A receiver is an origin: its URLs share one server's load, whatever the path. */
export function receiverOf(url: string): string {
  return new URL(url).origin;
}
