/** The part of the SQLite driver that knows how long runs are kept. There is one server, so all files are on its disk. */
import { changeOfKeeping, type KeptRuns, type MeasuredRun, SETTLED_MS } from '../kept-runs.ts';
import type { RunRow } from '../rows.ts';
import type { Wakeups } from '../wakeups.ts';
import type { ChangeMarks } from './change-marks.ts';
import type { NewRuns } from './new-runs.ts';
import { LIMIT, type Statements } from './statements.ts';
import type { WriterClient } from './writer-client.ts';

const PAGE = 4096;
/** A longer record has pages of its own, because its table is clustered by its key. */
const OWN_PAGES_FROM = 1000;
/** About what a record and a run take beside their texts: keys, times, entries in indexes. */
const RECORD_BYTES = 50;
const RUN_BYTES = 2000;

/** Called by name, as `kept.<operation>`. */
export class KeptRunsWriter {
  readonly #statement: Statements;
  readonly #marks: ChangeMarks;

  constructor(statement: Statements, marks: ChangeMarks) {
    this.#statement = statement;
    this.#marks = marks;
  }

  /** Those with a time of their own come first, then those that ended first. */
  expired(retentionMs: number, limit: number, now: number): string[] {
    const own = this.#ids(
      `SELECT run_id FROM runs WHERE finished_at IS NOT NULL AND expires_at <= ? AND kept = 0
        ORDER BY expires_at ${LIMIT}`,
      now,
      limit,
    );
    const others = this.#ids(
      `SELECT run_id FROM runs WHERE finished_at <= ? AND expires_at IS NULL AND kept = 0
        ORDER BY finished_at ${LIMIT}`,
      now - retentionMs,
      limit - own.length,
    );
    return [...own, ...others];
  }

  /** Whether anything has changed. */
  keep(runId: string, keep: boolean, retentionMs: number, now: number): boolean {
    const run = this.#statement('SELECT * FROM runs WHERE run_id = ?').get<RunRow>(runId);
    const change = changeOfKeeping(run, { runId, keep, retentionMs }, now);
    if (run === undefined || change === undefined) return false;
    const mark = this.#marks.take();
    this.#statement(
      `UPDATE runs SET kept = ?, expires_at = ?, changed = ?, settled = CASE WHEN finished_at IS NULL THEN NULL ELSE ? END
        WHERE n = ?`,
    ).run(Number(change.kept), change.expires_at, mark, mark, run.n);
    return true;
  }

  unmeasured(limit: number, now: number): string[] {
    return this.#ids(
      `SELECT run_id FROM runs WHERE finished_at <= ? AND bytes IS NULL ORDER BY finished_at ${LIMIT}`,
      now - SETTLED_MS,
      limit,
    );
  }

  /** Adds what the run has in the store: its records, whose lengths are known without reading them, and its checkpoints. */
  measured(runs: readonly MeasuredRun[]): void {
    const set = this.#statement(
      `UPDATE runs SET bytes = ?2 + ${RUN_BYTES} + octet_length(state)
         + coalesce((SELECT sum(iif(size < ${OWN_PAGES_FROM}, size + ${RECORD_BYTES}, (size / ${PAGE} + 1) * ${PAGE}))
                       FROM (SELECT coalesce(octet_length(public), 0) + coalesce(octet_length(private), 0) AS size
                               FROM records WHERE run = n)), 0)
         + coalesce((SELECT max(json_extract(private, '$.stored_bytes'))
                       FROM records WHERE run = n AND event = 'workspace.checkpointed'), 0)
        WHERE run_id = ?1 AND finished_at IS NOT NULL`,
    );
    for (const { runId, bytes } of runs) set.run(runId, bytes);
  }

  outdated(runId: string): void {
    this.#statement('UPDATE runs SET bytes = NULL WHERE run_id = ? AND bytes IS NOT NULL').run(runId);
  }

  used(): number {
    return this.#statement('SELECT bytes FROM disk_use WHERE id = 0').get<{ bytes: number }>()!.bytes;
  }

  giveUp(bytes: number, limit: number, now: number): number {
    const oldest = this.#statement(
      `SELECT n, bytes FROM runs WHERE finished_at IS NOT NULL AND kept = 0 AND evicted_for IS NULL AND bytes > 0
        ORDER BY finished_at ${LIMIT}`,
    ).all<{ n: number; bytes: number }>(limit);
    const mark = this.#statement("UPDATE runs SET expires_at = ?, evicted_for = 'room' WHERE n = ?");
    let [given, freed] = [0, 0];
    for (const run of oldest) {
      if (freed >= bytes) break;
      mark.run(now, run.n);
      given += 1;
      freed += run.bytes;
    }
    return given;
  }

  #ids(sql: string, ...values: number[]): string[] {
    return this.#statement(sql)
      .all<{ run_id: string }>(...values)
      .map((row) => row.run_id);
  }
}

export class SqliteKeptRuns implements KeptRuns {
  readonly #writer: WriterClient;
  readonly #newRuns: NewRuns;
  readonly #wakeups: Wakeups;

  constructor(writer: WriterClient, newRuns: NewRuns, wakeups: Wakeups) {
    this.#writer = writer;
    this.#newRuns = newRuns;
    this.#wakeups = wakeups;
  }

  expired(retentionMs: number, limit: number): Promise<string[]> {
    return this.#writer.write.kept.expired(retentionMs, limit);
  }

  async keep(runId: string, keep: boolean, retentionMs: number): Promise<void> {
    this.#newRuns.forget(runId);
    if (await this.#writer.write.kept.keep(runId, keep, retentionMs)) this.#wakeups.wakeChanges();
  }

  unmeasured(_serverId: string, limit: number): Promise<string[]> {
    return this.#writer.write.kept.unmeasured(limit);
  }

  measured(_serverId: string, runs: readonly MeasuredRun[]): Promise<void> {
    return this.#writer.write.kept.measured(runs);
  }

  outdated(_serverId: string, runId: string): Promise<void> {
    return this.#writer.write.kept.outdated(runId);
  }

  used(): Promise<number> {
    return this.#writer.write.kept.used();
  }

  giveUp(_serverId: string, bytes: number, limit: number): Promise<number> {
    return this.#writer.write.kept.giveUp(bytes, limit);
  }
}
