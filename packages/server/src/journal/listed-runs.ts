/** Whole runs and heads of evicted ones, as rows of one form, in the SQL of both databases. */

const COLUMNS = 'n, run_id, owner, session_id, created_at, updated_at, next_seq, job_id, evicted_for, state';

/** A run is in one of these tables. */
export const RUN_TABLES = {
  // SQLite looks into both tables by an index only if a column is of one kind in both, hence `IS TRUE` and the cast.
  runs: `${COLUMNS}, kept IS TRUE AS kept, expires_at, false AS evicted`,
  run_heads: `${COLUMNS}, false AS kept, CAST(NULL AS bigint) AS expires_at, true AS evicted`,
} as const;

/** To select from. Both databases look up a condition in each of the tables, by its own index. */
export const LISTED_RUNS = `(SELECT ${RUN_TABLES.runs} FROM runs UNION ALL SELECT ${RUN_TABLES.run_heads} FROM run_heads) r`;
