/**
 * Reads from the database on a connection of its own, in the server's thread: with a write-ahead log readers
 * never wait for the writer, and an indexed read costs less than a message to another thread.
 */
import { DatabaseSync } from 'node:sqlite';
import { type EventName, TalariaError } from '@talaria/protocol';
import { FEED_CURSOR } from '../changes.ts';
import type { CheckpointRecord } from '../checkpoints.ts';
import { Cursors } from '../cursors.ts';
import type { KnownKey, QueuePosition, RunFilter, RunPage, StoredEvent } from '../journal.ts';
import { type PositionRow, selectPosition, toPosition } from '../queue-position.ts';
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
import { ApprovalsReader } from './approvals-reader.ts';
import { ChangesReader } from './changes-reader.ts';
import { IdempotencyKeys } from './idempotency-keys.ts';
import { JobsReader } from './jobs-reader.ts';
import { OutboxReader } from './outbox-reader.ts';
import { ResponsesReader } from './responses-reader.ts';
import { SessionsReader } from './sessions-reader.ts';
import { ContentsReader } from './sqlite-contents.ts';
import { ConversationsReader } from './sqlite-conversations.ts';
import { FilesReader } from './sqlite-files.ts';
import { HeadsReader } from './sqlite-heads.ts';
import { SmallBlobsReader } from './sqlite-small-blobs.ts';
import { LIMIT, type Statements, statementsOf } from './statements.ts';

/** How many events are read first, and how many times as many in each further part. */
const FIRST_PART = 32;
const PART_GROWTH = 8;
const IS_CHECKPOINT = "event = 'workspace.checkpointed'";
const IS_POSTED = `event IN (${POSTED_NAMES.map((name) => `'${name}'`).join(', ')})`;

const MOST_COMMON = 'message.delta' satisfies EventName;
/** `event` is null for the event that most of a log is: making a string of its name takes a third of the time of a row. */
type EventRow = [seq: number, event: EventName | null, at: number, payload: string];

export class SqliteReader {
  readonly #db: DatabaseSync;
  readonly #statement: Statements;
  readonly #cursors: Cursors;
  readonly #keys: IdempotencyKeys;
  readonly sessions: SessionsReader;
  readonly outbox: OutboxReader;
  readonly conversations: ConversationsReader;
  readonly responses: ResponsesReader;
  readonly jobs: JobsReader;
  readonly approvals: ApprovalsReader;
  readonly changes: ChangesReader;
  readonly contents: ContentsReader;
  readonly files: FilesReader;
  readonly heads: HeadsReader;
  readonly smallBlobs: SmallBlobsReader;

