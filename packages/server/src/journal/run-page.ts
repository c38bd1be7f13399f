/**
 * A page of a listing of runs, for both databases: which rows to read, as SQL, and which of them make the page. The
 * drivers provide what the two write differently.
 */
import type { RunStatus } from '@talaria/protocol';
import type { RunFilter } from './journal.ts';
import { RUN_TABLES } from './listed-runs.ts';
import { type ListedRow, toStoredRun } from './rows.ts';
import type { RunState, StoredRun } from './run-state.ts';

/**
 * A search looks at this many runs for a page, so that a word that no run has costs no more than one that many have.
 */
const SEARCHED_MAX = 100;

export interface Dialect {
  /** A placeholder for the value, which is the next one in the text. */
  given(value: string | number): string;
  /** The column, written so that the planner does not choose an index by it. */
  unindexed(column: string): string;
  /** One of the selects whose rows are merged, newest first, up to a number of rows. */
  part(select: string, rows: number): string;
}

/**
 * The rows of the page and at least one more, newest first. `before` is the ordinal the page before ended with.
 *
 * An index has the rows of one table, and of one status, in order: the database merges the newest of each.
 */
export function selectRuns(filter: RunFilter, before: number | undefined, dialect: Dialect): string {
  const { sessionId, jobId, statuses = [], limit, words } = filter;
  const rows = (words === undefined ? limit : SEARCHED_MAX) + 1;
  const byStatus = statuses.length > 1 && sessionId === undefined && jobId === undefined;
  const parts = Object.entries(RUN_TABLES).flatMap(([table, columns]) =>
    (byStatus ? statuses : [undefined]).map((status) => {
      const where = conditions({ filter, before, dialect, table, status });
      return dialect.part(`SELECT ${columns} FROM ${table} WHERE ${where.join(' AND ')}`, rows);
    }),
  );
  return `${parts.join(' UNION ALL ')} ORDER BY n DESC LIMIT ${dialect.given(rows)}`;
}

interface Selection {
  filter: RunFilter;
  before: number | undefined;
  dialect: Dialect;
  table: string;
  /** The only one of the statuses in the filter. */
  status: RunStatus | undefined;
}

/** Each condition uses an index, or filters the result of the most selective one. */
function conditions({ filter, before, dialect, table, status }: Selection): string[] {
  const { given, unindexed } = dialect;
  const { owner, sessionId, jobId, since, until } = filter;
  const statuses = status === undefined ? (filter.statuses ?? []) : [status];
  const where = [`owner = ${given(owner)}`];
  if (sessionId !== undefined) where.push(`session_id = ${given(sessionId)}`);
  if (jobId !== undefined)
    where.push(`${sessionId === undefined ? 'job_id' : unindexed('job_id')} = ${given(jobId)}`);
  if (statuses.length > 0) {
    const isNarrowest = sessionId === undefined && jobId === undefined;
    const column = isNarrowest ? 'status' : unindexed('status');
    where.push(
      statuses.length === 1
        ? `${column} = ${given(statuses[0]!)}`
        : `${column} IN (${statuses.map(given).join(', ')})`,
    );
  }
  if (before !== undefined) where.push(`n < ${given(before)}`);
  // Runs are numbered as they are created, so a time corresponds to a number: the scan ends there. (Only a clock that
  // is set back makes the two orders differ; that can hide runs of the minutes it was set back by.)
  if (since !== undefined) {
    where.push(
      `${unindexed('created_at')} >= ${given(since)}`,
      `n >= (SELECT n FROM ${table} WHERE owner = ${given(owner)} AND created_at >= ${given(since)}
              ORDER BY created_at, n LIMIT 1)`,
    );
  }
  if (until !== undefined) {
    where.push(
      `${unindexed('created_at')} < ${given(until)}`,
      `n <= (SELECT n FROM ${table} WHERE owner = ${given(owner)} AND created_at < ${given(until)}
              ORDER BY created_at DESC, n DESC LIMIT 1)`,
    );
  }
  return where;
}

/** The runs of the page; `end` is the ordinal of the last one that was examined, if there are more. */
export function takePage(rows: Iterable<ListedRow>, filter: RunFilter): { runs: StoredRun[]; end?: number } {
  const { limit, maxChars = Number.POSITIVE_INFINITY, words } = filter;
  const lookedAtMax = words === undefined ? Number.POSITIVE_INFINITY : SEARCHED_MAX;
  const wanted = words?.map((word) => word.toLowerCase()) ?? [];
  const runs: StoredRun[] = [];
  let [lookedAt, chars, end] = [0, 0, 0];
  for (const row of rows) {
    const isFull = runs.length === limit || lookedAt === lookedAtMax || chars >= maxChars;
    if (lookedAt > 0 && isFull) return { runs, end };
    const run = toStoredRun(row);
    if (hasWords(run.state, wanted)) runs.push(run);
    lookedAt += 1;
    chars += row.state.length;
    end = run.ordinal;
  }
  return { runs };
}

/** Whether each word, in lower case, is in the prompt, as far as it is shown, or in the answer. */
function hasWords({ input, output }: RunState, words: readonly string[]): boolean {
  if (words.length === 0) return true;
  const text = `${input ?? ''}\n${output ?? ''}`.toLowerCase();
  return words.every((word) => text.includes(word));
}
