/**
 * The part of the store that holds what is still to be announced to webhooks (docs/webhooks.md).
 *
 * Invariants
 * - A message is added in the transaction of the record it announces: there is one for each such record of a run with
 *   a webhook, and none for a record that is not there.
 * - It carries all that has to be sent. The eviction of its run does not touch it.
 * - `claim` gives a message to one worker until its lease ends; `settle` counts only under the claim it belongs to. So
 *   a message is sent by one worker at a time, and, as a worker may die between sending and settling, at least once.
 * - A message that was delivered is gone. One that was given up stays for `FAILED_KEPT_MS` to be counted, without its
 *   body.
 * - The secret of a run's own webhook is forgotten when the run has ended and no message of it is pending. A secret of
 *   the configuration never comes here.
 * - Time (leases, delays, ages) is the store's clock, not the caller's. A message that is due later than `DELAY_MAX_MS` is
 *   due at once, and as new as if it had been added then.
 */
import { encodeEventJson, isTerminalEvent, type RunWebhook, type WebhookEventName } from '@talaria/protocol';
import type { LogRecord } from './records.ts';

export const FAILED_KEPT_MS = 7 * 24 * 3600 * 1000;

/** No lease and no delay is longer. What is due later than that was put off under a clock that has been set back since. */
export const DELAY_MAX_MS = 6 * 3600 * 1000;

export type WebhookSecret =
  | { kind: 'none' }
  /** The one of the configuration at the time of sending. */
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
  /** Attempts in vain so far. */
  attempts: number;
  ageMs: number;
}

export interface MessageClaim {
  leaseMs: number;
  limit: number;
  /** Of one receiver (an origin) at most so many messages are under a lease, whoever holds them. */
  perReceiver: number;
}

export type Settlement =
  | { kind: 'delivered' }
  /** Try again after the delay. */
  | { kind: 'postponed'; delayMs: number; error: string }
  | { kind: 'failed'; error: string }
  /** Nothing came of the claim: to be claimed again at once. */
  | { kind: 'returned' };

export interface Due {
  /** Whether a message may be claimed now, as far as its receiver has room. */
  now: boolean;
  /** When the next one will be that is not due yet. */
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
   * Takes messages that are due: of receivers in turn, first of the one with the fewest under a lease, and of each
   * the longest due. Not while an earlier message of the same run is under a lease: a receiver then hears of a run in
   * order, unless an attempt fails.
   */
  claim(claim: MessageClaim): Promise<ClaimedMessage[]>;
  /** Returns whether it counted: not when the lease had ended and somebody else holds the message, or has settled it. */
  settle(message: Pick<ClaimedMessage, 'id' | 'epoch'>, settlement: Settlement): Promise<boolean>;
  due(): Promise<Due>;
  /** Of a run that has a webhook. */
  state(runId: string): Promise<WebhookState | undefined>;
  /** As they last were, while the store cannot be asked. */
  counts(): Promise<OutboxCounts>;
  /** Calls `listener` when a message may have become due. */
  watch(listener: () => void): () => void;
}

export function isAnnounced(event: string): event is WebhookEventName {
  return event === 'approval.request' || isTerminalEvent(event);
}

/** The message about a record (`WebhookMessage` in the protocol). */
export function toMessage(
  { runId, sessionId }: { runId: string; sessionId: string },
  { seq, event, at, public: payload }: LogRecord,
): { id: string; body: string } {
  // No dot in it: dots separate what is signed.
  const id = `evt_${runId.slice('run_'.length)}_${seq}`;
  const data = encodeEventJson(runId, { seq: seq ?? 0, event, at, payload: JSON.stringify(payload) });
  const session = JSON.stringify(sessionId);
  const head = `"id":"${id}","object":"event","type":"${event}","created_at":${at / 1000},"session_id":${session}`;
  return { id, body: `{${head},"data":${data}}` };
}

/** As clients see it (PROTOCOL.md). */
export function toWireWebhook({ url, pending, delivered, failed, lastError }: WebhookState): RunWebhook {
  return { origin: receiverOf(url), pending, delivered, failed, last_error: lastError };
}

/** A receiver is an origin: its servers share their load, whatever the path. */
export function receiverOf(url: string): string {
  return new URL(url).origin;
}