  constructor(path: string) {
    this.#db = new DatabaseSync(path, { readOnly: true });
    this.#statement = statementsOf(this.#db);
    const [key] = this.#all<{ value: Uint8Array }>("SELECT value FROM keys WHERE name = 'cursors'");
    this.#cursors = new Cursors(key!.value);
    this.#keys = new IdempotencyKeys(this.#statement);
    this.jobs = new JobsReader(this.#statement);
    this.approvals = new ApprovalsReader(this.#statement, {
      decisions: new Cursors(key!.value, 'decisions'),
      grants: new Cursors(key!.value, 'grants'),
    });
    this.changes = new ChangesReader(this.#statement, new Cursors(key!.value, 'changes', FEED_CURSOR));
    this.sessions = new SessionsReader(this.#statement, new Cursors(key!.value, 'sessions'));
    this.contents = new ContentsReader(this.#statement);
    this.files = new FilesReader(this.#statement);
    this.smallBlobs = new SmallBlobsReader(this.#statement);
    this.heads = new HeadsReader(this.#statement);
    this.outbox = new OutboxReader(this.#statement);
    this.conversations = new ConversationsReader(this.#statement);
    this.responses = new ResponsesReader(this.#statement);
  }

  close(): void {
    this.#db.close();
  }

  findKey(owner: string, key: string, now: number): KnownKey | undefined {
    return this.#keys.find(owner, key, now);
  }

  getRun(runId: string): StoredRun | undefined {
    const row = this.#all<RunRow>('SELECT * FROM runs WHERE run_id = ?', runId)[0];
    return row && toStoredRun(row);
  }

  queuePosition({ ordinal }: StoredRun, now: number): QueuePosition | undefined {
    const sql = selectPosition({ n: '?1', now: '?2', indexedBy: (index) => `INDEXED BY ${index}` });
    const [row] = this.#all<PositionRow>(sql, ordinal, now);
    return row && toPosition(row, false);
  }

  listRuns(filter: RunFilter): RunPage {
    const { owner, after } = filter;
    const values: (string | number)[] = [];
    const sql = selectRuns(filter, after === undefined ? undefined : this.#cursors.open(owner, after), {
      given: (value) => {
        values.push(value);
        return '?';
      },
      unindexed: (column) => `+${column}`,
      // SQLite merges the parts while it reads them, so the parts need no limit.
      part: (select) => select,
    });
    // Read one by one: their states may be large.
    const { runs, end } = takePage(this.#statement(sql).iterate<ListedRow>(...values), filter);
    return end === undefined ? { runs } : { runs, next: this.#cursors.seal(owner, end) };
  }

  /**
   * `pos` is never smaller than `seq`, so `pos > afterSeq` narrows the scan by the primary key to the wanted
   * events and the few private records before them: no second index on the largest table.
   */
  readEvents(
    runId: string,
    afterSeq: number,
    limit: number,
    maxChars = Number.POSITIVE_INFINITY,
  ): StoredEvent[] {
    // As arrays, because that takes half the time of objects whose fields SQLite names.
    const statement = this.#statement(
      `SELECT seq, nullif(event, '${MOST_COMMON}'), at, public FROM records
        WHERE run = (SELECT n FROM runs WHERE run_id = ?) AND pos > ? AND seq > ?
        ORDER BY pos ${LIMIT}`,
    ).asArrays();
    const events: StoredEvent[] = [];
    let chars = 0;
    // Many rows at a time take a third of the time of one by one; growing parts, because events may be large.
    for (let part = FIRST_PART; events.length < limit && chars < maxChars; part *= PART_GROWTH) {
      const after = events.at(-1)?.seq ?? afterSeq;
      const wanted = Math.min(part, limit - events.length);
      const rows = statement.all<EventRow>(runId, after, after, wanted);
      for (const [seq, event, at, payload] of rows) {
        events.push({ seq, event: event ?? MOST_COMMON, at, payload });
        chars += payload.length;
        if (chars >= maxChars) break;
      }
      if (rows.length < wanted) break;
    }
    if (events.length === 0 && this.#all('SELECT 1 FROM runs WHERE run_id = ?', runId).length === 0) {
      throw new TalariaError('run_not_found', { message: `Run not found: ${runId}` });
    }
    return events;
  }

  readLog(runId: string, afterPos: number, maxChars?: number): LogRecord[] {
    return this.#records("event <> 'message.delta'", runId, afterPos, maxChars);
  }

  readPosted(runId: string, afterPos: number): LogRecord[] {
    return this.#records(IS_POSTED, runId, afterPos);
  }

  readCheckpoints(runId: string): CheckpointRecord[] {
    return toCheckpoints(this.#records(IS_CHECKPOINT, runId, -1));
  }

  positionOf(runId: string, seq: number): number | undefined {
    return this.#all<{ pos: number }>(
      'SELECT pos FROM records WHERE run = (SELECT n FROM runs WHERE run_id = ?1) AND pos >= ?2 AND seq = ?2 ORDER BY pos LIMIT 1',
      runId,
      seq,
    )[0]?.pos;
  }

  lastSeqAt(runId: string, pos: number): number {
    const row = this.#all<{ seq: number }>(
      `SELECT seq FROM records
        WHERE run = (SELECT n FROM runs WHERE run_id = ?) AND pos <= ? AND seq IS NOT NULL
        ORDER BY pos DESC LIMIT 1`,
      runId,
      pos,
    )[0];
    return row?.seq ?? -1;
  }

  firstShownAfter(runId: string, afterPos: number): number | undefined {
    const row = this.#all<{ seq: number }>(
      `SELECT seq FROM records
        WHERE run = (SELECT n FROM runs WHERE run_id = ?) AND pos > ?
          AND event IN ('message.delta', 'reasoning.available')
        ORDER BY pos LIMIT 1`,
      runId,
      afterPos,
    )[0];
    return row?.seq;
  }

  /** By the session's index (hence the +): by the status's index it would scan all turns of the session's owner. */
  previousTurn(run: StoredRun): string | undefined {
    const row = this.#all<{ run_id: string }>(
      `SELECT run_id FROM runs
        WHERE owner = ? AND session_id = ? AND n < ? AND +status = 'completed' AND session_gone = 0
        ORDER BY n DESC LIMIT 1`,
      run.owner,
      run.sessionId,
      run.ordinal,
    )[0];
    return row?.run_id;
  }

  #records(condition: string, runId: string, afterPos: number, maxChars?: number): LogRecord[] {
    const statement = this.#statement(
      `SELECT pos, seq, event, at, public, private FROM records
        WHERE run = (SELECT n FROM runs WHERE run_id = ?) AND pos > ? AND ${condition} ORDER BY pos`,
    );
    if (maxChars === undefined) return statement.all<RecordRow>(runId, afterPos).map(toLogRecord);
    const records: LogRecord[] = [];
    let chars = 0;
    for (const row of statement.iterate<RecordRow>(runId, afterPos)) {
      records.push(toLogRecord(row));
      chars += (row.public?.length ?? 0) + (row.private?.length ?? 0);
      if (chars >= maxChars) break;
    }
    return records;
  }

  #all<T>(sql: string, ...values: (string | number)[]): T[] {
    return this.#statement(sql).all<T>(...values);
  }
}
