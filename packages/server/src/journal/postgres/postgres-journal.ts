/** The driver for many servers: one Postgres, any number of processes. See HOW_IT_WORKS.md beside this file. */
import { randomBytes } from 'node:crypto';
import { atMost } from '../../basics/at-most.ts';
import { failpoint } from '../../basics/failpoints.ts';
import { noReport, type Report } from '../../telemetry/facts.ts';
import { finished, isEnd } from '../../telemetry/run-facts.ts';
import type { CheckpointRecord } from '../checkpoints.ts';
import { runHolder } from '../contents.ts';
import { CURSOR_KEY_BYTES, Cursors } from '../cursors.ts';
import type {
  AppendOptions,
  Claim,
  CreateLimits,
  CreateOutcome,
  EvictOptions,
  Journal,
  KnownKey,
  Lease,
  NewRun,
  QueueDepth,
  QueuePosition,
  RunFilter,
  RunPage,
  StoredEvent,
  StoreHealth,
  Wait,
} from '../journal.ts';
import { expectWhole } from '../moving/unfinished-move.ts';
import { type Peers, SILENT_MS } from '../peers.ts';
import type { Post } from '../posts.ts';
import { type PositionRow, selectPosition, toPosition } from '../queue-position.ts';
import type { LogRecord, NewRecord } from '../records.ts';
import type { RunRow } from '../rows.ts';
import type { StoredRun } from '../run-state.ts';
import type { EventListener } from '../wakeups.ts';
import { Announcements } from './announcements.ts';
import { decisionsOfGoneRuns, PostgresApprovals } from './approvals.ts';
import { PostgresBlobs } from './blobs.ts';
import { PostgresChanges } from './changes.ts';
import { claimRuns, mayClaim, voidLeases } from './claims.ts';
import { dropHolders, PostgresContents } from './contents.ts';
import { PostgresConversations } from './conversations.ts';
import { type Create, createRuns } from './creates.ts';
import {
  ASKED,
  Database,
  MIGRATION,
  NOW,
  NOW_OR_NEVER,
  type Patience,
  PROBE,
  type Statement,
  type Transaction,
  WORK,
} from './database.ts';
import { PostgresFiles } from './files.ts';
import { type Answer, GroupCommit } from './group-commit.ts';
import { type EndedRow, keepHeads, PostgresHeads } from './heads.ts';
import { findKey, keysOfEvictedRuns, sweepKeys } from './idempotency-keys.ts';
import { PostgresJobs } from './jobs.ts';
import { PostgresKeptRuns } from './kept-runs.ts';
import { LastKnown } from './last-known.ts';
import { clearLeftovers, leave } from './leftovers.ts';
import { migrate } from './migrations.ts';
import { moveState } from './move-mark.ts';
import { PostgresOutbox, webhooksOfEvictedRuns } from './outbox.ts';
import { QueueCount } from './queue-count.ts';
import { PostgresReader } from './reads.ts';
import { PostgresResponses } from './responses.ts';
import type { Appended } from './run-batch.ts';
import { PostgresServers } from './servers.ts';
import { PostgresSessions } from './sessions.ts';
import { PostgresWorkspacePlaces, workspacesOfEvictedRuns } from './workspaces.ts';
import { bytesOf, lockForWrites, performWrites, type Write } from './writes.ts';

const CONNECTIONS = 8;
const PEER_SECRET_BYTES = 32;
/** How long writes in progress may take at the end; while the database is unavailable, they would wait forever. */
const CLOSE_MS = 2_000;
/** About the size of a step's records: with less room on the disk a run cannot continue. */
const PROBE_BYTES = 65_536;

export interface PostgresJournalOptions {
  url: string;
  /** The name under which this process claims runs; existing leases of that name belong to a dead process. */
  worker?: string | undefined;
  /** The store's clock, in ms; the database's own unless a test has one. */
  now?: (() => number) | undefined;
  report?: Report;
}

type GoneRun = EndedRow & { next_pos: number; session_gone: boolean };

