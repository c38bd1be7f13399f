/**
 * Every write to the jobs. What must happen together with a run is called by `SqliteWriter` in the transaction of that
 * run; the other operations are called by name, as `jobs.<operation>`.
 */
import { type JobRow, toColumns, toStoredJob } from '../job-rows.ts';
import type { JobChange, JobFiring, JobVersion, NewJob, StoredJob } from '../jobs.ts';
import type { RunState } from '../run-state.ts';
import type { Statements } from './statements.ts';

export class JobsWriter {
  readonly #statement: Statements;

  constructor(statement: Statements) {
    this.#statement = statement;
  }

  create(job: NewJob, maxJobs: number, now: number): StoredJob | undefined {
    const { count } = this.#statement('SELECT count(*) AS count FROM jobs WHERE owner = ?').get<{
      count: number;
    }>(job.owner)!;
    if (count >= maxJobs) return undefined;
    this.#run(
      `INSERT INTO jobs (job_id, owner, version, name, prompt, skills, deliver, schedule, timezone, times, completed,
                         created_at, next_run_at, retention_seconds)
       VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?)`,
      job.jobId,
      job.owner,
      job.name,
      job.prompt,
      JSON.stringify(job.skills),
      job.deliver,
      JSON.stringify(job.schedule),
      job.timezone,
      job.times,
      now,
      job.nextRunAt,
      job.retentionSeconds,
    );
    return this.#job(job.jobId);
  }

  update({ jobId, version }: JobVersion, change: JobChange): StoredJob | undefined {
    const columns = toColumns(change);
    const assignments = ['version = version + 1', ...columns.map(([column]) => `${column} = ?`)];
    const { changes } = this.#run(
      `UPDATE jobs SET ${assignments.join(', ')} WHERE job_id = ? AND version = ?`,
      ...columns.map(([, value]) => value),
      jobId,
      version,
    );
    return changes === 0 ? undefined : this.#job(jobId);
  }

  delete(jobId: string): boolean {
    return this.#run('DELETE FROM jobs WHERE job_id = ?', jobId).changes > 0;
  }

  /** Whether a run may be created for the job as it was read. */
  admits({ jobId, version }: JobFiring): boolean {
    const found = this.#statement(
      'SELECT 1 FROM jobs WHERE job_id = ? AND version = ? AND (last_run_id IS NULL OR last_status IS NOT NULL)',
    ).get(jobId, version);
    return found !== undefined;
  }

  /** The run was created. */
  begin({ jobId, nextRunAt }: JobFiring, runId: string, now: number): void {
    this.#run(
      `UPDATE jobs SET version = version + 1, last_run_id = ?, last_run_at = ?, last_status = NULL, last_error = NULL
        WHERE job_id = ?`,
      runId,
      now,
      jobId,
    );
    if (nextRunAt !== undefined)
      this.#run('UPDATE jobs SET next_run_at = ? WHERE job_id = ?', nextRunAt, jobId);
  }

  /** A run has ended, whether or not it belongs to a job. */
  runEnded(runId: string, { status, error }: RunState): void {
    const row = this.#statement(
      'SELECT * FROM jobs WHERE last_run_id = ? AND last_status IS NULL',
    ).get<JobRow>(runId);
    if (row === undefined) return;
    const completed = row.completed + 1;
    if (row.times !== null && completed >= row.times) {
      this.#run('DELETE FROM jobs WHERE n = ?', row.n);
      return;
    }
    this.#run(
      'UPDATE jobs SET version = version + 1, completed = ?, last_status = ?, last_error = ? WHERE n = ?',
      completed,
      status === 'completed' ? 'ok' : 'error',
      status === 'completed' ? null : (error ?? 'The run was stopped'),
      row.n,
    );
  }

  #job(jobId: string): StoredJob {
    return toStoredJob(this.#statement('SELECT * FROM jobs WHERE job_id = ?').get<JobRow>(jobId)!);
  }

  #run(sql: string, ...values: (string | number | null)[]) {
    return this.#statement(sql).run(...values);
  }
}
