/**
 * Every write to the database, as synchronous operations inside a transaction that the caller holds.
 * Each operation checks before it writes; an error it throws leaves nothing behind, because the caller runs it
 * in a savepoint of its own.
 */
import type { DatabaseSync } from 'node:sqlite';
import { isTerminalEvent, TalariaError } from '@talaria/protocol';
import { type Advanced, advance, type Place, parkedUntil } from '../advance.ts';
import { runHolder } from '../contents.ts';
import {
  type AppendOptions,
  type Claim,
  type CreateLimits,
  type CreateOutcome,
  type EvictOptions,
  type Lease,
  LeaseLostError,
  type NewRun,
  UnseenPostError,
  type Wait,
} from '../journal.ts';
import { admit, cancelled, isOverdue, type Post } from '../posts.ts';
import type { LogRecord, NewRecord } from '../records.ts';
import { type RecordRow, type RunRow, toState, toStoredRun } from '../rows.ts';
import { foldRecord, INITIAL_STATE, isSuspect, type RunState } from '../run-state.ts';
import { ApprovalsWriter } from './approvals-writer.ts';
import { ChangeMarks } from './change-marks.ts';
import { ClaimOrder } from './claim-order.ts';
import { ConversationsWriter } from './conversations-writer.ts';
import { IdempotencyKeys } from './idempotency-keys.ts';
import { JobsWriter } from './jobs-writer.ts';
import { OutboxWriter } from './outbox-writer.ts';
import { QueueCounts, type QueuePlace } from './queue-counts.ts';
import { ResponsesWriter } from './responses-writer.ts';
import { SessionsWriter } from './sessions-writer.ts';
import { ContentsWriter } from './sqlite-contents.ts';
import { FilesWriter } from './sqlite-files.ts';
import { HeadsWriter } from './sqlite-heads.ts';
import { KeptRunsWriter } from './sqlite-kept-runs.ts';
import { SmallBlobsWriter } from './sqlite-small-blobs.ts';
import { type Statements, statementsOf } from './statements.ts';

/** About the size of a step's records: with less room on the disk a run cannot continue. */
const PROBE_BYTES = 65_536;

type FoundRow = RunRow & { session_gone: number };

/** Columns of the table `runs` with their new values. */
type Columns = Record<string, string | number | null>;

export interface Appended {
  runId: string;
  records: LogRecord[];
  /** Whether a run has become claimable that had to wait for this one: the next of its session, or the next suspect. */
  unblocks: boolean;
  /** Whether there is a message for a webhook about one of the records. */
  announced: boolean;
}

/** What decides where an unfinished run stands: with an owner, parked, or in the queue. */
type Standing = Pick<RunRow, 'lease_until' | 'parked_until' | 'status'>;

export interface Leased extends Claim {
  /** The whole log, but only if nobody has worked on the run before. */
  log?: RecordRow[];
}

export class SqliteWriter {
  /** Part of the transaction although it is in memory: the caller rolls it back. */
  readonly queue = new QueueCounts();
  readonly marks: ChangeMarks;
  /** Since it was opened, including those of transactions that were rolled back. */
  recordsWritten = 0;
  readonly sessions: SessionsWriter;
  readonly conversations: ConversationsWriter;
  readonly outbox: OutboxWriter;
  readonly responses: ResponsesWriter;
  readonly jobs: JobsWriter;
  readonly approvals: ApprovalsWriter;
  readonly contents: ContentsWriter;
  readonly files: FilesWriter;
  readonly heads: HeadsWriter;
  readonly kept: KeptRunsWriter;
  readonly smallBlobs: SmallBlobsWriter;
  readonly #statement: Statements;
  readonly #order: ClaimOrder;
  readonly #keys: IdempotencyKeys;

