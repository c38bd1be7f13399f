/**
 * Writes to existing runs, in groups: appends of their owners, posts of anybody, releases, and new workspaces. The rows
 * are locked first, so what is checked here (the lease and its epoch, the posts, whether the run has ended) still holds
 * when it is written.
 */
import { isTerminalEvent, TalariaError } from '@talaria/protocol';
import { parkedUntil } from '../advance.ts';
import { expectRecent, runHolder } from '../contents.ts';
import { type AppendOptions, type Lease, LeaseLostError, UnseenPostError, type Wait } from '../journal.ts';
import { admit, isOverdue, type Post } from '../posts.ts';
import type { NewRecord } from '../records.ts';
import type { RunRow } from '../rows.ts';
import { insertGrants } from './approvals.ts';
import { addSmallBlob } from './blobs.ts';
import { addReferences } from './contents.ts';
import type { Statement, Transaction } from './database.ts';
import type { Answer } from './group-commit.ts';
import { turnAdded } from './responses.ts';
import { type Appended, lockRuns, RunBatch } from './run-batch.ts';
import { addTurn, keepSessionFiles, lockSessionsOf } from './sessions.ts';
import { placed } from './workspaces.ts';

export type Write =
  | { kind: 'append'; lease: Lease; records: readonly NewRecord[]; options: AppendOptions }
  | { kind: 'post'; runId: string; post: Post }
  | { kind: 'release'; lease: Lease; wait?: Wait | undefined }
  | { kind: 'park'; lease: Lease; wait: Wait }
  | { kind: 'place'; lease: Lease; serverId: string };

/** How many bytes of small blobs the write brings along. */
export function bytesOf(write: Write): number {
  if (write.kind !== 'append') return 0;
  const { blobs = [] } = write.options;
  return blobs.reduce((sum, blob) => sum + ('bytes' in blob ? blob.bytes.length : 0), 0);
}

/** Reads the rows that `performWrites` needs for its decisions. */
export function lockForWrites(group: readonly Write[]): Statement {
  return lockRuns(group.map((write) => (write.kind === 'post' ? write.runId : write.lease.runId)));
}

export function performWrites(
  tx: Transaction,
  group: readonly Write[],
  locked: readonly RunRow[],
): Answer<Appended>[] {
  const batch = new RunBatch();
  for (const row of locked) batch.add(row);
  const changed = group.flatMap((write) =>
    changesSession(write) ? (batch.get(write.lease.runId)?.row ?? []) : [],
  );
  // A single one needs no order.
  if (changed.length > 1) lockSessionsOf(tx, changed);
  const answers = group.map((write): Answer<Appended> => {
    try {
      return { value: perform(tx, batch, write) };
    } catch (error) {
      return { error: error as Error };
    }
  });
  batch.flush(tx);
  return answers;
}

function changesSession(write: Write): write is Write & { kind: 'append' } {
  return write.kind === 'append' && (write.options.turn ?? write.options.sessionFiles) !== undefined;
}

function perform(tx: Transaction, batch: RunBatch, write: Write): Appended {
  switch (write.kind) {
    case 'append':
      return append(tx, batch, write.lease, write.records, write.options);
    case 'post':
      return post(tx, batch, write.runId, write.post);
    case 'release':
      return release(tx, batch, write.lease, write.wait);
    case 'park':
      return park(tx, batch, write.lease, write.wait);
    case 'place':
      return place(tx, batch, write.lease, write.serverId);
  }
}

function append(
  tx: Transaction,
  batch: RunBatch,
  lease: Lease,
  records: readonly NewRecord[],
  { seenPostedPos = -1, turn, blobs = [], sessionFiles }: AppendOptions,
): Appended {
  if (!isHeld(batch, lease)) throw new LeaseLostError(lease.runId);
  const { state } = batch.get(lease.runId)!.head;
  if (records.some(({ event }) => isTerminalEvent(event)) && state.last_posted_pos > seenPostedPos) {
    throw new UnseenPostError(lease.runId);
  }
  for (const blob of blobs) if (!('bytes' in blob)) expectRecent(blob, tx.now);
  const appended = batch.append(lease.runId, records, tx.now);
  for (const blob of blobs) if ('bytes' in blob) addSmallBlob(tx, blob);
  addReferences(tx, runHolder(lease.runId), blobs);
  if (sessionFiles !== undefined) keepSessionFiles(tx, batch.get(lease.runId)!.row, sessionFiles);
  if (turn !== undefined) {
    addTurn(tx, batch.get(lease.runId)!.row, turn);
    turnAdded(tx, lease.runId);
  }
  return appended;
}

function post(tx: Transaction, batch: RunBatch, runId: string, asked: Post): Appended {
  const run = batch.get(runId);
  if (run === undefined) throw new TalariaError('run_not_found', { message: `Run not found: ${runId}` });
  const { row, head } = run;
  const owned = row.lease_until !== null && row.lease_until > tx.now;
  const overdue = isOverdue(head.state, !owned && row.parked_until === null, tx.now);
  const { records, grants } = admit(head.state, asked, owned, overdue);
  if (grants !== undefined) {
    insertGrants(tx, row.owner, grants.scope === 'session' ? row.session_id : '', grants.patternKeys);
  }
  return batch.append(runId, records, tx.now);
}

/** Does nothing when the lease is lost. */
function release(tx: Transaction, batch: RunBatch, lease: Lease, wait: Wait | undefined): Appended {
  const { runId, epoch } = lease;
  if (!isHeld(batch, lease)) return { runId, records: [], unblocks: false, announced: false };
  const until = wait === undefined ? null : parkedUntil(batch.get(runId)!.head.state, wait, tx.now);
  const released: NewRecord = {
    event: 'run.released',
    private: { epoch, ...(wait === undefined ? {} : { parked: true }) },
  };
  const { records } = batch.append(runId, [released], tx.now);
  batch.setLease(runId, { epoch, lease_owner: null, lease_until: null });
  batch.park(runId, until);
  return { runId, records, unblocks: until === null, announced: false };
}

/** Does nothing when the lease is lost. */
function park(tx: Transaction, batch: RunBatch, lease: Lease, wait: Wait): Appended {
  const { runId } = lease;
  if (isHeld(batch, lease)) batch.park(runId, parkedUntil(batch.get(runId)!.head.state, wait, tx.now));
  return { runId, records: [], unblocks: false, announced: false };
}

function place(tx: Transaction, batch: RunBatch, lease: Lease, serverId: string): Appended {
  if (!isHeld(batch, lease)) throw new LeaseLostError(lease.runId);
  placed(tx, { ...lease, serverId });
  return { runId: lease.runId, records: [], unblocks: false, announced: false };
}

/** An expired lease is still good until somebody else claims the run. */
function isHeld(batch: RunBatch, { runId, epoch }: Lease): boolean {
  const row = batch.get(runId)?.row;
  return row !== undefined && row.finished_at === null && row.epoch === epoch && row.lease_until !== null;
}
