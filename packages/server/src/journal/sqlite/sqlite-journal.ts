/** The embedded driver: one SQLite file, one process. See HOW_IT_WORKS.md beside this file. */
import { dirname } from 'node:path';
import type { BlobStore } from '../../blobs/blob-store.ts';
import { blobsBeside, DirectoryBlobs } from '../../blobs/directory-blobs.ts';
import { SmallBlobsFirst } from '../../blobs/small-blobs-first.ts';
import { type FileLock, lockFile } from '../../files/file-lock.ts';
import { makeDirectory } from '../../files/make-directory.ts';
import { makePrivate } from '../../files/private-file.ts';
import { noReport, type Report } from '../../telemetry/facts.ts';
import { finished, isEnd } from '../../telemetry/run-facts.ts';
import { placed } from '../advance.ts';
import type { CheckpointRecord } from '../checkpoints.ts';
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
import type { Post } from '../posts.ts';
import type { LogRecord, NewRecord } from '../records.ts';
import type { StoredRun } from '../run-state.ts';
import { type EventListener, Wakeups } from '../wakeups.ts';
import { NewRuns } from './new-runs.ts';
import { SqliteReader } from './reader.ts';
import { SqliteApprovals } from './sqlite-approvals.ts';
import { SqliteChanges } from './sqlite-changes.ts';
import { SqliteContents } from './sqlite-contents.ts';
import { SqliteConversations } from './sqlite-conversations.ts';
import { SqliteFiles } from './sqlite-files.ts';
import { SqliteHeads } from './sqlite-heads.ts';
import { SqliteJobs } from './sqlite-jobs.ts';
import { SqliteKeptRuns } from './sqlite-kept-runs.ts';
import { SqliteOutbox } from './sqlite-outbox.ts';
import { SqliteResponses } from './sqlite-responses.ts';
import { SqliteSessions } from './sqlite-sessions.ts';
import { SqliteSmallBlobs } from './sqlite-small-blobs.ts';
import type { Appended } from './writer.ts';
import { WriterClient } from './writer-client.ts';
import { OWN_THREAD, type WriterThreads } from './writer-threads.ts';

export interface SqliteJournalOptions {
  path: string;
  /** The store's clock, in ms. */
  now?: () => number;
  /** Called when the writer has died, after which no write succeeds. */
  onFatal?: (error: Error) => void;
  /** Hears of commits, and of runs that end without a worker. */
  report?: Report;
  /** Where the thread of its writer comes from; its own by default. */
  threads?: WriterThreads;
}

interface Parts {
  path: string;
  writer: WriterClient;
  reader: SqliteReader;
  lock: FileLock;
  now: () => number;
  report: Report;
}

export class SqliteJournal implements Journal {
  readonly sessions: SqliteSessions;
  readonly outbox: SqliteOutbox;
  readonly conversations: SqliteConversations;
  readonly responses: SqliteResponses;
  readonly jobs: SqliteJobs;
  readonly approvals: SqliteApprovals;
  readonly changes: SqliteChanges;
  readonly contents: SqliteContents;
  readonly files: SqliteFiles;
  readonly heads: SqliteHeads;
  readonly kept: SqliteKeptRuns;
  readonly blobs: BlobStore;
  readonly #writer: WriterClient;
  readonly #reader: SqliteReader;
  readonly #lock: FileLock;
  readonly #now: () => number;
  readonly #report: Report;
  readonly #wakeups = new Wakeups();
  readonly #newRuns = new NewRuns();

  static async open({
    path,
    now = Date.now,
    onFatal = () => {},
    report = noReport,
    threads = OWN_THREAD,
  }: SqliteJournalOptions): Promise<SqliteJournal> {
    makeDirectory(dirname(path));
    const lock = lockFile(
      `${path}.lock`,
      `The database ${path} is in use by another server: stop that one first`,
    );
    try {
      makePrivate(path);
      const writer = await WriterClient.open({ path, threads, now, report, onFatal });
      return new SqliteJournal({ path, writer, reader: new SqliteReader(path), lock, now, report });
    } catch (error) {
      lock.release();
      throw new Error(`The database ${path} cannot be opened: ${(error as Error).message}`, { cause: error });
    }
  }

