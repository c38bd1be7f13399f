/** Reads of the jobs, on the connection of `SqliteReader`. */
import { type JobRow, toStoredJob } from '../job-rows.ts';
import type { Agenda, StoredJob } from '../jobs.ts';
import type { Statements } from './statements.ts';

export class JobsReader {
  readonly #statement: Statements;

  constructor(statement: Statements) {
    this.#statement = statement;
  }

  get(jobId: string): StoredJob | undefined {
    return this.#jobs('SELECT * FROM jobs WHERE job_id = ?', jobId)[0];
  }

  list(owner: string): StoredJob[] {
    return this.#jobs('SELECT * FROM jobs WHERE owner = ? ORDER BY n', owner);
  }

  agenda(limit: number, now: number): Agenda {
    const due = this.#jobs(
      'SELECT * FROM jobs WHERE next_run_at <= ? ORDER BY next_run_at LIMIT ?',
      now,
      limit,
    );
    const { next_at: nextAt } = this.#statement(
      'SELECT min(next_run_at) AS next_at FROM jobs WHERE next_run_at > ?',
    ).get<{ next_at: number | null }>(now)!;
    return { now, due, nextAt };
  }

  planned(now: number): StoredJob[] {
    return this.#jobs('SELECT * FROM jobs WHERE next_run_at > ? ORDER BY next_run_at', now);
  }

  #jobs(sql: string, ...values: (string | number)[]): StoredJob[] {
    return this.#statement(sql)
      .all<JobRow>(...values)
      .map(toStoredJob);
  }
}