export class PostgresJournal implements Journal {
  readonly sessions: PostgresSessions;
  readonly outbox: PostgresOutbox;
  readonly conversations: PostgresConversations;
  readonly responses: PostgresResponses;
  readonly jobs: PostgresJobs;
  readonly approvals: PostgresApprovals;
  readonly changes: PostgresChanges;
  readonly contents: PostgresContents;
  readonly files: PostgresFiles;
  readonly heads: PostgresHeads;
  readonly kept: PostgresKeptRuns;
  /** The bytes are in the same database. */
  readonly blobs: PostgresBlobs;
  readonly peers: Peers;
  readonly #database: Database;
  readonly #reader: PostgresReader;
  readonly #announcements: Announcements;
  readonly #creates: GroupCommit<Create, CreateOutcome>;
  readonly #writes: GroupCommit<Write, Appended>;
  /** Separate from the work on runs: while the database accepts no writes, that waits, and a post fails. */
  readonly #posts: GroupCommit<Write, Appended>;
  readonly #report: Report;
  readonly #depth = new LastKnown<QueueDepth>({ queued: 0, leased: 0, waiting: 0, waitingForApproval: 0 });

  static async open(options: PostgresJournalOptions): Promise<PostgresJournal> {
    const { url, worker, now } = options;
    const database = new Database({ url, connections: CONNECTIONS, now });
    try {
      const keys = await database.transaction(MIGRATION, async (tx) => {
        await migrate(tx);
        expectWhole(await moveState(tx));
        if (worker !== undefined) await voidLeases(tx, worker);
        return {
          cursors: await readOrMakeKey(tx, 'cursors', CURSOR_KEY_BYTES),
          peers: await readOrMakeKey(tx, 'peers', PEER_SECRET_BYTES),
        };
      });
      const journal = new PostgresJournal(options, database, keys);
      await journal.#announcements.start(MIGRATION.waitMs);
      return journal;
    } catch (error) {
      await database.close();
      const { cause, message } = error as Error;
      const reason = cause instanceof Error ? cause.message : message;
      throw new Error(`The database cannot be opened: ${reason}`, { cause: error });
    }
  }

