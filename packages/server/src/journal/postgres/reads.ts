/** Reads of runs, each one statement. */
import type { CheckpointRecord } from '../checkpoints.ts';
import type { Cursors } from '../cursors.ts';
import type { RunFilter, RunPage, StoredEvent } from '../journal.ts';
import { type LogRecord, POSTED_NAMES } from '../records.ts';
import {
  type ListedRow,
  type RecordRow,
  type RunRow,
  toCheckpoints,
  toLogRecord,
  toStoredRun,
} from '../rows.ts';
import { selectRuns, takePage } from '../run-page.ts';
import type { StoredRun } from '../run-state.ts';
import type { Patience } from './database.ts';
import { EventReads } from './event-reads.ts';

export type Query = <T extends object>(
  sql: string,
  values: readonly unknown[],
  patience?: Patience,
) => Promise<T[]>;

const IS_CHECKPOINT = "event = 'workspace.checkpointed'";
const IS_POSTED = `event IN (${POSTED_NAMES.map((name) => `'${name}'`).join(', ')})`;

export class PostgresReader {
  readonly #query: Query;
  readonly #events: EventReads;
  readonly #cursors: Cursors;

  constructor(query: Query, cursors: Cursors) {
    this.#query = query;
    this.#events = new EventReads(query);
    this.#cursors = cursors;
  }

  async getRun(runId: string): Promise<StoredRun | undefined> {
    const [row] = await this.#query<RunRow>('SELECT * FROM runs WHERE run_id = $1', [runId]);
    return row && toStoredRun(row);
  }

  /** A run beyond the size of the page comes without its state: it shows that there is more, and costs nothing. */
  async listRuns(filter: RunFilter): Promise<RunPage> {
    const { owner, after, maxChars = Number.MAX_SAFE_INTEGER } = filter;
    const values: unknown[] = [];
    const given = (value: unknown): string => `$${values.push(value)}`;
    const before = after === undefined ? undefined : this.#cursors.open(owner, after);
    const page = selectRuns(filter, before, {
      given,
      unindexed: (column) => column,
      // Postgres reads a whole part before it merges the parts, so each part gets the limit.
      part: (select, rows) => `(${select} ORDER BY n DESC LIMIT ${given(rows)})`,
    });
    const rows = await this.#query<ListedRow>(
      `SELECT n, run_id, owner, session_id, created_at, updated_at, next_seq, job_id, kept, expires_at,
              evicted_for, evicted,
              CASE WHEN coalesce(sum(length(state)) OVER before, 0) < ${given(maxChars)} THEN state END AS state
         FROM (${page}) page
       WINDOW before AS (ORDER BY n DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
        ORDER BY n DESC`,
      values,
    );
    const { runs, end } = takePage(rows, filter);
    return end === undefined ? { runs } : { runs, next: this.#cursors.seal(owner, end) };
  }

  readEvents(
    runId: string,
    afterSeq: number,
    limit: number,
    maxChars = Number.MAX_SAFE_INTEGER,
  ): Promise<StoredEvent[]> {
    return this.#events.read(runId, afterSeq, limit, maxChars);
  }

  readLog(runId: string, afterPos: number, maxChars?: number): Promise<LogRecord[]> {
    return this.#records("event <> 'message.delta'", runId, afterPos, maxChars);
  }

  readPosted(runId: string, afterPos: number): Promise<LogRecord[]> {
    return this.#records(IS_POSTED, runId, afterPos);
  }

  async readCheckpoints(runId: string): Promise<CheckpointRecord[]> {
    return toCheckpoints(await this.#records(IS_CHECKPOINT, runId, -1));
  }

  async positionOf(runId: string, seq: number): Promise<number | undefined> {
    const [row] = await this.#query<{ pos: number }>(
      `SELECT pos FROM records
        WHERE run = (SELECT n FROM runs WHERE run_id = $1) AND pos >= $2 AND seq = $2 ORDER BY pos LIMIT 1`,
      [runId, seq],
    );
    return row?.pos;
  }

  async lastSeqAt(runId: string, pos: number): Promise<number> {
    const [row] = await this.#query<{ seq: number }>(
      `SELECT seq FROM records
        WHERE run = (SELECT n FROM runs WHERE run_id = $1) AND pos <= $2 AND seq IS NOT NULL
        ORDER BY pos DESC LIMIT 1`,
      [runId, pos],
    );
    return row?.seq ?? -1;
  }

  async firstShownAfter(runId: string, afterPos: number): Promise<number | undefined> {
    const [row] = await this.#query<{ seq: number }>(
      `SELECT seq FROM records
        WHERE run = (SELECT n FROM runs WHERE run_id = $1) AND pos > $2
          AND event IN ('message.delta', 'reasoning.available')
        ORDER BY pos LIMIT 1`,
      [runId, afterPos],
    );
    return row?.seq;
  }

  async previousTurn({ owner, sessionId, ordinal }: StoredRun): Promise<string | undefined> {
    const [row] = await this.#query<{ run_id: string }>(
      `SELECT run_id FROM runs
        WHERE owner = $1 AND session_id = $2 AND n < $3 AND status = 'completed' AND NOT session_gone ORDER BY n DESC LIMIT 1`,
      [owner, sessionId, ordinal],
    );
    return row?.run_id;
  }

  async #records(
    condition: string,
    runId: string,
    afterPos: number,
    maxChars = Number.MAX_SAFE_INTEGER,
  ): Promise<LogRecord[]> {
    const rows = await this.#query<RecordRow>(
      `SELECT pos, seq, event, at, public, private FROM (
         SELECT *, sum(coalesce(length(public), 0) + coalesce(length(private), 0))
                     OVER (ORDER BY pos ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
           FROM records WHERE run = (SELECT n FROM runs WHERE run_id = $1) AND pos > $2 AND ${condition}) sized
        WHERE coalesce(before, 0) < $3 ORDER BY pos`,
      [runId, afterPos, maxChars],
    );
    return rows.map(toLogRecord);
  }
}
