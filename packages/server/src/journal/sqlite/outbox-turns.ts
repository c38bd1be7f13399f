/**
 * Which receivers have their turn: those with something due and room for it.
 *
 * They are looked for among the messages that are due for the longest. Where those are of enough receivers that are sent
 * nothing at present, nobody else can come before these; where they are all there is, there is nobody else. Only
 * otherwise every receiver is looked at. So a claim costs the same however many receivers wait for another attempt, and
 * a receiver that is slow and gets many messages is in nobody's way.
 */
import type { MessageClaim } from '../outbox.ts';
import type { Statements } from './statements.ts';

export interface Turn {
  receiver: string;
  /** Messages under a lease. */
  leased: number;
  /** Of the message that is due for the longest. */
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