  /** No other process has the database open, so every lease in it belongs to a dead process. */
  constructor(db: DatabaseSync) {
    this.#statement = statementsOf(db);
    this.smallBlobs = new SmallBlobsWriter(this.#statement);
    this.contents = new ContentsWriter(this.#statement, this.smallBlobs);
    this.approvals = new ApprovalsWriter(this.#statement);
    this.heads = new HeadsWriter(this.#statement, this.approvals);
    this.sessions = new SessionsWriter(this.#statement, this.contents, this.heads);
    this.conversations = new ConversationsWriter(this.#statement, this.sessions);
    this.outbox = new OutboxWriter(this.#statement);
    this.responses = new ResponsesWriter(this.#statement, this.sessions);
    this.jobs = new JobsWriter(this.#statement);
    this.files = new FilesWriter(this.#statement, this.contents);
    this.marks = new ChangeMarks(this.#statement);
    this.kept = new KeptRunsWriter(this.#statement, this.marks);
    this.#order = new ClaimOrder(this.#statement, this.queue);
    this.#keys = new IdempotencyKeys(this.#statement);
    this.#run(
      'UPDATE runs SET lease_owner = NULL, lease_until = NULL WHERE finished_at IS NULL AND epoch > 0',
    );
    const unfinished = this.#all<Standing & { owner: string }>(
      'SELECT owner, status, lease_until, parked_until FROM runs WHERE finished_at IS NULL',
    );
    for (const row of unfinished) this.queue.move(row.owner, undefined, placeOf(row));
    this.queue.settle();
  }

  createRun(run: NewRun, limits: CreateLimits, now: number): CreateOutcome {
    const { idempotency } = run;
    const known = idempotency && this.#keys.find(run.owner, idempotency.key, now);
    if (known !== undefined) {
      if (known.bodyHash !== idempotency?.bodyHash) return { kind: 'conflict' };
      return { kind: 'replayed', runId: known.runId, status: known.status };
    }
    if (run.job !== undefined && !this.jobs.admits(run.job)) return { kind: 'job_changed' };
    const excess = this.#excess(run.owner, limits);
    if (excess > 0) return { kind: 'queue_full', excess };
    this.contents.hold(runHolder(run.runId), run.blobs ?? [], now);
    const sessionId = this.responses.sessionOf(run, now);
    this.sessions.forkForRun(run, now);
    const accepted = { event: 'run.accepted', private: run.request, pos: 0, seq: null, at: now } as const;
    const state = foldRecord(INITIAL_STATE, accepted);
    const { lastInsertRowid } = this.#run(
      `INSERT INTO runs (run_id, owner, session_id, status, created_at, updated_at, next_pos, next_seq, epoch, job_id, retention_ms, state,
                         changed)
       VALUES (?, ?, ?, ?, ?, ?, 1, 0, 0, ?, ?, ?, ?)`,
      run.runId,
      run.owner,
      sessionId,
      state.status,
      now,
      now,
      run.job?.jobId ?? null,
      run.retentionMs ?? null,
      JSON.stringify(state),
      this.marks.take(),
    );
    this.#insertRecord(Number(lastInsertRowid), accepted);
    if (idempotency !== undefined) this.#keys.add(run.owner, idempotency, run.runId, now);
    if (run.job !== undefined) this.jobs.begin(run.job, run.runId, now);
    this.outbox.subscribe(run.runId, run.webhook);
    if (run.request.session_named) this.sessions.use(run.owner, sessionId, run.runId, now);
    this.responses.add(run, sessionId, now);
    this.queue.move(run.owner, undefined, 'queued');
    return { kind: 'created' };
  }

  /** Only where they are in the log: the caller has the records, and a copy of them would cost more than the message. */
  append(
    lease: Lease,
    records: readonly NewRecord[],
    options: AppendOptions,
    now: number,
  ): { place: Place } & Pick<Appended, 'unblocks' | 'announced'> {
    const row = this.#findHeld(lease);
    if (row === undefined) throw new LeaseLostError(lease.runId);
    const state = toState(row);
    if (
      records.some((record) => isTerminalEvent(record.event)) &&
      state.last_posted_pos > (options.seenPostedPos ?? -1)
    ) {
      throw new UnseenPostError(lease.runId);
    }
    const { turn, blobs, sessionFiles } = options;
    if (blobs !== undefined) this.contents.holdNew(runHolder(row.run_id), blobs, now);
    if (sessionFiles !== undefined) this.sessions.keepFiles(row.owner, row.session_id, sessionFiles);
    if (turn !== undefined) {
      this.sessions.addTurn(row.owner, row.session_id, row.run_id, turn, now);
      this.responses.turnAdded(row.run_id);
    }
    const { records: stored, unblocks, announced } = this.#appendTo(row, state, records, now);
    const place = { pos: row.next_pos, seq: row.next_seq, at: stored[0]?.at ?? now };
    return { place, unblocks, announced };
  }

  post(runId: string, post: Post, now: number): Appended {
    const row = this.#findRun(runId);
    if (row === undefined) {
      throw new TalariaError('run_not_found', { message: `Run not found: ${runId}` });
    }
    const state = toState(row);
    const owned = row.lease_until !== null && row.lease_until > now;
    const overdue = isOverdue(state, !owned && row.parked_until === null, now);
    const { records, grants } = admit(state, post, owned, overdue);
    if (grants !== undefined) {
      const sessionId = grants.scope === 'session' ? row.session_id : '';
      this.approvals.grant(row.owner, sessionId, grants.patternKeys, now);
    }
    return this.#appendTo(row, state, records, now);
  }

  claim(
    worker: string,
    leaseMs: number,
    limit: number,
    now: number,
  ): { claims: Leased[]; cancelled: Appended[] } {
    const stopped = this.#all<RunRow>(
      `SELECT * FROM runs
        WHERE finished_at IS NULL AND (lease_until IS NULL OR lease_until <= ?) AND status = 'stopping'`,
      now,
    );
    const ended = stopped.map((row) => {
      const state = toState(row);
      return this.#appendTo(row, state, [cancelled(state)], now);
    });
    this.#unparkDue(now);
    const claims: Leased[] = [];
    for (const row of this.#order.runs(limit, now)) claims.push(this.#lease(row, worker, leaseMs, now));
    return { claims, cancelled: ended };
  }

  renew(worker: string, leases: readonly Lease[], leaseMs: number, now: number): Lease[] {
    return leases.filter(({ runId, epoch }) => {
      const { changes } = this.#run(
        `UPDATE runs SET lease_until = ? WHERE run_id = ? AND epoch = ? AND lease_owner = ? AND finished_at IS NULL`,
        now + leaseMs,
        runId,
        epoch,
        worker,
      );
      return changes === 0;
    });
  }

  /** `wait` as in `Journal.release`; true when the run can be claimed now. */
  release(lease: Lease, wait: Wait | undefined, now: number): boolean {
    const row = this.#findHeld(lease);
    if (row === undefined) return false;
    const state = toState(row);
    const parked_until = wait === undefined ? null : parkedUntil(state, wait, now);
    const released: NewRecord = {
      event: 'run.released',
      private: { epoch: lease.epoch, ...(wait === undefined ? {} : { parked: true }) },
    };
    this.#appendTo(row, state, [released], now);
    this.#place(row, { lease_owner: null, lease_until: null, parked_until });
    return parked_until === null;
  }

  park(lease: Lease, wait: Wait, now: number): void {
    const row = this.#findHeld(lease);
    if (row !== undefined) this.#place(row, { parked_until: parkedUntil(toState(row), wait, now) });
  }

  #unparkDue(now: number): void {
    const due = this.#all<RunRow>('SELECT * FROM runs WHERE parked_until <= ?', now);
    for (const row of due) this.#place(row, { parked_until: null });
  }

  /** Changes where an unfinished run stands. */
  #place(row: RunRow, columns: Partial<Standing> & Columns): void {
    this.#update(row.n, columns);
    this.queue.move(row.owner, placeOf(row), placeOf({ ...row, ...columns }));
  }

  evict(runIds: readonly string[], { headRetentionMs }: EvictOptions, now: number): string[] {
    this.#keys.sweep(now);
    const unneeded: string[] = [];
    for (const runId of runIds) {
      const row = this.#findRun(runId);
      if (row === undefined || row.finished_at === null || row.kept) continue;
      const { status } = toState(row);
      this.#keys.runEvicted(runId, status);
      this.outbox.evict(runId);
      const hasHead = row.finished_at + headRetentionMs > now && row.session_gone === 0;
      if (hasHead) this.heads.keep(row, this.marks.take());
      else this.approvals.runGone(runId);
      this.#run('DELETE FROM records WHERE run = ?', row.n);
      this.#run('DELETE FROM runs WHERE n = ?', row.n);
      // An unnamed session belongs to its run, and ends with it.
      if (this.sessions.find(row.owner, runId) === undefined) {
        this.approvals.sessionEnded(row.owner, runId);
      }
      unneeded.push(...this.contents.drop(runHolder(runId)));
    }
    return unneeded;
  }

  probe(now: number): void {
    this.#run('INSERT OR REPLACE INTO probe (id, at, bytes) VALUES (0, ?, zeroblob(?))', now, PROBE_BYTES);
  }

  /** By how many runs the queue is too full for another one of this owner; see `CreateLimits`. */
  #excess(owner: string, { maxQueued, ownerShare }: CreateLimits): number {
    const inAll = this.queue.depth.queued + 1 - maxQueued;
    const ofOwner = this.queue.queuedOf(owner) + 1 - ownerShare;
    return Math.min(inAll, ofOwner);
  }

  #lease(row: RunRow, worker: string, leaseMs: number, now: number): Leased {
    const before = toStoredRun(row);
    const epoch = row.epoch + 1;
    const claimed: NewRecord = { event: 'run.claimed', private: { epoch } };
    const lease = { epoch, lease_owner: worker, lease_until: now + leaseMs };
    const { updatedAt, nextSeq, state } = this.#advance(row, before.state, [claimed], now, lease);
    this.queue.move(row.owner, placeOf(row), 'leased');
    const claim = { runId: row.run_id, epoch, run: { ...before, updatedAt, nextSeq, state } };
    return row.epoch > 0 ? claim : { ...claim, log: this.#logOf(row.n) };
  }

  #appendTo(row: RunRow, before: RunState, records: readonly NewRecord[], now: number): Appended {
    const { records: stored, unblocks, unparks, announced } = this.#advance(row, before, records, now);
    // Only suspects wait for another one outside the queue: under leases that have ended.
    const someoneWaits = this.queue.depth.queued > 0 || isSuspect(before, true);
    const unparked = row.parked_until !== null && unparks && row.lease_until === null;
    return {
      runId: row.run_id,
      records: stored,
      unblocks: unparked || (unblocks && someoneWaits),
      announced,
    };
  }

  /** Stores the records and what they change. `lease`: columns that change with them. */
  #advance(
    row: RunRow,
    before: RunState,
    records: readonly NewRecord[],
    now: number,
    lease: Columns = {},
  ): Advanced & Pick<Appended, 'announced'> {
    const { updated_at: updatedAt, next_pos: nextPos, next_seq: nextSeq } = row;
    const after = advance(row.run_id, { updatedAt, nextPos, nextSeq, state: before }, records, now);
    const { records: stored, state } = after;
    if (stored.length === 0) return { ...after, announced: false };
    for (const record of stored) this.#insertRecord(row.n, record);
    const announced = this.outbox.announce(row, stored, now);
    this.approvals.decided(row.owner, after.decisions);
    const mark = this.marks.take();
    const unparks = row.parked_until !== null && after.unparks;
    // A column that is named here costs the update of its indexes, even if its value stays.
    this.#update(row.n, {
      updated_at: after.updatedAt,
      next_pos: after.nextPos,
      next_seq: after.nextSeq,
      changed: mark,
      ...(state === before ? {} : { state: JSON.stringify(state) }),
      ...(state.status === before.status ? {} : { status: state.status }),
      ...(unparks ? { parked_until: null } : {}),
      ...(after.finished
        ? {
            finished_at: after.updatedAt,
            ...(row.retention_ms === null ? {} : { expires_at: after.updatedAt + row.retention_ms }),
            lease_owner: null,
            lease_until: null,
            settled: mark,
          }
        : lease),
    });
    if (after.finished) this.queue.move(row.owner, placeOf(row), undefined);
    else if (unparks) this.queue.move(row.owner, placeOf(row), placeOf({ ...row, parked_until: null }));
    if (after.finished) {
      this.#keys.runEnded(row.run_id, after.updatedAt);
      this.jobs.runEnded(row.run_id, state);
    }
    return { ...after, announced };
  }

  #update(run: number, columns: Columns): void {
    const assignments = Object.keys(columns).map((column) => `${column} = ?`);
    this.#run(`UPDATE runs SET ${assignments.join(', ')} WHERE n = ?`, ...Object.values(columns), run);
  }

