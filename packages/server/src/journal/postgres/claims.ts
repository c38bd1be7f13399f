/**
 * Decides which runs are claimed next (`Journal.claim`), when several servers ask at once.
 *
 * Rows that another transaction holds are skipped, never waited for: they are being claimed, appended to or posted to,
 * and the next claim sees them again. That a session has one run at a time needs no lock: a run is claimed only if no
 * older one of its session is unfinished, and an older one never becomes unfinished again. Suspects, of which only one
 * may be worked on, are claimed under a lock of their own.
 */
import type { Claim } from '../journal.ts';
import { cancelled } from '../posts.ts';
import { type RunRow, toState, toStoredRun } from '../rows.ts';
import { isSuspect } from '../run-state.ts';
import { type Database, NOW, NOW_OR_NEVER, type Transaction } from './database.ts';
import { type Appended, RunBatch } from './run-batch.ts';

/** An arbitrary number that nobody else uses for a lock in this database. */
export const SUSPECT_LOCK = 7_411_250_014;

/** How many runs one claim unparks; the next one finds the others. */
const UNPARK_MAX = 1_000;

export interface ClaimRequest {
  worker: string;
  leaseMs: number;
  limit: number;
}

/**
 * Whether a claim might find anything. Servers ask every few seconds, and all of them at once whenever a run may have
 * become free. Most of these questions end here, with one statement that locks and writes nothing.
 */
export async function mayClaim(database: Database): Promise<boolean> {
  const [row] = await database.rowsByClock<{ any: boolean }>(
    NOW_OR_NEVER,
    `SELECT EXISTS (SELECT 1 FROM runs WHERE finished_at IS NULL AND epoch = 0)
         OR EXISTS (SELECT 1 FROM runs
                     WHERE finished_at IS NULL AND epoch > 0 AND parked_until IS NULL
                       AND (lease_until IS NULL OR lease_until <= ${NOW}))
         OR EXISTS (SELECT 1 FROM runs WHERE parked_until <= ${NOW})
         AS any`,
  );
  return row?.any === true;
}

export async function claimRuns(
  tx: Transaction,
  { worker, leaseMs, limit }: ClaimRequest,
): Promise<{ claims: Claim[]; cancelled: Appended[] }> {
  // These three are one round trip. The database runs them in this order, so the others find what the first unparks.
  const [, ended, found] = await Promise.all([unparkDue(tx), cancelStopped(tx), findWaiting(tx, limit)]);
  // The next run of a session may have waited for one that was cancelled here.
  const waiting = ended.length === 0 ? found : await findWaiting(tx, limit);
  const rows = await lockInTurns(tx, limit, waiting);
  const batch = new RunBatch();
  for (const row of rows) {
    const { run_id: runId } = row;
    const epoch = row.epoch + 1;
    batch.add(row);
    batch.setLease(runId, { epoch, lease_owner: worker, lease_until: tx.now + leaseMs });
    batch.append(runId, [{ event: 'run.claimed', private: { epoch } }], tx.now);
  }
  batch.flush(tx);
  const claims = rows.map(({ run_id: runId }): Claim => {
    const row = batch.rowAfter(runId);
    return { runId, epoch: row.epoch, run: toStoredRun(row) };
  });
  return { claims, cancelled: ended };
}

/**
 * Releases the runs of a worker that is dead. Nobody is woken: its next life, which asks first, has the files of these
 * runs.
 */
export async function voidLeases(tx: Transaction, worker: string): Promise<void> {
  await tx.rows(
    `UPDATE runs SET lease_owner = NULL, lease_until = NULL
      WHERE n IN (SELECT n FROM runs WHERE finished_at IS NULL AND epoch > 0 AND lease_owner = $1
                   ORDER BY n FOR UPDATE)`,
    [worker],
  );
}

