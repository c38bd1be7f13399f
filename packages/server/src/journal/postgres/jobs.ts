/**
 * The part of the Postgres driver that keeps jobs. Functions that take a transaction are part of the transaction of a
 * run.
 */
import { type JobRow, toColumns, toStoredJob } from '../job-rows.ts';
import type { Agenda, JobChange, JobFiring, Jobs, JobVersion, NewJob, StoredJob } from '../jobs.ts';
import type { RunState } from '../run-state.ts';
import type { Announcements } from './announcements.ts';
import { ASKED, type Database, NOW, type Transaction } from './database.ts';

/** Which jobs of a group of new runs admit one: as they were read, and without an unfinished run. They are locked. */
export class AdmittingJobs {
  readonly #names: Set<string>;

  /** In the same order on all servers, so that no two of them wait for each other. */
  static async lock(tx: Transaction, firings: readonly JobFiring[]): Promise<AdmittingJobs> {
    if (firings.length === 0) return new AdmittingJobs([]);
    return new AdmittingJobs(
      await tx.rows<Pick<JobRow, 'job_id' | 'version'>>(
        `SELECT job_id, version FROM jobs
          WHERE job_id = ANY ($1::text[]) AND (last_run_id IS NULL OR last_status IS NOT NULL)
          ORDER BY job_id FOR UPDATE`,
        [firings.map(({ jobId }) => jobId)],
      ),
    );
  }

  private constructor(rows: readonly Pick<JobRow, 'job_id' | 'version'>[]) {
    this.#names = new Set(rows.map((row) => nameOf({ jobId: row.job_id, version: row.version })));
  }

  admit(firing: JobFiring): boolean {
    return this.#names.has(nameOf(firing));
  }

  /** The run was created; the job admits no other. */
  begin(tx: Transaction, firing: JobFiring, runId: string): void {
    const { jobId, nextRunAt } = firing;
    this.#names.delete(nameOf(firing));
    tx.send(
      `UPDATE jobs SET version = version + 1, last_run_id = $2, last_run_at = $3, last_status = NULL, last_error = NULL,
                       next_run_at = CASE WHEN $4 THEN $5 ELSE next_run_at END
        WHERE job_id = $1`,
      [jobId, runId, tx.now, nextRunAt !== undefined, nextRunAt ?? null],
    );
  }
}

function nameOf({ jobId, version }: JobVersion): string {
  return `${jobId} ${version}`;
}

/** Runs have ended, whether or not they belong to jobs. */
export function jobsOfEndedRuns(tx: Transaction, runs: readonly { runId: string; state: RunState }[]): void {
  const runIds = runs.map(({ runId }) => runId);
  tx.send(
    `DELETE FROM jobs WHERE last_run_id = ANY ($1::text[]) AND last_status IS NULL AND completed + 1 >= times`,
    [runIds],
  );
  tx.send(
    `UPDATE jobs SET version = version + 1, completed = completed + 1, last_status = e.status, last_error = e.error
       FROM unnest ($1::text[], $2::text[], $3::text[]) AS e (run_id, status, error)
      WHERE last_run_id = e.run_id AND last_status IS NULL`,
    [
      runIds,
      runs.map(({ state }) => (state.status === 'completed' ? 'ok' : 'error')),
      runs.map(({ state }) => (state.status === 'completed' ? null : (state.error ?? 'The run was stopped'))),
    ],
  );
}

export class PostgresJobs implements Jobs {
  readonly #database: Database;
  readonly #announcements: Announcements;

  constructor(database: Database, announcements: Announcements) {
    this.#database = database;
    this.#announcements = announcements;
  }

  async create(job: NewJob, maxJobs: number): Promise<StoredJob | undefined> {
    const created = await this.#database.transaction(ASKED, async (tx) => {
      // When an owner creates several at once, each counts those before it.
      await tx.rows("SELECT pg_advisory_xact_lock(hashtext('talaria jobs'), hashtext($1))", [job.owner]);
      const [row] = await tx.rows<JobRow>(
        `INSERT INTO jobs (job_id, owner, version, name, prompt, skills, deliver, schedule, timezone, times, completed,
                           created_at, next_run_at, retention_seconds)
         SELECT $1, $2, 1, $3, $4, $5, $6, $7, $8, $9::integer, 0, $10, $11::bigint, $12::bigint
          WHERE (SELECT count(*) FROM jobs WHERE owner = $2) < $13
         RETURNING *`,
        [
          job.jobId,
          job.owner,
          job.name,
          job.prompt,
          JSON.stringify(job.skills),
          job.deliver,
          JSON.stringify(job.schedule),
          job.timezone,
          job.times,
          tx.now,
          job.nextRunAt,
          job.retentionSeconds,
          maxJobs,
        ],
      );
      return row && toStoredJob(row);
    });
    this.#announcements.jobs();
    return created;
  }

  async get(jobId: string): Promise<StoredJob | undefined> {
    return (await this.#jobs('SELECT * FROM jobs WHERE job_id = $1', jobId))[0];
  }

  list(owner: string): Promise<StoredJob[]> {
    return this.#jobs('SELECT * FROM jobs WHERE owner = $1 ORDER BY n', owner);
  }

  async update({ jobId, version }: JobVersion, change: JobChange): Promise<StoredJob | undefined> {
    const columns = toColumns(change);
    const assignments = ['version = version + 1', ...columns.map(([column], i) => `${column} = $${i + 3}`)];
    const updated = await this.#database.transaction(ASKED, async (tx) => {
      const [row] = await tx.rows<JobRow>(
        `UPDATE jobs SET ${assignments.join(', ')} WHERE job_id = $1 AND version = $2 RETURNING *`,
        [jobId, version, ...columns.map(([, value]) => value)],
      );
      return row && toStoredJob(row);
    });
    this.#announcements.jobs();
    return updated;
  }

  delete(jobId: string): Promise<boolean> {
    return this.#database.transaction(ASKED, async (tx) => {
      const gone = await tx.rows('DELETE FROM jobs WHERE job_id = $1 RETURNING 1', [jobId]);
      return gone.length > 0;
    });
  }

  async agenda(limit: number): Promise<Agenda> {
    // One row without a job when none is due.
    const rows = await this.#database.rowsByClock<JobRow & { now: number; next_at: number | null }>(
      ASKED,
      `SELECT due.*, clock.now, (SELECT min(next_run_at) FROM jobs WHERE next_run_at > clock.now) AS next_at
         FROM (SELECT ${NOW} AS now) clock
         LEFT JOIN LATERAL (SELECT * FROM jobs WHERE next_run_at <= clock.now ORDER BY next_run_at LIMIT $2) due ON true
        ORDER BY due.next_run_at`,
      [limit],
    );
    const { now, next_at: nextAt } = rows[0]!;
    return { now, due: rows.filter(({ job_id }) => job_id !== null).map(toStoredJob), nextAt };
  }

  async planned(): Promise<StoredJob[]> {
    const rows = await this.#database.rowsByClock<JobRow>(
      ASKED,
      `SELECT * FROM jobs WHERE next_run_at > ${NOW} ORDER BY next_run_at`,
    );
    return rows.map(toStoredJob);
  }

  watch(listener: () => void): () => void {
    return this.#announcements.watchJobs(listener);
  }

  async #jobs(sql: string, value: string): Promise<StoredJob[]> {
    return (await this.#database.rows<JobRow>(ASKED, sql, [value])).map(toStoredJob);
  }
}
