/**
 * The part of the Postgres driver that keeps webhook messages. Functions that take a transaction are part of the
 * transaction of a run.
 *
 * A lease is a message that is due later: `due_at` is when it may be claimed, after a delay or after the lease of its
 * holder. So an expired lease needs no action. Claims exclude each other: the limit per receiver counts over all
 * servers.
 */
import { isTerminalEvent } from '@talaria/protocol';
import {
  type ClaimedMessage,
  DELAY_MAX_MS,
  type Due,
  FAILED_KEPT_MS,
  isAnnounced,
  type MessageClaim,
  type Outbox,
  type OutboxCounts,
  receiverOf,
  type Settlement,
  toMessage,
  type Webhook,
  type WebhookSecret,
  type WebhookState,
} from '../outbox.ts';
import type { LogRecord } from '../records.ts';
import type { Announcements } from './announcements.ts';
import { ASKED, type Database, NOW, NOW_OR_NEVER, type Transaction } from './database.ts';
import { LastKnown } from './last-known.ts';

/** An arbitrary number that nobody else uses for a lock in this database. */
const CLAIM_LOCK = 7_411_250_015;

/** Part of creating a run. */
export function subscribe(tx: Transaction, runId: string, webhook: Webhook | undefined): void {
  if (webhook === undefined) return;
  const { url, secret } = webhook;
  tx.send('INSERT INTO webhooks (run_id, url, receiver, secret_kind, secret) VALUES ($1, $2, $3, $4, $5)', [
    runId,
    url,
    receiverOf(url),
    secret.kind,
    secret.kind === 'own' ? secret.value : null,
  ]);
}

/** Part of appending a record to a run. */
export function announce(
  tx: Transaction,
  { run_id: runId, session_id: sessionId }: { run_id: string; session_id: string },
  record: LogRecord,
): void {
  if (!isAnnounced(record.event)) return;
  const { id, body } = toMessage({ runId, sessionId }, record);
  tx.send(
    `INSERT INTO webhook_messages (id, run_id, receiver, body, created_at, due_at)
     SELECT $1, run_id, receiver, $3, $4, $4 FROM webhooks WHERE run_id = $2`,
    [id, runId, body, tx.now],
  );
  if (isTerminalEvent(record.event)) tx.send('UPDATE webhooks SET ended = true WHERE run_id = $1', [runId]);
}

/** Part of evicting runs. */
export function webhooksOfEvictedRuns(tx: Transaction, runIds: readonly string[]): void {
  tx.send('UPDATE webhooks SET evicted = true WHERE run_id = ANY ($1::text[])', [runIds]);
  forget(tx, runIds);
}

/** Deletes what no message needs any more: the secret after the last one, the rest when the run is gone, too. */
function forget(tx: Transaction, runIds: readonly string[]): void {
  const settled = `run_id = ANY ($1::text[]) AND NOT EXISTS (
    SELECT 1 FROM webhook_messages m WHERE m.run_id = webhooks.run_id AND m.failed_at IS NULL)`;
  tx.send(`UPDATE webhooks SET secret = NULL WHERE ended AND ${settled}`, [runIds]);
  tx.send(`DELETE FROM webhooks WHERE evicted AND ${settled}`, [runIds]);
}

interface MessageRow {
  n: number;
  id: string;
  run_id: string;
  body: string;
  created_at: number;
  epoch: number;
  attempts: number;
  leased: boolean;
  url: string;
  secret_kind: WebhookSecret['kind'];
  secret: string | null;
}

/** A receiver with room and a due message. */
interface Turn {
  receiver: string;
  leased: number;
  due_at: number;
}

export class PostgresOutbox implements Outbox {
  readonly #database: Database;
  readonly #announcements: Announcements;
  readonly #counts = new LastKnown<OutboxCounts>({ pending: 0, failed: 0 });

  constructor(database: Database, announcements: Announcements) {
    this.#database = database;
    this.#announcements = announcements;
  }

