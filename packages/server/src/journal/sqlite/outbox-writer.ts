/**
 * Writes of the outbox (`../outbox.ts`), inside a transaction that the caller holds.
 *
 * A lease is a message that is due later: `due_at` is when it may be claimed, after a delay or after the lease of its
 * holder. So an expired lease needs no action.
 */
import { isTerminalEvent } from '@talaria/protocol';
import {
  type ClaimedMessage,
  DELAY_MAX_MS,
  FAILED_KEPT_MS,
  isAnnounced,
  type MessageClaim,
  receiverOf,
  type Settlement,
  toMessage,
  type Webhook,
  type WebhookSecret,
} from '../outbox.ts';
import type { LogRecord } from '../records.ts';
import { findTurns } from './outbox-turns.ts';
import type { Statements } from './statements.ts';

interface MessageRow {
  n: number;
  id: string;
  run_id: string;
  body: string;
  created_at: number;
  epoch: number;
  attempts: number;
  leased: number;
}

interface WebhookRow {
  url: string;
  secret_kind: WebhookSecret['kind'];
  secret: string | null;
}

export class OutboxWriter {
  readonly #statement: Statements;

  /** No other process has the database open, so every lease in it belongs to a dead process. */
  constructor(statement: Statements) {
    this.#statement = statement;
    this.#run('UPDATE webhook_messages SET leased = 0, due_at = created_at WHERE leased = 1');
  }

  /** Part of creating a run. */
  subscribe(runId: string, webhook: Webhook | undefined): void {
    if (webhook === undefined) return;
    const { url, secret } = webhook;
    this.#run(
      'INSERT INTO webhooks (run_id, url, secret_kind, secret) VALUES (?, ?, ?, ?)',
      runId,
      url,
      secret.kind,
      secret.kind === 'own' ? secret.value : null,
    );
  }

  /** Part of appending records to a run. Returns whether there is a message about one of them. */
  announce(run: { run_id: string; session_id: string }, records: readonly LogRecord[], now: number): boolean {
    const announced = records.filter(({ event }) => isAnnounced(event));
    const webhook = announced.length === 0 ? undefined : this.#webhookOf(run.run_id);
    if (webhook === undefined) return false;
    for (const record of announced) {
      const { id, body } = toMessage({ runId: run.run_id, sessionId: run.session_id }, record);
      this.#run(
        `INSERT INTO webhook_messages (id, run_id, receiver, body, created_at, due_at) VALUES (?, ?, ?, ?, ?, ?)`,
        id,
        run.run_id,
        receiverOf(webhook.url),
        body,
        now,
        now,
      );
      if (isTerminalEvent(record.event))
        this.#run('UPDATE webhooks SET ended = 1 WHERE run_id = ?', run.run_id);
    }
    return true;
  }

  /** Part of evicting a run. */
  evict(runId: string): void {
    this.#run('UPDATE webhooks SET evicted = 1 WHERE run_id = ?', runId);
    this.#forget(runId);
  }

  claim(claim: MessageClaim, now: number): ClaimedMessage[] {
    const { leaseMs, limit, perReceiver } = claim;
    this.#run('DELETE FROM webhook_messages WHERE failed_at <= ?', now - FAILED_KEPT_MS);
    this.#run(
      'UPDATE webhook_messages SET leased = 0, due_at = ?, created_at = ? WHERE failed_at IS NULL AND due_at > ?',
      now,
      now,
      now + DELAY_MAX_MS,
    );
    const claimed: ClaimedMessage[] = [];
    const turns = findTurns(this.#statement, claim, now);
    while (claimed.length < limit) {
      const turn = turns.sort((a, b) => a.leased - b.leased || a.dueAt - b.dueAt)[0];
      if (turn === undefined) break;
      const row = this.#nextDue(turn.receiver, now);
      if (row !== undefined) claimed.push(this.#lease(row, now + leaseMs, now));
      turn.leased += 1;
      if (row === undefined || turn.leased >= perReceiver) turns.splice(turns.indexOf(turn), 1);
    }
    return claimed;
  }

  settle({ id, epoch }: Pick<ClaimedMessage, 'id' | 'epoch'>, settlement: Settlement, now: number): boolean {
    const row = this.#get<MessageRow>('SELECT * FROM webhook_messages WHERE id = ?', id);
    if (row === undefined || row.leased === 0 || row.epoch !== epoch) return false;
    if ('error' in settlement) {
      this.#run('UPDATE webhooks SET last_error = ? WHERE run_id = ?', settlement.error, row.run_id);
    }
    switch (settlement.kind) {
      case 'delivered':
        this.#run('DELETE FROM webhook_messages WHERE n = ?', row.n);
        this.#run('UPDATE webhooks SET delivered = delivered + 1 WHERE run_id = ?', row.run_id);
        break;
      case 'failed':
        this.#run("UPDATE webhook_messages SET leased = 0, failed_at = ?, body = '' WHERE n = ?", now, row.n);
        break;
      case 'postponed':
        this.#run(
          'UPDATE webhook_messages SET leased = 0, due_at = ?, attempts = attempts + 1 WHERE n = ?',
          now + settlement.delayMs,
          row.n,
        );
        break;
      case 'returned':
        this.#run('UPDATE webhook_messages SET leased = 0, due_at = ? WHERE n = ?', now, row.n);
    }
    this.#forget(row.run_id);
    return true;
  }

  #nextDue(receiver: string, now: number): MessageRow | undefined {
    return this.#get<MessageRow>(
      `SELECT * FROM webhook_messages m
        WHERE receiver = ? AND failed_at IS NULL AND due_at <= ?
          AND NOT EXISTS (SELECT 1 FROM webhook_messages e
                           WHERE e.run_id = m.run_id AND e.n < m.n AND e.leased = 1 AND e.due_at > ?)
        ORDER BY due_at, n LIMIT 1`,
      receiver,
      now,
      now,
    );
  }

  #lease(row: MessageRow, until: number, now: number): ClaimedMessage {
    const epoch = row.epoch + 1;
    this.#run(
      'UPDATE webhook_messages SET leased = 1, due_at = ?, epoch = ? WHERE n = ?',
      until,
      epoch,
      row.n,
    );
    const { url, secret_kind: kind, secret } = this.#webhookOf(row.run_id)!;
    return {
      id: row.id,
      epoch,
      runId: row.run_id,
      url,
      secret: kind === 'own' ? { kind, value: secret ?? '' } : { kind },
      body: row.body,
      attempts: row.attempts,
      ageMs: Math.max(0, now - row.created_at),
    };
  }

  /** Deletes what no message needs any more: the secret after the last one, the rest when the run is gone, too. */
  #forget(runId: string): void {
    const settled = `run_id = ? AND NOT EXISTS (
      SELECT 1 FROM webhook_messages m WHERE m.run_id = webhooks.run_id AND m.failed_at IS NULL)`;
    this.#run(`UPDATE webhooks SET secret = NULL WHERE ended = 1 AND ${settled}`, runId);
    this.#run(`DELETE FROM webhooks WHERE evicted = 1 AND ${settled}`, runId);
  }

  #webhookOf(runId: string): WebhookRow | undefined {
    return this.#get<WebhookRow>('SELECT url, secret_kind, secret FROM webhooks WHERE run_id = ?', runId);
  }

  #run(sql: string, ...values: (string | number | null)[]): void {
    this.#statement(sql).run(...values);
  }

  #get<T>(sql: string, ...values: (string | number)[]): T | undefined {
    return this.#statement(sql).get<T>(...values);
  }
}
