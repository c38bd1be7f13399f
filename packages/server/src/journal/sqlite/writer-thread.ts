/**
 * The one writer of the database, on a thread of its own so that waiting for the disk never blocks the server. Group
 * commit: requests that come during a commit go into the next one, so a slow disk makes larger groups, not longer
 * queues.
 *
 * It has one database at a time. It answers `open` with `ready` or `failed`, and `close` with `closed`; then it can open the
 * next.
 */
import { DatabaseSync } from 'node:sqlite';
import { parentPort, receiveMessageOnPort } from 'node:worker_threads';
import { failpoint } from '../../basics/failpoints.ts';
import { expectWhole } from '../moving/unfinished-move.ts';
import { migrate } from './migrations.ts';
import { moveState } from './move-mark.ts';
import { SqliteWriter } from './writer.ts';
import {
  type CommitMeasure,
  type FromWriter,
  perform,
  type ToWriter,
  toFailure,
  type WriteRequest,
  type WriteResponse,
} from './writer-protocol.ts';

/** Limits how long one commit can delay the answer to its first request. */
const GROUP_MAX = 1000;

if (parentPort === null) throw new Error('writer-thread.ts runs as a worker thread');
const port = parentPort;
const send = (message: FromWriter) => port.postMessage(message);

let receive: ((message: ToWriter) => void) | undefined;
port.on('message', (message: ToWriter) => {
  if (message.type === 'open') begin(message.path);
  else receive?.(message);
});

function begin(path: string): void {
  try {
    const { db, writer } = open(path);
    receive = serve(db, writer);
    send({ type: 'ready', depth: writer.queue.depth, mark: writer.marks.next });
  } catch (error) {
    send({ type: 'failed', message: error instanceof Error ? error.message : String(error) });
  }
}

function open(path: string): { db: DatabaseSync; writer: SqliteWriter } {
  const db = new DatabaseSync(path);
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY');
  expectWhole(moveState(db));
  migrate(db);
  return { db, writer: new SqliteWriter(db) };
}

function serve(db: DatabaseSync, writer: SqliteWriter): (message: ToWriter) => void {
  const waiting: WriteRequest[] = [];
  let closing = false;

  const take = (message: ToWriter): void => {
    if (message.type === 'close') closing = true;
    else if (message.type === 'write') waiting.push(...message.requests);
  };

  return (first) => {
    take(first);
    for (let more = receiveMessageOnPort(port); more !== undefined; more = receiveMessageOnPort(port)) {
      take(more.message as ToWriter);
    }
    while (waiting.length > 0) {
      const { responses, commit } = measuredCommit(db, writer, waiting.splice(0, GROUP_MAX));
      send({ type: 'done', responses, depth: writer.queue.depth, mark: writer.marks.next, commit });
    }
    if (closing) {
      db.close();
      receive = undefined;
      send({ type: 'closed' });
    }
  };
}

function measuredCommit(db: DatabaseSync, writer: SqliteWriter, group: WriteRequest[]) {
  const startedAt = performance.now();
  const writtenBefore = writer.recordsWritten;
  const { responses, failed } = commitGroup(db, writer, group);
  const commit: CommitMeasure = {
    durationMs: performance.now() - startedAt,
    records: failed ? 0 : writer.recordsWritten - writtenBefore,
    failed,
  };
  return { responses, commit };
}

/** Runs the group in one transaction. A refused request is undone alone; a failed commit fails all of them. */
function commitGroup(
  db: DatabaseSync,
  writer: SqliteWriter,
  group: WriteRequest[],
): { responses: WriteResponse[]; failed: boolean } {
  const mark = writer.queue.mark();
  const writtenBefore = writer.recordsWritten;
  try {
    writer.marks.reserve();
    db.exec('BEGIN IMMEDIATE');
    const responses = group.map((request) => attempt(db, writer, request));
    const writes = writer.recordsWritten > writtenBefore;
    if (writes) failpoint('journal.before-commit');
    db.exec('COMMIT');
    writer.queue.settle();
    if (writes) failpoint('journal.after-commit');
    return { responses, failed: false };
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    writer.queue.rollBack(mark);
    const failure = toFailure(error);
    return { responses: group.map(({ id }) => ({ id, error: failure })), failed: true };
  }
}

function attempt(db: DatabaseSync, writer: SqliteWriter, request: WriteRequest): WriteResponse {
  const mark = writer.queue.mark();
  db.exec('SAVEPOINT request');
  try {
    const value = perform(writer, request);
    db.exec('RELEASE request');
    return { id: request.id, value };
  } catch (error) {
    // A full disk or an I/O error may have ended the whole transaction; then the group fails as one.
    if (!db.isTransaction) throw error;
    db.exec('ROLLBACK TO request; RELEASE request');
    writer.queue.rollBack(mark);
    return { id: request.id, error: toFailure(error) };
  }
}
