/**
 * The part of the Postgres driver that keeps sessions. Functions that take a transaction are part of the transaction of
 * a run.
 */
import { TalariaError } from '@talaria/protocol';
import { copiedFiles, type KeptSessionFiles, type SessionFiles } from '../checkpoints.ts';
import { type Holder, runHolder, sessionHolder } from '../contents.ts';
import type { Cursors } from '../cursors.ts';
import type { NewRun } from '../journal.ts';
import {
  changedColumns,
  IS_TOOL_RESULT,
  previewOf,
  type SessionMessageRow,
  type SessionRow,
  toMessageText,
  toolCallsIn,
  toSessionFiles,
  toStoredMessage,
  toStoredSession,
} from '../session-rows.ts';
import {
  DEFAULT_SOURCE,
  type MessageRange,
  type NewFork,
  type NewSession,
  type SessionChange,
  type SessionFilter,
  type SessionPage,
  type Sessions,
  type StoredMessage,
  type StoredSession,
  type Turn,
} from '../sessions.ts';
import { addReferences, lockBlobs } from './contents.ts';
import { ASKED, type Database, NOW, type Transaction } from './database.ts';
import { headsOfDeletedSessions } from './heads.ts';
import { leave } from './leftovers.ts';

/**
 * Runs are being created in the sessions, which exist from now on. It locks the sessions in the order of their names, the
 * same on all servers, so that no two of them wait for each other. The caller sends it before it inserts the runs, so that
 * within a session their numbers are in the order of the commits.
 */
export function useSessions(
  tx: Transaction,
  uses: readonly { owner: string; sessionId: string; runId: string }[],
): void {
  if (uses.length === 0) return;
  // Each session once, with its last run; the one used last has the highest place.
  const last = new Map<string, (typeof uses)[number]>();
  for (const use of uses) {
    const name = JSON.stringify([use.owner, use.sessionId]);
    last.delete(name);
    last.set(name, use);
  }
  const asked = [...last.values()];
  tx.send(
    `WITH asked AS MATERIALIZED (
       SELECT owner, session_id, run_id, nextval('session_places') AS place
         FROM unnest ($1::text[], $2::text[], $3::text[]) AS a (owner, session_id, run_id))
     INSERT INTO sessions (owner, session_id, created_at, used_at, place, next_pos, context_from, turns, last_run_id,
                           tool_calls, input_tokens, output_tokens)
     SELECT owner, session_id, $4, $4, place, 0, 0, 0, run_id, 0, 0, 0 FROM asked ORDER BY owner, session_id
     ON CONFLICT (owner, session_id) DO UPDATE
       SET used_at = excluded.used_at, place = excluded.place, last_run_id = excluded.last_run_id,
           ended_at = NULL, end_reason = NULL`,
    [
      asked.map(({ owner }) => owner),
      asked.map(({ sessionId }) => sessionId),
      asked.map(({ runId }) => runId),
      tx.now,
    ],
  );
}

/** Locks the sessions of these runs in the order of `useSessions`, before the caller changes them in another order. */
export function lockSessionsOf(
  tx: Transaction,
  runs: readonly { owner: string; session_id: string }[],
): void {
  tx.send(
    `SELECT FROM sessions JOIN unnest ($1::text[], $2::text[]) AS r (owner, session_id) USING (owner, session_id)
      ORDER BY owner, session_id FOR NO KEY UPDATE OF sessions`,
    [runs.map(({ owner }) => owner), runs.map(({ session_id: id }) => id)],
  );
}

export function addTurn(
  tx: Transaction,
  { owner, session_id: sessionId, run_id: runId }: { owner: string; session_id: string; run_id: string },
  turn: Turn,
): void {
  const { messages, replaces, usage } = turn;
  tx.send(
    `WITH grown AS (
       UPDATE sessions SET next_pos = next_pos + $3, turns = turns + 1, used_at = $4, place = nextval('session_places'),
                           context_from = CASE WHEN $5 THEN next_pos ELSE context_from END,
                           preview = CASE WHEN next_pos = 0 THEN $8 ELSE preview END,
                           tool_calls = tool_calls + $9, input_tokens = input_tokens + $10,
                           output_tokens = output_tokens + $11
        WHERE owner = $1 AND session_id = $2
       RETURNING n, next_pos - $3 AS first_pos, turns - 1 AS turn, context_from)
     INSERT INTO session_messages (session, pos, turn, run_id, at, begins_context, message)
     SELECT n, first_pos + place - 1, turn, $6, $4, first_pos + place - 1 = context_from, message
       FROM grown, unnest ($7::text[]) WITH ORDINALITY AS m (message, place)`,
    [
      owner,
      sessionId,
      messages.length,
      tx.now,
      replaces,
      runId,
      messages.map(toMessageText),
      previewOf(turn),
      toolCallsIn(turn),
      usage?.input_tokens ?? 0,
      usage?.output_tokens ?? 0,
    ],
  );
}