/** Runs that were not answered in time. */
async function unparkDue(tx: Transaction): Promise<void> {
  await tx.rows(
    `UPDATE runs SET parked_until = NULL
      WHERE n = ANY (ARRAY (
        SELECT n FROM runs WHERE parked_until <= $1 ORDER BY parked_until LIMIT $2 FOR UPDATE SKIP LOCKED))`,
    [tx.now, UNPARK_MAX],
  );
}

/** Runs that were told to stop and that nobody holds. */
async function cancelStopped(tx: Transaction): Promise<Appended[]> {
  const rows = await tx.rows<RunRow>(
    `SELECT * FROM runs WHERE status = 'stopping' AND (lease_until IS NULL OR lease_until <= $1)
      ORDER BY n FOR UPDATE SKIP LOCKED`,
    [tx.now],
  );
  const batch = new RunBatch();
  const ended = rows.map((row) => {
    batch.add(row);
    return batch.append(row.run_id, [cancelled(toState(row))], tx.now);
  });
  batch.flush(tx);
  return ended;
}

async function mayTakeSuspect(tx: Transaction): Promise<boolean> {
  const [lock] = await tx.rows<{ taken: boolean }>('SELECT pg_try_advisory_xact_lock($1) AS taken', [
    SUSPECT_LOCK,
  ]);
  if (lock?.taken !== true) return false;
  const rows = await tx.rows<Pick<RunRow, 'state'>>(
    `SELECT state FROM runs
      WHERE finished_at IS NULL AND epoch > 0 AND parked_until IS NULL AND lease_until > $1`,
    [tx.now],
  );
  return !rows.some((row) => isSuspect(toState(row), true));
}

/** Runs, owner by owner, until there are enough or the others are locked by somebody else. */
async function lockInTurns(tx: Transaction, limit: number, found: readonly Waiting[]): Promise<RunRow[]> {
  const taken: RunRow[] = [];
  const passedOver: number[] = [];
  let takesSuspect: boolean | undefined;
  const admits = async (row: RunRow): Promise<boolean> => {
    if (!isSuspect(toState(row), false)) return true;
    const admitted = takesSuspect ?? (await mayTakeSuspect(tx));
    takesSuspect = false;
    return admitted;
  };
  for (let waiting = found; ; ) {
    const wanted = limit - taken.length;
    const chosen = inTurns(waiting, taken, wanted);
    if (chosen.length === 0) break;
    const rows = await tx.rows<RunRow>(
      `SELECT * FROM runs WHERE n = ANY ($1::bigint[]) AND ${isWaiting('runs', '$2')}
        ORDER BY n FOR UPDATE SKIP LOCKED`,
      [chosen.map(({ n }) => n), tx.now],
    );
    const locked = new Map(rows.map((row) => [row.n, row]));
    for (const { n } of chosen) {
      const row = locked.get(n);
      if (row !== undefined && (await admits(row))) taken.push(row);
      else passedOver.push(n);
    }
    // If there were fewer than wanted, no others wait.
    if (taken.length === limit || chosen.length < wanted) break;
    waiting = await findWaiting(tx, limit - taken.length, [...taken.map(({ n }) => n), ...passedOver]);
  }
  if (taken.length > 0) {
    // It gives turns in the order of the choice, so that the owner served last comes last the next time; materialized, because
    // under some plans a join would evaluate them again for every owner. It locks the rows in the order of names, the same on
    // all servers, so that no two of them wait for each other.
    tx.send(
      `WITH locked AS MATERIALIZED (
         SELECT owner FROM owners WHERE owner = ANY ($1::text[]) ORDER BY owner FOR UPDATE),
       t AS MATERIALIZED (SELECT owner, nextval('turns') AS turn FROM unnest ($1::text[]) AS u (owner))
       UPDATE owners o SET turn = t.turn
         FROM locked JOIN t USING (owner)
        WHERE o.owner = locked.owner`,
      [lastTurns(taken)],
    );
  }
  return taken;
}

