/**
 * Creates runs, in groups. The order for each: is its key used already, does its job still allow it, the limit of the
 * queue, its session. A refused run leaves nothing behind.
 *
 * When several servers create at once, each counts the queue without the runs that the others are about to add:
 * together they can exceed the limit by those.
 */
import { TalariaError } from '@talaria/protocol';
import { runHolder } from '../contents.ts';
import type { CreateLimits, CreateOutcome, NewRun } from '../journal.ts';
import { foldRecord, INITIAL_STATE } from '../run-state.ts';
import { addReferences, lockBlobs } from './contents.ts';
import type { Transaction } from './database.ts';
import type { Answer } from './group-commit.ts';
import { TakenKeys } from './idempotency-keys.ts';
import { admitsRun, beginJob } from './jobs.ts';
import { subscribe } from './outbox.ts';
import { addResponse, sessionOf } from './responses.ts';
import { roomElsewhere } from './servers.ts';
import { forkSessionForRun, useSession } from './sessions.ts';

export interface Create {
  run: NewRun;
  limits: CreateLimits;
}

export async function createRuns(
  tx: Transaction,
  group: readonly Create[],
  serverId: string,
): Promise<Answer<CreateOutcome>[]> {
  const keys = await TakenKeys.take(
    tx,
    group.map(({ run }) => run),
  );
  const queue = await Queue.count(tx, group, serverId);
  const created = new Set<string>();
  const owners = new Set<string>();
  const answers: Answer<CreateOutcome>[] = [];
  for (const { run, limits } of group) {
    const holder = keys.holder(run);
    if (holder !== undefined) {
      const { runId, bodyHash, status } = holder;
      const now = created.has(runId) ? INITIAL_STATE.status : (status ?? 'completed');
      const isSame = bodyHash === run.idempotency?.bodyHash;
      answers.push({ value: isSame ? { kind: 'replayed', runId, status: now } : { kind: 'conflict' } });
      continue;
    }
    try {
      const outcome = await create(tx, run, await queue.excess(run.owner, limits));
      if (outcome.kind === 'created') {
        created.add(run.runId);
        owners.add(run.owner);
        queue.add(run.owner);
      } else keys.giveBack(tx, run);
      answers.push({ value: outcome });
    } catch (error) {
      // A refusal by the database itself undoes the others of the group, too.
      if (!(error instanceof TalariaError)) throw error;
      // Refused before anything was written for it.
      keys.giveBack(tx, run);
      answers.push({ error });
    }
  }
  if (owners.size > 0) {
    // In the same order on all servers, so that no two of them wait for each other.
    tx.send('INSERT INTO owners (owner, turn) SELECT unnest ($1::text[]), 0 ON CONFLICT DO NOTHING', [
      [...owners].sort(),
    ]);
  }
  return answers;
}

async function create(tx: Transaction, run: NewRun, excess: number): Promise<CreateOutcome> {
  if (run.job !== undefined && !(await admitsRun(tx, run.job))) return { kind: 'job_changed' };
  if (excess > 0) return { kind: 'queue_full', excess };
  const { blobs = [] } = run;
  await lockBlobs(tx, blobs);
  const sessionId = await sessionOf(tx, run);
  await forkSessionForRun(tx, run);
  addReferences(tx, runHolder(run.runId), blobs);
  const accepted = { event: 'run.accepted', private: run.request, pos: 0, seq: null, at: tx.now } as const;
  const state = foldRecord(INITIAL_STATE, accepted);
  tx.send(
    `WITH made AS (
       INSERT INTO runs (run_id, owner, session_id, status, created_at, updated_at, next_pos, next_seq, epoch, state, job_id)
       VALUES ($1, $2, $3, $4, $5, $5, 1, 0, 0, $6, $8) RETURNING n)
     INSERT INTO records (run, pos, seq, event, at, private) SELECT n, 0, NULL, 'run.accepted', $5, $7 FROM made`,
    [
      run.runId,
      run.owner,
      sessionId,
      state.status,
      tx.now,
      JSON.stringify(state),
      JSON.stringify(accepted.private),
      run.job?.jobId ?? null,
    ],
  );
  if (run.job !== undefined) beginJob(tx, run.job, run.runId);
  if (run.request.session_named) useSession(tx, run.owner, sessionId, run.runId);
  subscribe(tx, run.runId, run.webhook);
  addResponse(tx, run, sessionId);
  return { kind: 'created' };
}

/** How many runs wait, in total and for each owner of the group. */
class Queue {
  readonly #roomElsewhere: () => Promise<number>;
  #room: number | undefined;
  #total = 0;
  readonly #byOwner = new Map<string, number>();

  static async count(tx: Transaction, group: readonly Create[], serverId: string): Promise<Queue> {
    const owners = [...new Set(group.map(({ run }) => run.owner))];
    const rows = await tx.rows<{ owner: string | null; queued: number }>(
      `SELECT CASE WHEN owner = ANY ($1::text[]) THEN owner END AS owner, count(*) AS queued
         FROM runs WHERE finished_at IS NULL AND lease_until IS NULL AND parked_until IS NULL GROUP BY 1`,
      [owners],
    );
    const queue = new Queue(() => roomElsewhere(tx, serverId));
    for (const { owner, queued } of rows) {
      queue.#total += queued;
      if (owner !== null) queue.#byOwner.set(owner, queued);
    }
    return queue;
  }

  private constructor(roomElsewhere: () => Promise<number>) {
    this.#roomElsewhere = roomElsewhere;
  }

  /** By how many runs the queue is too full for another one of this owner; see `CreateLimits`. */
  async excess(owner: string, { maxQueued, ownerShare }: CreateLimits): Promise<number> {
    const inAll = this.#total + 1 - maxQueued;
    const ofOwner = (this.#byOwner.get(owner) ?? 0) + 1 - ownerShare;
    if (Math.min(inAll, ofOwner) <= 0) return 0;
    // Only computed where it decides.
    this.#room ??= await this.#roomElsewhere();
    return Math.min(inAll - this.#room, ofOwner);
  }

  add(owner: string): void {
    this.#total += 1;
    this.#byOwner.set(owner, (this.#byOwner.get(owner) ?? 0) + 1);
  }
}