/** The run holds all of these blobs, and nobody can evict it before this transaction is over. */
export function keepSessionFiles(
  tx: Transaction,
  { owner, session_id: sessionId }: { owner: string; session_id: string },
  { files, blobIds }: KeptSessionFiles,
): void {
  const holder = sessionHolder(owner, sessionId);
  tx.send('UPDATE sessions SET files = $3 WHERE owner = $1 AND session_id = $2', [
    owner,
    sessionId,
    JSON.stringify(files),
  ]);
  tx.send('DELETE FROM blob_refs WHERE holder = $1 AND blob_id <> ALL ($2::text[])', [holder, blobIds]);
  addReferences(
    tx,
    holder,
    blobIds.map((blobId) => ({ blobId, from: runHolder(files.run_id) })),
  );
}

/** Locks the session against use, additions and deletion. */
export async function lockSession(tx: Transaction, n: number): Promise<SessionRow | undefined> {
  const [row] = await tx.rows<SessionRow>('SELECT * FROM sessions WHERE n = $1 FOR UPDATE', [n]);
  return row;
}

/** Locks the session against deletion only; runs use it and add to it. Undefined when it ends at `pos`. */
export async function holdSessionBeyond(
  tx: Transaction,
  n: number,
  pos: number | null,
): Promise<SessionRow | undefined> {
  const [row] = await tx.rows<SessionRow>(
    'SELECT * FROM sessions WHERE n = $1 AND next_pos > $2 FOR KEY SHARE',
    [n, pos],
  );
  return row;
}

/** Whether a run of the session is unfinished. */
export async function isSessionBusy(tx: Transaction, owner: string, sessionId: string): Promise<boolean> {
  const rows = await tx.rows(
    'SELECT 1 FROM runs WHERE owner = $1 AND session_id = $2 AND finished_at IS NULL LIMIT 1',
    [owner, sessionId],
  );
  return rows.length > 0;
}

/** However long it takes, additions to the other session do not wait for it. */
export async function forkSession(
  tx: Transaction,
  { owner, from, into, upTo, title, files }: NewFork,
): Promise<StoredSession> {
  const [source] = await tx.rows<SessionRow>(
    'SELECT * FROM sessions WHERE owner = $1 AND session_id = $2 FOR KEY SHARE',
    [owner, from],
  );
  if (source === undefined) throw new TalariaError('session_not_found');
  const [made] = await tx.rows<{ n: number }>(
    `INSERT INTO sessions (owner, session_id, created_at, used_at, place, next_pos, context_from, turns, forked_from,
                           title, system_prompt, source, model, preview, input_tokens, output_tokens)
     VALUES ($1, $2, $3, $3, nextval('session_places'), 0, 0, 0, $4, $5, $6, $7, $8, $9, 0, 0)
     ON CONFLICT DO NOTHING RETURNING n`,
    [
      owner,
      into,
      tx.now,
      from,
      title === undefined ? source.title : title,
      source.system_prompt,
      source.source,
      source.model,
      upTo === 0 ? null : source.preview,
    ],
  );
  if (made === undefined) throw new TalariaError('session_exists');
  tx.send(
    `INSERT INTO session_messages (session, pos, turn, run_id, at, begins_context, message)
     SELECT $1, pos, turn, run_id, at, begins_context, message FROM session_messages WHERE session = $2 AND pos < $3`,
    [made.n, source.n, upTo ?? source.next_pos],
  );
  if (files === undefined) await shareFiles(tx, source, made.n, sessionHolder(owner, into));
  else if (files !== null) await copyFiles(tx, { owner, session_id: into }, files);
  const [fork] = await tx.rows<SessionRow>(
    `UPDATE sessions SET (next_pos, context_from, turns, tool_calls) = (
       SELECT count(*), coalesce($2, max(pos) FILTER (WHERE begins_context), 0), coalesce(max(turn) + 1, 0),
              count(*) FILTER (WHERE ${IS_TOOL_RESULT})
         FROM session_messages WHERE session = $1)
      WHERE n = $1 RETURNING *`,
    // Also when no message is left to mark the beginning.
    [made.n, upTo === undefined ? source.context_from : null],
  );
  return toStoredSession(fork!);
}

/** Copies the files of a run, under a lock on its blobs: another server may evict the run meanwhile. */
async function copyFiles(
  tx: Transaction,
  session: { owner: string; session_id: string },
  { files, blobIds }: KeptSessionFiles,
): Promise<void> {
  await lockBlobs(
    tx,
    blobIds.map((blobId) => ({ blobId, from: runHolder(files.run_id) })),
  );
  keepSessionFiles(tx, session, { files: copiedFiles(files), blobIds });
}