/** A run that may be claimed, and what decides whether it is the turn of its owner. */
interface Waiting {
  n: number;
  owner: string;
  turn: number;
  /** How many runs of the owner are under a lease. */
  leased: number;
}

/** Whether nobody holds the run, and nothing outside is waited for. */
function isWaiting(run: string, now: string): string {
  return `${run}.finished_at IS NULL AND ${run}.parked_until IS NULL AND ${run}.status <> 'stopping'
    AND (${run}.lease_until IS NULL OR ${run}.lease_until <= ${now})`;
}

/**
 * At most `limit` of each owner: first those that were worked on before, then new ones, each in the order of creation. A run that
 * was worked on before was the first of its session when it was claimed, and still is.
 */
async function findWaiting(
  tx: Transaction,
  limit: number,
  except: readonly number[] = [],
): Promise<Waiting[]> {
  if (limit <= 0) return [];
  const begun = `r.owner = o.owner AND r.epoch > 0 AND ${isWaiting('r', '$3')}`;
  const fresh = `r.owner = o.owner AND r.epoch = 0 AND r.finished_at IS NULL`;
  return tx.rows<Waiting>(
    `WITH working AS MATERIALIZED (
       SELECT owner, count(*) AS leased FROM runs
        WHERE finished_at IS NULL AND epoch > 0 AND parked_until IS NULL AND lease_until > $3
        GROUP BY owner),
     waiting AS MATERIALIZED (
       SELECT o.owner, o.turn, coalesce(l.leased, 0) AS leased
         FROM owners o LEFT JOIN working l USING (owner)
        WHERE EXISTS (SELECT 1 FROM runs r WHERE ${fresh}) OR EXISTS (SELECT 1 FROM runs r WHERE ${begun}))
     SELECT f.n, o.owner, o.turn, o.leased
       FROM waiting o CROSS JOIN LATERAL (
         (SELECT r.n, true AS begun FROM runs r
           WHERE ${begun} AND r.n <> ALL ($2::bigint[])
           ORDER BY r.n LIMIT $1)
         UNION ALL
         (SELECT r.n, false AS begun FROM runs r
           WHERE ${fresh} AND r.n <> ALL ($2::bigint[])
             AND NOT EXISTS (SELECT 1 FROM runs e
                              WHERE e.owner = r.owner AND e.session_id = r.session_id AND e.n < r.n
                                AND e.finished_at IS NULL)
           ORDER BY r.n LIMIT $1)) f
      ORDER BY f.begun DESC, f.n`,
    [limit, except, tx.now],
  );
}

/**
 * The next run always belongs to the owner with the fewest under a lease; among equals to the one served longest ago,
 * and among owners never served to the one that waits longest.
 */
function inTurns(waiting: readonly Waiting[], taken: readonly RunRow[], limit: number): Waiting[] {
  const queues = [...Map.groupBy(waiting, ({ owner }) => owner).values()].map(([first, ...others]) => ({
    turn: first!.turn,
    leased: first!.leased + taken.filter(({ owner }) => owner === first!.owner).length,
    rows: [first!, ...others],
  }));
  let turn = Math.max(0, ...queues.map((queue) => queue.turn));
  const chosen: Waiting[] = [];
  while (chosen.length < limit) {
    const [next] = queues
      .filter(({ rows }) => rows.length > 0)
      .sort((a, b) => a.leased - b.leased || a.turn - b.turn || a.rows[0]!.n - b.rows[0]!.n);
    const row = next?.rows.shift();
    if (next === undefined || row === undefined) break;
    next.leased += 1;
    next.turn = ++turn;
    chosen.push(row);
  }
  return chosen;
}

/** The owners in the order of their last rows, each owner once. */
function lastTurns(rows: readonly RunRow[]): string[] {
  const owners = new Set<string>();
  for (const { owner } of rows) {
    owners.delete(owner);
    owners.add(owner);
  }
  return [...owners];
}
