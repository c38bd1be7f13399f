/**
 * Creates runs, in groups. The order for each: is its key used already, does its job still allow it, the limit of the
 * queue, its session. A refused run leaves nothing behind.
 */
import { TalariaError } from '@talaria/protocol';
import { runHolder } from '../contents.ts';
import type { CreateLimits, CreateOutcome, NewRun } from '../journal.ts';
import { INITIAL_STATE } from '../run-state.ts';
import { addReferences, lockBlobs } from './contents.ts';
import type { Transaction } from './database.ts';
import type { Answer } from './group-commit.ts';
import { TakenKeys } from './idempotency-keys.ts';
import { AdmittingJobs } from './jobs.ts';
import { NewRuns } from './new-runs.ts';
import { subscribe } from './outbox.ts';
import type { QueueCount } from './queue-count.ts';
import { addResponse, sessionOf } from './responses.ts';
import { forkSessionForRun } from './sessions.ts';

export interface Create {
  run: NewRun;
  limits: CreateLimits;
}

export async function createRuns(
  tx: Transaction,
  group: readonly Create[],
  queue: QueueCount,
): Promise<Answer<CreateOutcome>[]> {
  const keys = await TakenKeys.take(
    tx,
    group.map(({ run }) => run),
  );
  const jobs = await AdmittingJobs.lock(
    tx,
    group.flatMap(({ run }) => run.job ?? []),
  );
  const made = new NewRuns();
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
      const excess = await queue.excess(tx, run.owner, limits, () => made.flush(tx));
      const outcome = await create(tx, jobs, made, run, excess);
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
  made.flush(tx);
  if (owners.size > 0) {
    // Only those that are not there: a claim of another server may hold the row of an owner, and an insert would wait for it.
    // In the same order on all servers, so that no two of them wait for each other.
    tx.send(
      `INSERT INTO owners (owner, turn)
       SELECT owner, 0 FROM unnest ($1::text[]) AS o (owner)
        WHERE NOT EXISTS (SELECT FROM owners w WHERE w.owner = o.owner)
        ORDER BY owner
           ON CONFLICT DO NOTHING`,
      [[...owners]],
    );
  }
  return answers;
}

async function create(
  tx: Transaction,
  jobs: AdmittingJobs,
  made: NewRuns,
  run: NewRun,
  excess: number,
): Promise<CreateOutcome> {
  if (run.job !== undefined && !jobs.admit(run.job)) return { kind: 'job_changed' };
  if (excess > 0) return { kind: 'queue_full', excess };
  const { blobs = [] } = run;
  await lockBlobs(tx, blobs);
  // Whether a session is busy depends on the runs before this one.
  if (run.response !== undefined || run.sessionFork !== undefined) made.flush(tx);
  const sessionId = await sessionOf(tx, run);
  await forkSessionForRun(tx, run);
  addReferences(tx, runHolder(run.runId), blobs);
  made.add(run, sessionId);
  if (run.job !== undefined) jobs.begin(tx, run.job, run.runId);
  subscribe(tx, run.runId, run.webhook);
  if (run.response !== undefined) {
    // A stored response is not pushed out while its run is unfinished.
    made.flush(tx);
    addResponse(tx, run, run.response, sessionId);
  }
  return { kind: 'created' };
}