/** Called last, because from then on no run of the other session can end before this transaction has. */
async function shareFiles(tx: Transaction, source: SessionRow, n: number, holder: Holder): Promise<void> {
  const [row] = await tx.rows<Pick<SessionRow, 'files'>>(
    'SELECT files FROM sessions WHERE n = $1 AND files IS NOT NULL FOR SHARE',
    [source.n],
  );
  const files = row && toSessionFiles(row);
  if (files === undefined) return;
  tx.send('UPDATE sessions SET files = $2 WHERE n = $1', [n, JSON.stringify(copiedFiles(files))]);
  tx.send(
    `INSERT INTO blob_refs (holder, blob_id)
     SELECT $1, blob_id FROM (SELECT blob_id FROM blob_refs WHERE holder = $2 FOR KEY SHARE) shared`,
    [holder, sessionHolder(source.owner, source.session_id)],
  );
}

/** The session of a run's fork, if it has one of its own. */
export async function forkSessionForRun(
  tx: Transaction,
  { owner, sessionId, sessionFork }: NewRun,
): Promise<void> {
  if (sessionFork === undefined) return;
  const { runId, upTo, files } = sessionFork;
  const [from] = await tx.rows<Pick<SessionRow, 'session_id'>>(
    `SELECT s.session_id FROM runs r JOIN sessions s ON s.owner = r.owner AND s.session_id = r.session_id
      WHERE r.run_id = $1 AND r.owner = $2 FOR KEY SHARE OF s`,
    [runId, owner],
  );
  // Read under the lock: a later session of the same name is not the one that the run is in.
  const [gone] = await tx.rows('SELECT 1 FROM runs WHERE run_id = $1 AND session_gone', [runId]);
  if (from !== undefined && gone === undefined) {
    await forkSession(tx, { owner, from: from.session_id, into: sessionId, upTo, files });
  } else if (upTo > 0) throw new TalariaError('session_not_found');
}

export class PostgresSessions implements Sessions {
  readonly #database: Database;
  readonly #cursors: Cursors;

  constructor(database: Database, cursors: Cursors) {
    this.#database = database;
    this.#cursors = cursors;
  }

