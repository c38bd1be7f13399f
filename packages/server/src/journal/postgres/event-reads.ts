/**
 * Batches reads of events. When a notification names twenty watched runs, their feeds all read in the same turn, and
 * the database is asked once. When thousands of streams are woken together, connections stay free for urgent work such
 * as the renewal of leases: reads that have to wait for a connection go out together.
 */
import { TalariaError } from '@talaria/protocol';
import type { StoredEvent } from '../journal.ts';
import { WATCHING } from './database.ts';
import type { Query } from './reads.ts';

/** Limits how much comes in one answer; each read may be a full page. */
const TOGETHER_MAX = 32;
const CONNECTIONS = 4;

interface Read {
  runId: string;
  afterSeq: number;
  limit: number;
  maxChars: number;
  resolve(events: StoredEvent[]): void;
  reject(error: unknown): void;
}

interface EventRow extends StoredEvent {
  /** The index of the read that it answers. */
  place: number;
}

export class EventReads {
  readonly #query: Query;
  readonly #waiting: Read[] = [];
  #free = CONNECTIONS;

  constructor(query: Query) {
    this.#query = query;
  }

  read(runId: string, afterSeq: number, limit: number, maxChars: number): Promise<StoredEvent[]> {
    return new Promise((resolve, reject) => {
      // After everything else of this turn: timers that fire together run as separate callbacks.
      if (this.#waiting.length === 0) setImmediate(() => this.#readNext());
      this.#waiting.push({ runId, afterSeq, limit, maxChars, resolve, reject });
    });
  }

  #readNext(): void {
    while (this.#free > 0 && this.#waiting.length > 0) {
      this.#free -= 1;
      void this.#answer(this.#waiting.splice(0, TOGETHER_MAX)).then(() => {
        this.#free += 1;
        this.#readNext();
      });
    }
  }

  async #answer(reads: readonly Read[]): Promise<void> {
    try {
      const found = Map.groupBy(await this.#rows(reads), ({ place }) => place);
      for (const [i, { runId, resolve, reject }] of reads.entries()) {
        const rows = found.get(i + 1);
        if (rows === undefined) {
          reject(new TalariaError('run_not_found', { message: `Run not found: ${runId}` }));
          continue;
        }
        // A run without such events is one row of nulls.
        const events = rows.filter((row) => (row.seq as number | null) !== null);
        resolve(events.map(({ seq, event, at, payload }) => ({ seq, event, at, payload })));
      }
    } catch (error) {
      for (const { reject } of reads) reject(error);
    }
  }

  /** A row comes completely or not at all, so the sizes are added up first: the last row reaches `maxChars`. */
  #rows(reads: readonly Read[]): Promise<EventRow[]> {
    return this.#query<EventRow>(
      `SELECT q.place, e.seq, e.event, e.at, e.payload
         FROM unnest ($1::text[], $2::integer[], $3::integer[], $4::bigint[]) WITH ORDINALITY
                AS q (run_id, after_seq, max_rows, max_chars, place)
         JOIN runs r ON r.run_id = q.run_id
         LEFT JOIN LATERAL (
           SELECT seq, event, at, public AS payload,
                  sum(length(public)) OVER (ORDER BY pos ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
             FROM (SELECT * FROM records
                    WHERE run = r.n AND pos > q.after_seq AND seq > q.after_seq ORDER BY pos LIMIT q.max_rows) page
         ) e ON coalesce(e.before, 0) < q.max_chars
        ORDER BY q.place, e.seq`,
      [
        reads.map(({ runId }) => runId),
        reads.map(({ afterSeq }) => afterSeq),
        reads.map(({ limit }) => limit),
        reads.map(({ maxChars }) => maxChars),
      ],
      WATCHING,
    );
  }
}