  private constructor({ path, writer, reader, lock, now, report }: Parts) {
    this.#writer = writer;
    this.#reader = reader;
    this.#lock = lock;
    this.#now = now;
    this.sessions = new SqliteSessions(writer, reader.sessions);
    this.outbox = new SqliteOutbox(writer, reader.outbox, this.#wakeups, now);
    this.conversations = new SqliteConversations(writer, reader.conversations);
    this.responses = new SqliteResponses(writer, reader.responses);
    this.jobs = new SqliteJobs(writer, reader.jobs, this.#wakeups, now);
    this.approvals = new SqliteApprovals(writer, reader.approvals, now);
    this.changes = new SqliteChanges(writer, reader.changes, this.#wakeups);
    this.contents = new SqliteContents(writer, reader.contents, now);
    this.files = new SqliteFiles(writer, reader.files);
    this.heads = new SqliteHeads(writer, reader.heads);
    this.kept = new SqliteKeptRuns(writer, this.#newRuns, this.#wakeups);
    this.blobs = new SmallBlobsFirst(
      new SqliteSmallBlobs(writer, reader.smallBlobs),
      new DirectoryBlobs({ path: blobsBeside(path), now }),
    );
    this.#report = report;
  }

  async createRun(run: NewRun, limits: CreateLimits): Promise<CreateOutcome> {
    const written = this.#writer.write.createRun(run, limits);
    this.#newRuns.add(run.runId);
    // Wake now, not after the commit: the claim then joins the same commit.
    this.#wakeups.wakeQueue();
    let isCreated = false;
    try {
      const outcome = await written;
      isCreated = outcome.kind === 'created';
      return outcome;
    } finally {
      if (isCreated) this.#wakeups.wakeChanges();
      else this.#newRuns.forget(run.runId);
    }
  }

  async findKey(owner: string, key: string): Promise<KnownKey | undefined> {
    return this.#reader.findKey(owner, key, this.#now());
  }

  async getRun(runId: string): Promise<StoredRun | undefined> {
    return this.#newRuns.find(runId) ?? this.#reader.getRun(runId);
  }

  async listRuns(filter: RunFilter): Promise<RunPage> {
    return this.#reader.listRuns(filter);
  }

  async append(
    lease: Lease,
    records: readonly NewRecord[],
    options: AppendOptions = {},
  ): Promise<LogRecord[]> {
    const { runId } = lease;
    this.#newRuns.forget(runId);
    const { place, ...news } = await this.#writer.write.append(lease, records, options);
    const stored = placed(records, place);
    this.#wake({ runId, records: stored, ...news });
    return stored;
  }

  async post(runId: string, post: Post): Promise<LogRecord[]> {
    this.#newRuns.forget(runId);
    const appended = await this.#writer.write.post(runId, post);
    this.#wake(appended);
    this.#reportEnd(appended);
    this.#wakeups.wakePosts(runId);
    return appended.records;
  }

  async readEvents(
    runId: string,
    afterSeq: number,
    limit: number,
    maxChars?: number,
  ): Promise<StoredEvent[]> {
    if (this.#newRuns.isWithoutEvents(runId)) return [];
    return this.#reader.readEvents(runId, afterSeq, limit, maxChars);
  }

  async readLog(runId: string, afterPos: number, maxChars?: number): Promise<LogRecord[]> {
    const known = afterPos === -1 && maxChars === undefined ? this.#newRuns.takeLog(runId) : undefined;
    return known ?? this.#reader.readLog(runId, afterPos, maxChars);
  }

  async readPosted(runId: string, afterPos: number): Promise<LogRecord[]> {
    return this.#reader.readPosted(runId, afterPos);
  }

  async readCheckpoints(runId: string): Promise<CheckpointRecord[]> {
    return this.#reader.readCheckpoints(runId);
  }

  async positionOf(runId: string, seq: number): Promise<number | undefined> {
    return this.#reader.positionOf(runId, seq);
  }

  async lastSeqAt(runId: string, pos: number): Promise<number> {
    return this.#reader.lastSeqAt(runId, pos);
  }

  async firstShownAfter(runId: string, afterPos: number): Promise<number | undefined> {
    return this.#reader.firstShownAfter(runId, afterPos);
  }

  async previousTurn(run: StoredRun): Promise<string | undefined> {
    return this.#reader.previousTurn(run);
  }

  async claim(worker: string, leaseMs: number, limit: number): Promise<Claim[]> {
    const { claims, cancelled } = await this.#writer.write.claim(worker, leaseMs, limit);
    for (const appended of cancelled) {
      this.#wake(appended);
      this.#reportEnd(appended);
    }
    if (claims.length > 0) this.#wakeups.wakeChanges();
    for (const leased of claims) this.#newRuns.claimed(leased);
    return claims.map(({ runId, epoch, run }) => ({ runId, epoch, run }));
  }

  renew(worker: string, leases: readonly Lease[], leaseMs: number): Promise<Lease[]> {
    return this.#writer.write.renew(worker, leases, leaseMs);
  }

  async release(lease: Lease, wait?: Wait): Promise<void> {
    this.#newRuns.forget(lease.runId);
    const claimable = await this.#writer.write.release(lease, wait);
    if (claimable) this.#wakeups.wakeQueue();
    this.#wakeups.wakeChanges();
  }

  park(lease: Lease, wait: Wait): Promise<void> {
    return this.#writer.write.park(lease, wait);
  }

  async evict(runIds: readonly string[], options: EvictOptions): Promise<string[]> {
    const unneeded = await this.#writer.write.evict(runIds, options);
    if (runIds.length > 0) this.#wakeups.wakeChanges();
    return unneeded;
  }

  async queuePosition(run: StoredRun): Promise<QueuePosition | undefined> {
    return this.#reader.queuePosition(run, this.#now());
  }

  async queueDepth(): Promise<QueueDepth> {
    return this.#writer.depth;
  }

  async checkHealth(): Promise<StoreHealth> {
    const writable = await this.#writer.write.probe().then(
      () => true,
      () => false,
    );
    return { writable, lastError: this.#writer.lastError };
  }

  watchEvents(runId: string, listener: EventListener): () => void {
    return this.#wakeups.watchEvents(runId, listener);
  }

  watchPosts(runId: string, listener: () => void): () => void {
    return this.#wakeups.watchPosts(runId, listener);
  }

  watchQueue(listener: () => void): () => void {
    return this.#wakeups.watchQueue(listener);
  }

  async close(): Promise<void> {
    await this.#writer.close();
    this.#reader.close();
    this.#lock.release();
  }

  #wake({ runId, records, unblocks, announced }: Appended): void {
    if (records.some((record) => record.seq !== null)) {
      this.#wakeups.wakeEvents(runId, records.some(isEnd), records);
    }
    if (unblocks) this.#wakeups.wakeQueue();
    if (announced) this.#wakeups.wakeOutbox();
    if (records.length > 0) this.#wakeups.wakeChanges();
  }

  /** Only for runs without a worker; a worker reports the end of its own run. */
  #reportEnd({ runId, records }: Appended): void {
    const end = records.find(isEnd);
    const run = end && this.#reader.getRun(runId);
    if (end !== undefined && run !== undefined) this.#report(finished(run, end));
  }
}