  claim({ leaseMs, limit, perReceiver }: MessageClaim): Promise<ClaimedMessage[]> {
    return this.#database.transaction(ASKED, async (tx) => {
      await tx.rows('SELECT pg_advisory_xact_lock($1)', [CLAIM_LOCK]);
      tx.send('DELETE FROM webhook_messages WHERE failed_at <= $1', [tx.now - FAILED_KEPT_MS]);
      tx.send(
        `UPDATE webhook_messages SET leased = false, due_at = $1, created_at = $1
          WHERE failed_at IS NULL AND due_at > $2`,
        [tx.now, tx.now + DELAY_MAX_MS],
      );
      const turns = await tx.rows<Turn>(
        `WITH due AS (
           SELECT receiver, min(due_at) AS due_at FROM webhook_messages
            WHERE failed_at IS NULL AND due_at <= $1 GROUP BY receiver)
         SELECT receiver, due_at, (SELECT count(*) FROM webhook_messages m
                                    WHERE m.receiver = due.receiver AND leased AND m.due_at > $1) AS leased
           FROM due`,
        [tx.now],
      );
      const open = turns.filter(({ leased }) => leased < perReceiver);
      const claimed: ClaimedMessage[] = [];
      while (claimed.length < limit) {
        const turn = open.sort((a, b) => a.leased - b.leased || a.due_at - b.due_at)[0];
        if (turn === undefined) break;
        const row = await leaseNext(tx, turn.receiver, leaseMs);
        if (row !== undefined) claimed.push(toClaimed(row, tx.now));
        turn.leased += 1;
        if (row === undefined || turn.leased >= perReceiver) open.splice(open.indexOf(turn), 1);
      }
      return claimed;
    });
  }

  async settle(
    { id, epoch }: Pick<ClaimedMessage, 'id' | 'epoch'>,
    settlement: Settlement,
  ): Promise<boolean> {
    const counted = await this.#database.transaction(ASKED, async (tx) => {
      const [row] = await tx.rows<Pick<MessageRow, 'n' | 'run_id'>>(
        'SELECT n, run_id FROM webhook_messages WHERE id = $1 AND leased AND epoch = $2 FOR UPDATE',
        [id, epoch],
      );
      if (row === undefined) return false;
      if ('error' in settlement) {
        tx.send('UPDATE webhooks SET last_error = $2 WHERE run_id = $1', [row.run_id, settlement.error]);
      }
      switch (settlement.kind) {
        case 'delivered':
          tx.send('DELETE FROM webhook_messages WHERE n = $1', [row.n]);
          tx.send('UPDATE webhooks SET delivered = delivered + 1 WHERE run_id = $1', [row.run_id]);
          break;
        case 'failed':
          tx.send("UPDATE webhook_messages SET leased = false, failed_at = $2, body = '' WHERE n = $1", [
            row.n,
            tx.now,
          ]);
          break;
        case 'postponed':
          tx.send(
            'UPDATE webhook_messages SET leased = false, due_at = $2, attempts = attempts + 1 WHERE n = $1',
            [row.n, tx.now + settlement.delayMs],
          );
          break;
        case 'returned':
          tx.send('UPDATE webhook_messages SET leased = false, due_at = $2 WHERE n = $1', [row.n, tx.now]);
      }
      forget(tx, [row.run_id]);
      return true;
    });
    if (counted && settlement.kind === 'returned') this.#announcements.outbox();
    return counted;
  }

  async due(): Promise<Due> {
    const [row] = await this.#database.rowsByClock<{ now: boolean; next_in: number | null }>(
      ASKED,
      `SELECT coalesce(first <= clock.now OR last > clock.now + $2, false) AS now,
              (SELECT min(due_at) FROM webhook_messages WHERE failed_at IS NULL AND due_at > clock.now) - clock.now AS next_in
         FROM (SELECT ${NOW} AS now) clock,
              (SELECT min(due_at) AS first, max(due_at) AS last FROM webhook_messages WHERE failed_at IS NULL) pending`,
      [DELAY_MAX_MS],
    );
    const { now, next_in: nextIn } = row!;
    return { now, nextInMs: nextIn ?? undefined };
  }

  async state(runId: string): Promise<WebhookState | undefined> {
    const [row] = await this.#database.rows<
      OutboxCounts & { url: string; delivered: number; last_error: string | null }
    >(
      ASKED,
      `SELECT w.url, w.delivered, w.last_error,
              (SELECT count(*) FROM webhook_messages m WHERE m.run_id = w.run_id AND m.failed_at IS NULL) AS pending,
              (SELECT count(*) FROM webhook_messages m WHERE m.run_id = w.run_id AND m.failed_at IS NOT NULL) AS failed
         FROM webhooks w WHERE w.run_id = $1`,
      [runId],
    );
    if (row === undefined) return undefined;
    const { url, pending, delivered, failed, last_error: lastError } = row;
    return { url, pending, delivered, failed, lastError };
  }

  counts(): Promise<OutboxCounts> {
    return this.#counts.read(async () => {
      const [row] = await this.#database.rowsByClock<OutboxCounts>(
        NOW_OR_NEVER,
        `SELECT (SELECT count(*) FROM webhook_messages WHERE failed_at IS NULL) AS pending,
                (SELECT count(*) FROM webhook_messages WHERE failed_at > ${NOW} - $2) AS failed`,
        [FAILED_KEPT_MS],
      );
      return row!;
    });
  }

  watch(listener: () => void): () => void {
    return this.#announcements.watchOutbox(listener);
  }
}

async function leaseNext(
  tx: Transaction,
  receiver: string,
  leaseMs: number,
): Promise<MessageRow | undefined> {
  const [row] = await tx.rows<MessageRow>(
    // Materialized: inside a join, the planner may run the choice once for each row, and each time it chooses another.
    `WITH next AS MATERIALIZED (
       SELECT n FROM webhook_messages m
        WHERE receiver = $1 AND failed_at IS NULL AND due_at <= $2
          AND NOT EXISTS (SELECT 1 FROM webhook_messages e
                           WHERE e.run_id = m.run_id AND e.n < m.n AND e.leased AND e.due_at > $2)
        ORDER BY due_at, n LIMIT 1 FOR UPDATE SKIP LOCKED)
     UPDATE webhook_messages l SET leased = true, due_at = $3, epoch = l.epoch + 1
       FROM next, webhooks w
      WHERE l.n = next.n AND w.run_id = l.run_id
     RETURNING l.*, w.url, w.secret_kind, w.secret`,
    [receiver, tx.now, tx.now + leaseMs],
  );
  return row;
}

function toClaimed(row: MessageRow, now: number): ClaimedMessage {
  const { secret_kind: kind, secret } = row;
  return {
    id: row.id,
    epoch: row.epoch,
    runId: row.run_id,
    url: row.url,
    secret: kind === 'own' ? { kind, value: secret ?? '' } : { kind },
    body: row.body,
    attempts: row.attempts,
    ageMs: Math.max(0, now - row.created_at),
  };
}
