/**
 * Which receivers have their turn: those with a due message and room for it.
 *
 * The search begins with the messages that have been due the longest. If those belong to enough receivers without
 * messages in progress, no other receiver can come before them; if there are no other messages, there is no other
 * receiver. Only otherwise every receiver is examined. So the cost of a claim does not depend on how many receivers
 * wait for a retry, and a slow receiver with many messages delays nobody.
 */
import type { MessageClaim } from '../outbox.ts';
import type { Statements } from './statements.ts';

export interface Turn {
  receiver: string;
  /** Messages under a lease. */
  leased: number;
  /** The time of the message that has been due the longest. */
  dueAt: number;
}

const LOOKED_AT = 256;

export function findTurns(statement: Statements, claim: MessageClaim, now: number): Turn[] {
  const messages = statement(
    `SELECT receiver, due_at AS dueAt FROM webhook_messages
      WHERE failed_at IS NULL AND due_at <= ? ORDER BY due_at LIMIT ?`,
  ).all<Omit<Turn, 'leased'>>(now, LOOKED_AT);
  const firstOfEach = new Map(messages.toReversed().map(({ receiver, dueAt }) => [receiver, dueAt]));
  const turns = withRoom(statement, firstOfEach, claim, now);
  const idle = turns.filter(({ leased }) => leased === 0);
  if (messages.length < LOOKED_AT || idle.length >= claim.limit) return turns;
  return withRoom(statement, dueOfEach(statement, now), claim, now);
}

function withRoom(
  statement: Statements,
  due: ReadonlyMap<string, number>,
  { perReceiver }: MessageClaim,
  now: number,
): Turn[] {
  const turns: Turn[] = [];
  for (const [receiver, dueAt] of due) {
    const { leased } = statement(
      'SELECT count(*) AS leased FROM webhook_messages WHERE receiver = ? AND leased = 1 AND due_at > ?',
    ).get<{ leased: number }>(receiver, now)!;
    if (leased < perReceiver) turns.push({ receiver, leased, dueAt });
  }
  return turns;
}

/** One jump in the index for each receiver, however many messages wait for it. */
function dueOfEach(statement: Statements, now: number): Map<string, number> {
  const due = new Map<string, number>();
  for (let receiver = receiverAfter(statement, ''); receiver !== undefined; ) {
    const first = statement(
      `SELECT due_at FROM webhook_messages
        WHERE receiver = ? AND failed_at IS NULL AND due_at <= ? ORDER BY due_at LIMIT 1`,
    ).get<{ due_at: number }>(receiver, now);
    if (first !== undefined) due.set(receiver, first.due_at);
    receiver = receiverAfter(statement, receiver);
  }
  return due;
}

function receiverAfter(statement: Statements, receiver: string): string | undefined {
  const next = statement(
    `SELECT receiver FROM webhook_messages
      WHERE failed_at IS NULL AND receiver > ? ORDER BY receiver LIMIT 1`,
  ).get<{ receiver: string }>(receiver);
  return next?.receiver;
}