  #logOf(run: number): RecordRow[] {
    return this.#all<RecordRow>(
      'SELECT pos, seq, event, at, public, private FROM records WHERE run = ? ORDER BY pos',
      run,
    );
  }

  #insertRecord(run: number, record: LogRecord): void {
    this.recordsWritten += 1;
    this.#run(
      'INSERT INTO records (run, pos, seq, event, at, public, private) VALUES (?, ?, ?, ?, ?, ?, ?)',
      run,
      record.pos,
      record.seq,
      record.event,
      record.at,
      record.public === undefined ? null : JSON.stringify(record.public),
      record.private === undefined ? null : JSON.stringify(record.private),
    );
  }

  #findRun(runId: string): FoundRow | undefined {
    return this.#get<FoundRow>('SELECT * FROM runs WHERE run_id = ?', runId);
  }

  /** An expired lease is still good until somebody else claims the run. */
  #findHeld({ runId, epoch }: Lease): FoundRow | undefined {
    const row = this.#findRun(runId);
    const isHeld = row?.finished_at === null && row.epoch === epoch && row.lease_until !== null;
    return isHeld ? row : undefined;
  }

  #run(sql: string, ...values: (string | number | null)[]) {
    return this.#statement(sql).run(...values);
  }

  #get<T>(sql: string, ...values: (string | number | null)[]): T | undefined {
    return this.#statement(sql).get<T>(...values);
  }

  #all<T>(sql: string, ...values: (string | number | null)[]): T[] {
    return this.#statement(sql).all<T>(...values);
  }
}

function placeOf({ status, lease_until: leaseUntil, parked_until: parkedUntil }: Standing): QueuePlace {
  // A parked run keeps its status until it is parked no longer.
  if (parkedUntil !== null) return status === 'waiting_for_approval' ? 'asking' : 'parked';
  return leaseUntil === null ? 'queued' : 'leased';
}
