/** Reads of the outbox (`../outbox.ts`), on the reader's connection. */
import { DELAY_MAX_MS, type Due, FAILED_KEPT_MS, type OutboxCounts, type WebhookState } from '../outbox.ts';
import type { Statements } from './statements.ts';

interface StateRow extends OutboxCounts {
  url: string;
  delivered: number;
  last_error: string | null;
}

export class OutboxReader {
  readonly #statement: Statements;

  constructor(statement: Statements) {
    this.#statement = statement;
  }

  due(now: number): Due {
    const first = this.#dueAfter(-1);
    const next = this.#dueAfter(now);
    return {
      now: (first !== undefined && first <= now) || this.#dueAfter(now + DELAY_MAX_MS) !== undefined,
      nextInMs: next === undefined ? undefined : next - now,
    };
  }

  /** One statement: the writer may settle a message between two. */
  state(runId: string): WebhookState | undefined {
    const row = this.#get<StateRow>(
      `SELECT url, delivered, last_error, count(webhook_messages.run_id) - count(failed_at) AS pending,
              count(failed_at) AS failed
         FROM webhooks LEFT JOIN webhook_messages USING (run_id)
        WHERE webhooks.run_id = ? GROUP BY webhooks.run_id`,
      runId,
    );
    if (row === undefined) return undefined;
    const { url, pending, delivered, failed, last_error: lastError } = row;
    return { url, pending, delivered, failed, lastError };
  }

  counts(now: number): OutboxCounts {
    return this.#get<OutboxCounts>(
      `SELECT (SELECT count(*) FROM webhook_messages WHERE failed_at IS NULL) AS pending,
              (SELECT count(*) FROM webhook_messages WHERE failed_at > ?) AS failed`,
      now - FAILED_KEPT_MS,
    )!;
  }

  #dueAfter(at: number): number | undefined {
    return this.#get<{ due_at: number }>(
      'SELECT due_at FROM webhook_messages WHERE failed_at IS NULL AND due_at > ? ORDER BY due_at LIMIT 1',
      at,
    )?.due_at;
  }

  #get<T>(sql: string, ...values: (string | number)[]): T | undefined {
    return this.#statement(sql).get<T>(...values);
  }
}