  private constructor(
    { worker = '', report = noReport }: PostgresJournalOptions,
    database: Database,
    keys: Record<KeyName, Uint8Array>,
  ) {
    this.#database = database;
    this.#report = report;
    this.#reader = new PostgresReader(
      (sql, values, patience = ASKED) => database.rows(patience, sql, values),
      new Cursors(keys.cursors),
    );
    const queue = new QueueCount(worker);
    this.#creates = new GroupCommit((group) => this.#record(ASKED, (tx) => createRuns(tx, group, queue)));
    this.#writes = new GroupCommit((group) => this.#write(WORK, group), bytesOf);
    this.#posts = new GroupCommit((group) => this.#write(ASKED, group));
    this.#announcements = new Announcements({
      hosts: database.hosts,
      lookAt: (runIds) => this.#lookAt(runIds),
    });
    this.sessions = new PostgresSessions(database, new Cursors(keys.cursors, 'sessions'));
    this.outbox = new PostgresOutbox(database, this.#announcements);
    this.conversations = new PostgresConversations(database);
    this.responses = new PostgresResponses(database);
    this.jobs = new PostgresJobs(database, this.#announcements);
    this.approvals = new PostgresApprovals(database, {
      decisions: new Cursors(keys.cursors, 'decisions'),
      grants: new Cursors(keys.cursors, 'grants'),
    });
    this.changes = new PostgresChanges(database, this.#announcements, keys.cursors);
    this.contents = new PostgresContents(database);
    this.files = new PostgresFiles(database);
    this.heads = new PostgresHeads(database);
    this.kept = new PostgresKeptRuns(database, this.#announcements);
    this.blobs = new PostgresBlobs(database);
    this.peers = {
      secret: keys.peers,
      servers: new PostgresServers(database),
      workspaces: new PostgresWorkspacePlaces(database, async (lease, serverId) => {
        await this.#writes.submit({ kind: 'place', lease, serverId });
      }),
    };
  }

  async createRun(run: NewRun, limits: CreateLimits): Promise<CreateOutcome> {
    const outcome = await this.#creates.submit({ run, limits });
    if (outcome.kind === 'created') {
      this.#announcements.queue();
      this.#announcements.changes();
    }
    return outcome;
  }

  findKey(owner: string, key: string): Promise<KnownKey | undefined> {
    return findKey(this.#database, owner, key);
  }

  getRun(runId: string): Promise<StoredRun | undefined> {
    return this.#reader.getRun(runId);
  }

  listRuns(filter: RunFilter): Promise<RunPage> {
    return this.#reader.listRuns(filter);
  }

  async append(
    { runId, epoch }: Lease,
    records: readonly NewRecord[],
    options: AppendOptions = {},
  ): Promise<LogRecord[]> {
    const appended = await this.#writes.submit({ kind: 'append', lease: { runId, epoch }, records, options });
    this.#announce(appended);
    return appended.records;
  }

  async post(runId: string, post: Post): Promise<LogRecord[]> {
    const isWork = 'reason' in post && post.reason !== undefined;
    const appended = await (isWork ? this.#writes : this.#posts).submit({ kind: 'post', runId, post });
    this.#announce(appended);
    await this.#reportEnd(appended);
    this.#announcements.posts(runId);
    return appended.records;
  }

  readEvents(runId: string, afterSeq: number, limit: number, maxChars?: number): Promise<StoredEvent[]> {
    return this.#reader.readEvents(runId, afterSeq, limit, maxChars);
  }

  readLog(runId: string, afterPos: number, maxChars?: number): Promise<LogRecord[]> {
    return this.#reader.readLog(runId, afterPos, maxChars);
  }

  readPosted(runId: string, afterPos: number): Promise<LogRecord[]> {
    return this.#reader.readPosted(runId, afterPos);
  }

  readCheckpoints(runId: string): Promise<CheckpointRecord[]> {
    return this.#reader.readCheckpoints(runId);
  }

  positionOf(runId: string, seq: number): Promise<number | undefined> {
    return this.#reader.positionOf(runId, seq);
  }

  lastSeqAt(runId: string, pos: number): Promise<number> {
    return this.#reader.lastSeqAt(runId, pos);
  }

  firstShownAfter(runId: string, afterPos: number): Promise<number | undefined> {
    return this.#reader.firstShownAfter(runId, afterPos);
  }

  previousTurn(run: StoredRun): Promise<string | undefined> {
    return this.#reader.previousTurn(run);
  }

  async claim(worker: string, leaseMs: number, limit: number): Promise<Claim[]> {
    if (!(await mayClaim(this.#database))) return [];
    // A claim that waited for the database would find expired leases of owners that could not renew them.
    const { claims, cancelled } = await this.#record(NOW_OR_NEVER, (tx) =>
      claimRuns(tx, { worker, leaseMs, limit }),
    );
    for (const appended of cancelled) {
      this.#announce(appended);
      await this.#reportEnd(appended);
    }
    if (claims.length > 0) this.#announcements.changes();
    return claims;
  }

  renew(worker: string, leases: readonly Lease[], leaseMs: number): Promise<Lease[]> {
    return this.#database.transaction(ASKED, async (tx) => {
      const kept = await tx.rows<{ run_id: string; epoch: number }>(
        `UPDATE runs r SET lease_until = $4
           FROM (SELECT n FROM runs JOIN unnest ($1::text[], $2::integer[]) AS l (run_id, epoch) USING (run_id, epoch)
                  WHERE lease_owner = $3 AND finished_at IS NULL ORDER BY n FOR UPDATE) held
          WHERE r.n = held.n RETURNING r.run_id, r.epoch`,
        [leases.map(({ runId }) => runId), leases.map(({ epoch }) => epoch), worker, tx.now + leaseMs],
      );
      const names = new Set(kept.map(({ run_id: runId, epoch }) => `${runId} ${epoch}`));
      return leases.filter(({ runId, epoch }) => !names.has(`${runId} ${epoch}`));
    });
  }

  async release({ runId, epoch }: Lease, wait?: Wait): Promise<void> {
    const { unblocks } = await this.#writes.submit({ kind: 'release', lease: { runId, epoch }, wait });
    if (unblocks) this.#announcements.queue();
    this.#announcements.changes();
  }

  async park({ runId, epoch }: Lease, wait: Wait): Promise<void> {
    await this.#writes.submit({ kind: 'park', lease: { runId, epoch }, wait });
  }

  async evict(runIds: readonly string[], options: EvictOptions): Promise<string[]> {
    const unneeded = runIds.length > 0 ? await this.#removeRuns(runIds, options) : [];
    if (runIds.length > 0) this.#announcements.changes();
    await clearLeftovers(this.#database);
    await sweepKeys(this.#database);
    return unneeded;
  }

  /** Skips runs that somebody else is deleting. Returns the blobs that nobody needs any more. */
  #removeRuns(runIds: readonly string[], { headRetentionMs }: EvictOptions): Promise<string[]> {
    return this.#database.transaction(ASKED, async (tx) => {
      const gone = await tx.rows<GoneRun>(
        `DELETE FROM runs
          WHERE n IN (SELECT n FROM runs WHERE run_id = ANY ($1::text[]) AND finished_at IS NOT NULL AND NOT kept
                       ORDER BY n FOR UPDATE SKIP LOCKED)
         RETURNING n, run_id, owner, session_id, status, created_at, updated_at, finished_at, next_pos, next_seq, job_id,
                   evicted_for, session_gone, CASE WHEN finished_at > $2 THEN state ELSE '{}' END AS state`,
        [runIds, tx.now - headRetentionMs],
      );
      const ids = gone.map((row) => row.run_id);
      // Runs of a deleted session leave no heads: its owner does not want to find them in a list.
      const kept = gone.filter((row) => row.finished_at > tx.now - headRetentionMs && !row.session_gone);
      keepHeads(tx, kept);
      decisionsOfGoneRuns(
        tx,
        gone.filter((row) => !kept.includes(row)).map((row) => row.run_id),
      );
      leave(
        tx,
        gone.map((row) => ({ of: 'run', n: row.n, up_to: row.next_pos })),
      );
      keysOfEvictedRuns(tx, gone);
      webhooksOfEvictedRuns(tx, ids);
      workspacesOfEvictedRuns(tx, ids);
      // An unnamed session belongs to its run, and ends with it.
      tx.send(
        `DELETE FROM grants USING unnest ($1::text[], $2::text[]) AS g (owner, session_id)
          WHERE grants.owner = g.owner AND grants.session_id = g.session_id
            AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.owner = g.owner AND s.session_id = g.session_id)`,
        [gone.map((row) => row.owner), ids],
      );
      return dropHolders(tx, ids.map(runHolder));
    });
  }

  async queuePosition({ ordinal }: StoredRun): Promise<QueuePosition | undefined> {
    const [row] = await this.#database.rowsByClock<PositionRow & { served: boolean }>(
      ASKED,
      `SELECT p.*, EXISTS (SELECT 1 FROM servers WHERE stopped_at IS NULL AND max_runs > 0 AND seen_at > ${NOW} - $3) AS served
         FROM (${selectPosition({ n: '$2', now: NOW, indexedBy: () => '' })}) p`,
      [ordinal, SILENT_MS],
    );
    return row && toPosition(row, row.served);
  }

  async queueDepth(): Promise<QueueDepth> {
    return this.#depth.read(async () => {
      const [row] = await this.#database.rows<QueueDepth>(
        NOW_OR_NEVER,
        `SELECT count(*) FILTER (WHERE lease_until IS NULL) AS queued,
                count(*) FILTER (WHERE lease_until IS NOT NULL) AS leased,
                (SELECT count(*) FROM runs WHERE parked_until IS NOT NULL) AS waiting,
                (SELECT count(*) FROM runs WHERE parked_until IS NOT NULL AND status = 'waiting_for_approval')
                  AS "waitingForApproval"
           FROM runs WHERE finished_at IS NULL AND parked_until IS NULL`,
      );
      return row!;
    });
  }

  async checkHealth(): Promise<StoreHealth> {
    const writable = await this.#database
      .transaction(PROBE, async (tx) => {
        tx.send(
          `INSERT INTO probe (id, at, bytes) VALUES (0, $1, $2)
               ON CONFLICT (id) DO UPDATE SET at = excluded.at, bytes = excluded.bytes`,
          [tx.now, Buffer.alloc(PROBE_BYTES)],
        );
      })
      .then(
        () => true,
        () => false,
      );
    return { writable, lastError: this.#database.lastError };
  }

  watchEvents(runId: string, listener: EventListener): () => void {
    return this.#announcements.watchEvents(runId, listener);
  }

  watchPosts(runId: string, listener: () => void): () => void {
    return this.#announcements.watchPosts(runId, listener);
  }

  watchQueue(listener: () => void): () => void {
    return this.#announcements.watchQueue(listener);
  }

  async close(): Promise<void> {
    const groups = [this.#creates, this.#writes, this.#posts];
    await atMost(CLOSE_MS, Promise.all(groups.map((group) => group.idle())));
    await this.#announcements.close();
    await this.#database.close();
  }

  #write(patience: Patience, group: readonly Write[]): Promise<Answer<Appended>[]> {
    return this.#measure(group, () =>
      this.#record(
        patience,
        async (tx, locked: RunRow[]) => performWrites(tx, group, locked),
        lockForWrites(group),
      ),
    );
  }

  /** A transaction that writes records of runs. */
  async #record<T, Row extends object = never>(
    patience: Patience,
    work: (tx: Transaction, rows: Row[]) => Promise<T>,
    first?: Statement,
  ): Promise<T> {
    const recording = async (tx: Transaction, rows: Row[]): Promise<T> => {
      const done = await work(tx, rows);
      failpoint('journal.before-commit');
      return done;
    };
    const result = await this.#database.transaction(patience, recording, first);
    failpoint('journal.after-commit');
    return result;
  }

  #announce({ runId, records, unblocks, announced }: Appended): void {
    if (records.some((record) => record.seq !== null)) {
      this.#announcements.events(runId, records.some(isEnd), records);
    } else if (records.length > 0) this.#announcements.changes();
    if (unblocks) this.#announcements.queue();
    if (announced) this.#announcements.outbox();
  }

  /** Only for runs without a worker; a worker reports the end of its own run. */
  async #reportEnd({ runId, records }: Appended): Promise<void> {
    const end = records.find(isEnd);
    const run = end && (await this.getRun(runId));
    if (end !== undefined && run !== undefined) this.#report(finished(run, end));
  }

  async #measure<T>(group: readonly Write[], commit: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    let failed = true;
    try {
      const answers = await commit();
      failed = false;
      return answers;
    } finally {
      const records = group.reduce(
        (sum, write) => sum + (write.kind === 'append' ? write.records.length : 1),
        0,
      );
      this.#report({ fact: 'journal.commit', durationMs: performance.now() - startedAt, records, failed });
    }
  }

  async #lookAt(runIds: readonly string[]): Promise<Map<string, string>> {
    const rows = await this.#database.rows<{ run_id: string; next_pos: number; finished: boolean }>(
      NOW_OR_NEVER,
      'SELECT run_id, next_pos FROM runs WHERE run_id = ANY ($1::text[])',
      [runIds],
    );
    return new Map(rows.map(({ run_id: runId, next_pos: nextPos }) => [runId, String(nextPos)]));
  }
}

type KeyName = 'cursors' | 'peers';

/** Random bytes, created by the server that needs them first. */
async function readOrMakeKey(tx: Transaction, name: KeyName, bytes: number): Promise<Uint8Array> {
  await tx.rows('INSERT INTO keys (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
    name,
    randomBytes(bytes),
  ]);
  const [row] = await tx.rows<{ value: Uint8Array }>('SELECT value FROM keys WHERE name = $1', [name]);
  return row!.value;
}
