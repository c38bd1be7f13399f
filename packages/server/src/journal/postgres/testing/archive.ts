/**
 * A database as large as that of a busy service, made in seconds: two hundred thousand records of twenty thousand runs,
 * most of them finished, and a matching amount of everything else. What waits at any moment (runs for a worker, messages
 * for their receiver) is little compared with what is kept, as in a service that keeps up.
 */
import pg from 'pg';
import { advance } from '../../advance.ts';
import { INITIAL_STATE } from '../../run-state.ts';
import { completed } from '../../testing/records.ts';

export const ARCHIVE = {
  runs: 20_000,
  /** Of runs that were evicted before. */
  heads: 50_000,
  recordsPerRun: 10,
  /** The last ones of all runs. */
  queued: 300,
  leased: 100,
  owners: 10,
  sessions: 5_000,
  messagesPerSession: 20,
  receivers: 20,
};

/** Into a database that has its tables and nothing else. */
export async function fillArchive(url: string): Promise<void> {
  const { runs, heads, recordsPerRun, queued, leased, owners, sessions, messagesPerSession, receivers } =
    ARCHIVE;
  const finished = runs - queued - leased;
  // Heads are those of earlier runs.
  const first = heads + 1;
  const head = { updatedAt: 0, nextPos: 0, nextSeq: 0, state: INITIAL_STATE };
  const [newState, endedState] = [INITIAL_STATE, advance('run_0', head, [completed()], 0).state].map(
    (state) => JSON.stringify(state),
  );
  const client = new pg.Client(url);
  await client.connect();
  const fill = (sql: string, values: unknown[] = []) => client.query(sql, values);
  try {
    // Each run finished a second after the one before it; the last one now.
    const now = '(extract(epoch FROM now()) * 1000)::bigint';
    await fill(`ALTER TABLE runs ALTER COLUMN n RESTART WITH ${first}`);
    await fill(
      `INSERT INTO runs (run_id, owner, session_id, status, created_at, updated_at, finished_at, next_pos, next_seq,
                         epoch, lease_owner, lease_until, settled, state)
       SELECT 'run_' || i, 'owner_' || i % ${owners}, 'session_' || i % ${sessions},
              CASE WHEN i > ${finished + leased} THEN 'started' WHEN i > ${finished} THEN 'running'
                   WHEN i % 10 = 0 THEN 'failed' ELSE 'completed' END,
              t, t, CASE WHEN i <= ${finished} THEN t END, ${recordsPerRun}, ${recordsPerRun},
              CASE WHEN i > ${finished + leased} THEN 0 ELSE 1 END,
              CASE WHEN i BETWEEN ${finished + 1} AND ${finished + leased} THEN 'another' END,
              CASE WHEN i BETWEEN ${finished + 1} AND ${finished + leased} THEN ${now} + 3600000 END,
              CASE WHEN i <= ${finished} THEN i::text::xid8 END, CASE WHEN i <= ${finished} THEN $1 ELSE $2 END
         FROM (SELECT i, ${now} - (${runs} - i) * 1000 AS t FROM generate_series (1, ${runs}) i) r`,
      [endedState, newState],
    );
    await fill(
      `INSERT INTO run_heads (n, run_id, owner, session_id, status, created_at, updated_at, finished_at, next_seq, changed,
                              state)
       SELECT ${heads} - i, 'head_' || i, 'owner_' || i % ${owners}, 'session_' || i % ${sessions},
              CASE WHEN i % 10 = 0 THEN 'failed' ELSE 'completed' END, t, t, t, ${recordsPerRun}, (${runs} - i / 3)::text::xid8, $1
         FROM (SELECT i, ${now} - (${runs} + i) * 1000 AS t FROM generate_series (1, ${heads}) i) r`,
      [endedState],
    );
    await fill(
      `INSERT INTO records (run, pos, seq, event, at, public)
       SELECT run, pos, pos, CASE WHEN pos % 20 = 0 THEN 'tool.completed' ELSE 'message.delta' END, run,
              '{"delta":" a few words of what a model says"}'
         FROM generate_series (${first}, ${heads + runs}) run, generate_series (0, ${recordsPerRun} - 1) pos`,
    );
    await fill(`INSERT INTO owners SELECT 'owner_' || i, i FROM generate_series (0, ${owners} - 1) i`);
    await fill(
      `INSERT INTO idempotency (owner, key, body_hash, run_id, created_at, kept_ms, expires_at)
       SELECT owner, 'key_' || n, 'hash', run_id, created_at, 86400000, finished_at + 86400000 FROM runs`,
    );
    await fill(
      `INSERT INTO grants (owner, session_id, pattern_key, created_at)
       SELECT DISTINCT owner, session_id, 'rm *', 0::bigint FROM runs WHERE n <= ${heads + sessions}`,
    );
    await fill(
      `INSERT INTO decisions (owner, run_id, request_id, question, choice, answered_at)
       SELECT owner, run_id, 'apr_' || n, '{}', 'once', created_at FROM runs`,
    );
    await fill(
      `INSERT INTO sessions (owner, session_id, created_at, used_at, place, next_pos, context_from, turns)
       SELECT 'owner_' || i % ${owners}, 'session_' || i, 0, ${now} - (${sessions} - i) * 1000, nextval('session_places'),
              ${messagesPerSession}, 0, ${messagesPerSession / 2}
         FROM generate_series (0, ${sessions} - 1) i`,
    );
    await fill(`INSERT INTO conversations (session, metadata) SELECT n, '{}' FROM sessions`);
    await fill(
      `INSERT INTO session_messages (session, pos, turn, run_id, at, begins_context, message)
       SELECT n, pos, pos / 2, 'run_' || n, 0, false, '{"role":"user","content":"hi"}'
         FROM sessions, generate_series (0, ${messagesPerSession} - 1) pos`,
    );
    await fill(
      `INSERT INTO responses (response_id, owner, run_id, session, session_id, created_at, settings, context_from, context_to)
       SELECT 'resp_' || r.n, r.owner, r.run_id, s.n, r.session_id, r.created_at, '{}', 0, ${messagesPerSession}
         FROM runs r JOIN sessions s USING (owner, session_id) WHERE r.n <= ${heads + 5_000}`,
    );
    await fill(
      `INSERT INTO jobs (job_id, owner, version, name, prompt, skills, deliver, schedule, timezone, completed, created_at,
                         next_run_at, last_run_id, last_status)
       SELECT 'job_' || i, 'owner_' || i % ${owners}, 1, 'report', 'Report.', '[]', 'local', '{}', 'UTC', 0, 0,
              CASE WHEN i % 10 = 0 THEN ${now} + i * 60000 END, 'run_' || i, 'ok'
         FROM generate_series (1, 1000) i`,
    );
    await fill(
      `INSERT INTO webhooks (run_id, url, receiver, secret_kind, ended)
       SELECT run_id, 'https://receiver-' || n / 10 % ${receivers} || '/', 'https://receiver-' || n / 10 % ${receivers}, 'none', true
         FROM runs`,
    );
    // Delivered messages are gone. Of the rest one in ten is to be sent, some of it now.
    await fill(
      `INSERT INTO webhook_messages (id, run_id, receiver, body, created_at, due_at, failed_at)
       SELECT 'evt_' || n, run_id, receiver, repeat('{}', 300), created_at, ${now} + (n % 7 - 1) * 60000,
              CASE WHEN n % 10 <> 0 THEN finished_at END
         FROM runs JOIN webhooks USING (run_id) WHERE n <= ${heads + runs / 10}`,
    );
    await fill(
      `INSERT INTO servers SELECT 'server_' || i, 'http://server', 'all', '1', 0, ${now} FROM generate_series (1, 5) i`,
    );
    await fill(
      `INSERT INTO workspaces SELECT run_id, 'server_' || 1 + n % 5, 1, created_at, n % 500 = 0 FROM runs`,
    );
    await fill(
      `INSERT INTO files (file_id, owner, filename, purpose, bytes, sha256, blob_id, created_at)
       SELECT 'file-' || n, owner, 'a.txt', 'user_data', 100, '', md5('file-' || n), created_at FROM runs`,
    );
    await fill('INSERT INTO file_totals SELECT owner, count(*), sum(bytes) FROM files GROUP BY owner');
    await fill(
      `INSERT INTO blob_refs SELECT 'file:' || file_id, blob_id FROM files
        UNION ALL SELECT 'run:' || run_id, md5(run_id || i) FROM runs, generate_series (1, 4) i`,
    );
    await fill('INSERT INTO blobs SELECT blob_id, 1, 0 FROM blob_refs');
    await fill(`INSERT INTO blob_chunks SELECT blob_id, 0, '\\x00' FROM blobs`);
    await fill('VACUUM ANALYZE');
  } finally {
    await client.end();
  }
}