  create({ owner, sessionId, title, systemPrompt, source, model }: NewSession): Promise<StoredSession> {
    return this.#database.transaction(ASKED, async (tx) => {
      const [made] = await tx.rows<SessionRow>(
        `INSERT INTO sessions (owner, session_id, created_at, used_at, place, next_pos, context_from, turns,
                               title, system_prompt, source, model, tool_calls, input_tokens, output_tokens)
         VALUES ($1, $2, $3, $3, nextval('session_places'), 0, 0, 0, $4, $5, $6, $7, 0, 0, 0)
         ON CONFLICT DO NOTHING RETURNING *`,
        [owner, sessionId, tx.now, title, systemPrompt, source, model],
      );
      if (made === undefined) throw new TalariaError('session_exists');
      return toStoredSession(made);
    });
  }

  update(owner: string, sessionId: string, change: SessionChange): Promise<StoredSession> {
    return this.#database.transaction(ASKED, async (tx) => {
      const columns = changedColumns(change, tx.now);
      // Nothing to set means no statement; the number of turns stays unchanged.
      const sets = ['turns = turns', ...columns.map(([column], i) => `${column} = $${i + 3}`)];
      const [row] = await tx.rows<SessionRow>(
        `UPDATE sessions SET ${sets.join(', ')}
          WHERE owner = $1 AND session_id = $2 RETURNING *`,
        [owner, sessionId, ...columns.map(([, value]) => value)],
      );
      if (row === undefined) throw new TalariaError('session_not_found');
      return toStoredSession(row);
    });
  }

  async get(owner: string, sessionId: string): Promise<StoredSession | undefined> {
    const [row] = await this.#database.rows<SessionRow>(
      ASKED,
      'SELECT * FROM sessions WHERE owner = $1 AND session_id = $2',
      [owner, sessionId],
    );
    return row && toStoredSession(row);
  }

  async list(filter: SessionFilter): Promise<SessionPage> {
    const { owner, after, offset, limit, source, title, includeHidden } = filter;
    const before = after === undefined ? Number.MAX_SAFE_INTEGER : this.#cursors.open(owner, after);
    // One more than requested shows whether there are more.
    const rows = await this.#database.rows<SessionRow>(
      ASKED,
      `SELECT * FROM sessions
        WHERE owner = $1 AND place < $2 AND ($4 OR NOT hidden)
          AND ($5::text IS NULL OR coalesce(source, $6) = $5) AND ($7::text IS NULL OR title = $7)
        ORDER BY place DESC LIMIT $3 OFFSET $8`,
      [
        owner,
        before,
        limit + 1,
        includeHidden === true,
        source ?? null,
        DEFAULT_SOURCE,
        title ?? null,
        offset ?? 0,
      ],
    );
    const page = rows.slice(0, limit);
    const sessions = page.map(toStoredSession);
    const last = page.at(-1);
    if (rows.length <= limit || last === undefined) return { sessions };
    return { sessions, next: this.#cursors.seal(owner, last.place) };
  }

  async messages(
    owner: string,
    sessionId: string,
    { from, to, limit, maxChars, latest = false }: MessageRange,
  ): Promise<StoredMessage[]> {
    const order = latest ? 'DESC' : 'ASC';
    const rows = await this.#database.rows<SessionMessageRow>(
      ASKED,
      `SELECT pos, run_id, at, message FROM (
         SELECT *, sum(length(message)) OVER (ORDER BY pos ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
           FROM (SELECT * FROM session_messages
                  WHERE session = (SELECT n FROM sessions WHERE owner = $1 AND session_id = $2)
                    AND pos >= $3 AND ($4::integer IS NULL OR pos < $4)
                  ORDER BY pos ${order} LIMIT $5) page) sized
        WHERE coalesce(before, 0) < $6 ORDER BY pos`,
      [owner, sessionId, from, to ?? null, limit ?? null, maxChars ?? Number.MAX_SAFE_INTEGER],
    );
    return rows.map(toStoredMessage);
  }

  async files(owner: string, sessionId: string): Promise<SessionFiles | undefined> {
    const [row] = await this.#database.rows<Pick<SessionRow, 'files'>>(
      ASKED,
      'SELECT files FROM sessions WHERE owner = $1 AND session_id = $2',
      [owner, sessionId],
    );
    return row && toSessionFiles(row);
  }

  fork(fork: NewFork): Promise<StoredSession> {
    return this.#database.transaction(ASKED, (tx) => forkSession(tx, fork));
  }

  delete(owner: string, sessionId: string): Promise<void> {
    return this.#database.transaction(ASKED, async (tx) => {
      const [row] = await tx.rows<SessionRow>(
        'SELECT * FROM sessions WHERE owner = $1 AND session_id = $2 FOR UPDATE',
        [owner, sessionId],
      );
      if (row === undefined) throw new TalariaError('session_not_found');
      if (await isSessionBusy(tx, owner, sessionId)) throw new TalariaError('session_active_turn');
      await remove(tx, [row]);
    });
  }

  async sweep(unusedMs: number, limit: number): Promise<number> {
    const isAny = await this.#database.rowsByClock(
      ASKED,
      `SELECT 1 FROM sessions WHERE used_at <= ${NOW} - $2 ORDER BY used_at LIMIT 1`,
      [unusedMs],
    );
    if (isAny.length === 0) return 0;
    return this.#database.transaction(ASKED, async (tx) => {
      const unused = await tx.rows<SessionRow>(
        `SELECT * FROM sessions s
          WHERE used_at <= $1 AND NOT EXISTS (
            SELECT 1 FROM runs r WHERE r.owner = s.owner AND r.session_id = s.session_id AND r.finished_at IS NULL)
          ORDER BY used_at LIMIT $2 FOR UPDATE SKIP LOCKED`,
        [tx.now - unusedMs, limit],
      );
      await remove(tx, unused);
      return unused.length;
    });
  }
}

async function remove(tx: Transaction, sessions: readonly SessionRow[]): Promise<void> {
  const ns = sessions.map(({ n }) => n);
  const named = [sessions.map(({ owner }) => owner), sessions.map(({ session_id: id }) => id)];
  leave(
    tx,
    sessions.map(({ n, next_pos: upTo }) => ({ of: 'session', n, up_to: upTo })),
  );
  tx.send('DELETE FROM sessions WHERE n = ANY ($1::bigint[])', [ns]);
  tx.send('DELETE FROM blob_refs WHERE holder = ANY ($1::text[])', [
    sessions.map(({ owner, session_id: id }) => sessionHolder(owner, id)),
  ]);
  tx.send('DELETE FROM conversations WHERE session = ANY ($1::bigint[])', [ns]);
  tx.send(
    `DELETE FROM grants g USING unnest ($1::text[], $2::text[]) AS s (owner, session_id)
      WHERE g.owner = s.owner AND g.session_id = s.session_id`,
    named,
  );
  tx.send(
    `UPDATE runs r SET session_gone = true FROM unnest ($1::text[], $2::text[]) AS s (owner, session_id)
      WHERE r.owner = s.owner AND r.session_id = s.session_id`,
    named,
  );
  await headsOfDeletedSessions(tx, sessions);
}
