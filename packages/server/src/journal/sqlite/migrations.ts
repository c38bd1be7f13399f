/**
 * The schema, as numbered steps. A released step is never edited: a change is a new step at the end.
 * Times are milliseconds since the epoch.
 */
import type { DatabaseSync } from 'node:sqlite';

const MIGRATIONS: readonly string[] = [
  // 1: runs, their records, idempotency keys, approval grants
  `
  CREATE TABLE runs (
    n           INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id      TEXT    NOT NULL UNIQUE,
    owner       TEXT    NOT NULL,
    session_id  TEXT    NOT NULL,
    status      TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    finished_at INTEGER,
    next_pos    INTEGER NOT NULL,
    next_seq    INTEGER NOT NULL,
    epoch       INTEGER NOT NULL,
    lease_owner TEXT,
    lease_until INTEGER,
    state       TEXT    NOT NULL
  ) STRICT;
  CREATE INDEX runs_unfinished ON runs (n) WHERE finished_at IS NULL;
  CREATE INDEX runs_stopping ON runs (n) WHERE status = 'stopping';
  CREATE INDEX runs_finished ON runs (finished_at) WHERE finished_at IS NOT NULL;
  CREATE INDEX runs_by_owner ON runs (owner, n);
  CREATE INDEX runs_by_session ON runs (owner, session_id, n);
  CREATE INDEX runs_by_status ON runs (owner, status, n);

  -- public is NULL for records that are not events; private is NULL where recovery needs nothing.
  CREATE TABLE records (
    run     INTEGER NOT NULL,
    pos     INTEGER NOT NULL,
    seq     INTEGER,
    event   TEXT    NOT NULL,
    at      INTEGER NOT NULL,
    public  TEXT,
    private TEXT,
    PRIMARY KEY (run, pos)
  ) STRICT, WITHOUT ROWID;

  -- status is set when the run is evicted, so that a late retry still hears how it ended.
  CREATE TABLE idempotency (
    owner      TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    body_hash  TEXT    NOT NULL,
    run_id     TEXT    NOT NULL,
    status     TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (owner, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX idempotency_by_run ON idempotency (run_id);
  CREATE INDEX idempotency_by_age ON idempotency (created_at);

  -- session_id '' is a permanent grant.
  CREATE TABLE grants (
    owner       TEXT    NOT NULL,
    session_id  TEXT    NOT NULL,
    pattern_key TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (owner, session_id, pattern_key)
  ) STRICT, WITHOUT ROWID;
  `,
  // 2: whether an earlier turn of a session is unfinished, without a walk over all its finished ones
  `
  CREATE INDEX runs_unfinished_by_session ON runs (owner, session_id, n) WHERE finished_at IS NULL;
  `,
  // 3: runs that lost their worker and new runs of an owner, each without a walk over the others
  `
  DROP INDEX runs_unfinished;
  CREATE INDEX runs_begun ON runs (n) WHERE finished_at IS NULL AND epoch > 0;
  CREATE INDEX runs_new ON runs (owner, n) WHERE finished_at IS NULL AND epoch = 0;
  `,
  // 4: the key that seals cursors, so that they outlive a restart
  `
  CREATE TABLE keys (
    name  TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO keys (name, value) VALUES ('cursors', randomblob(32));
  `,
  // 5: something to write when it is asked whether the store takes writes
  `
  CREATE TABLE probe (
    id    INTEGER PRIMARY KEY CHECK (id = 0),
    at    INTEGER NOT NULL,
    bytes BLOB    NOT NULL
  ) STRICT;
  `,
  // 6: how long an idempotency key is kept after the end of its run; until then it does not expire
  `
  ALTER TABLE idempotency ADD COLUMN kept_ms INTEGER NOT NULL DEFAULT 86400000;
  ALTER TABLE idempotency ADD COLUMN expires_at INTEGER;
  UPDATE idempotency SET expires_at = created_at + kept_ms;
  DROP INDEX idempotency_by_age;
  CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);
  `,
  // 7: sessions and their transcripts
  `
  -- place orders the sessions of an owner by their last use.
  CREATE TABLE sessions (
    n            INTEGER PRIMARY KEY AUTOINCREMENT,
    owner        TEXT    NOT NULL,
    session_id   TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    used_at      INTEGER NOT NULL,
    place        INTEGER NOT NULL,
    next_pos     INTEGER NOT NULL,
    context_from INTEGER NOT NULL,
    turns        INTEGER NOT NULL,
    last_run_id  TEXT,
    forked_from  TEXT,
    UNIQUE (owner, session_id),
    UNIQUE (owner, place)
  ) STRICT;
  CREATE INDEX sessions_by_use ON sessions (used_at);

  -- begins_context marks the first message of a history that took the place of what was there.
  CREATE TABLE session_messages (
    session        INTEGER NOT NULL,
    pos            INTEGER NOT NULL,
    turn           INTEGER NOT NULL,
    run_id         TEXT    NOT NULL,
    at             INTEGER NOT NULL,
    begins_context INTEGER NOT NULL,
    message        TEXT    NOT NULL,
    PRIMARY KEY (session, pos)
  ) STRICT, WITHOUT ROWID;

  -- The session the run was in was deleted: nothing goes on from it.
  ALTER TABLE runs ADD COLUMN session_gone INTEGER NOT NULL DEFAULT 0;
  `,
  // 8: webhooks of runs, and what is still to be sent to them
  `
  -- secret is the run's own, until it is not needed any more. ended: the run's last message was added.
  CREATE TABLE webhooks (
    run_id      TEXT    NOT NULL PRIMARY KEY,
    url         TEXT    NOT NULL,
    secret_kind TEXT    NOT NULL,
    secret      TEXT,
    delivered   INTEGER NOT NULL DEFAULT 0,
    last_error  TEXT,
    ended       INTEGER NOT NULL DEFAULT 0,
    evicted     INTEGER NOT NULL DEFAULT 0
  ) STRICT, WITHOUT ROWID;

  -- A message under a lease is due when the lease ends. body is '' once failed_at is set.
  CREATE TABLE webhook_messages (
    n          INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT    NOT NULL UNIQUE,
    run_id     TEXT    NOT NULL,
    receiver   TEXT    NOT NULL,
    body       TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    due_at     INTEGER NOT NULL,
    leased     INTEGER NOT NULL DEFAULT 0,
    epoch      INTEGER NOT NULL DEFAULT 0,
    attempts   INTEGER NOT NULL DEFAULT 0,
    failed_at  INTEGER
  ) STRICT;
  CREATE INDEX webhook_messages_by_run ON webhook_messages (run_id, n);
  CREATE INDEX webhook_messages_due ON webhook_messages (due_at) WHERE failed_at IS NULL;
  CREATE INDEX webhook_messages_by_receiver ON webhook_messages (receiver, due_at, n) WHERE failed_at IS NULL;
  CREATE INDEX webhook_messages_leased ON webhook_messages (receiver, due_at) WHERE leased = 1;
  CREATE INDEX webhook_messages_failed ON webhook_messages (failed_at) WHERE failed_at IS NOT NULL;
  `,
  // 9: stored responses
  `
  -- context_from and context_to: what of the session was said when the response was complete.
  CREATE TABLE responses (
    n            INTEGER PRIMARY KEY AUTOINCREMENT,
    response_id  TEXT    NOT NULL UNIQUE,
    owner        TEXT    NOT NULL,
    run_id       TEXT    NOT NULL UNIQUE,
    session      INTEGER NOT NULL,
    session_id   TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    settings     TEXT    NOT NULL,
    context_from INTEGER,
    context_to   INTEGER,
    snapshot     TEXT
  ) STRICT;
  CREATE INDEX responses_by_owner ON responses (owner, n);
  `,
  // 10: jobs
  `
  -- next_run_at is NULL while a job is paused, and after the one time of a job that runs once.
  CREATE TABLE jobs (
    n               INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id          TEXT    NOT NULL UNIQUE,
    owner           TEXT    NOT NULL,
    version         INTEGER NOT NULL,
    name            TEXT    NOT NULL,
    prompt          TEXT    NOT NULL,
    skills          TEXT    NOT NULL,
    deliver         TEXT    NOT NULL,
    schedule        TEXT    NOT NULL,
    timezone        TEXT    NOT NULL,
    times           INTEGER,
    completed       INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    paused_at       INTEGER,
    paused_reason   TEXT,
    next_run_at     INTEGER,
    last_run_id     TEXT,
    last_run_at     INTEGER,
    last_status     TEXT,
    last_error      TEXT,
    last_skipped_at INTEGER
  ) STRICT;
  CREATE INDEX jobs_by_owner ON jobs (owner, n);
  CREATE INDEX jobs_due ON jobs (next_run_at) WHERE next_run_at IS NOT NULL;
  CREATE INDEX jobs_running ON jobs (last_run_id) WHERE last_status IS NULL;
  `,
  // 11: runs that wait for their client; responses that are a part of their run
  `
  ALTER TABLE runs ADD COLUMN parked_until INTEGER;
  DROP INDEX runs_begun;
  CREATE INDEX runs_begun ON runs (n) WHERE finished_at IS NULL AND epoch > 0 AND parked_until IS NULL;
  CREATE INDEX runs_parked ON runs (parked_until) WHERE parked_until IS NOT NULL;

  -- A run that waited for its client is several responses: each begins after an event of the run, the first after none.
  CREATE TABLE responses_of_runs (
    n            INTEGER PRIMARY KEY AUTOINCREMENT,
    response_id  TEXT    NOT NULL UNIQUE,
    owner        TEXT    NOT NULL,
    run_id       TEXT    NOT NULL,
    after_seq    INTEGER NOT NULL DEFAULT -1,
    session      INTEGER NOT NULL,
    session_id   TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    settings     TEXT    NOT NULL,
    context_from INTEGER,
    context_to   INTEGER,
    snapshot     TEXT,
    input        TEXT
  ) STRICT;
  INSERT INTO responses_of_runs (n, response_id, owner, run_id, session, session_id, created_at, settings,
                                 context_from, context_to, snapshot)
    SELECT n, response_id, owner, run_id, session, session_id, created_at, settings, context_from, context_to, snapshot
      FROM responses;
  DROP TABLE responses;
  ALTER TABLE responses_of_runs RENAME TO responses;
  CREATE INDEX responses_by_owner ON responses (owner, n);
  CREATE INDEX responses_by_run ON responses (run_id, n);

  -- What clients say of sessions that they call conversations.
  CREATE TABLE conversations (
    session  INTEGER PRIMARY KEY,
    metadata TEXT    NOT NULL
  ) STRICT;
  `,
  // 12: what is said about a session
  `
  ALTER TABLE sessions ADD COLUMN title         TEXT;
  ALTER TABLE sessions ADD COLUMN system_prompt TEXT;
  ALTER TABLE sessions ADD COLUMN source        TEXT;
  ALTER TABLE sessions ADD COLUMN model         TEXT;
  ALTER TABLE sessions ADD COLUMN preview       TEXT;
  ALTER TABLE sessions ADD COLUMN ended_at      INTEGER;
  ALTER TABLE sessions ADD COLUMN end_reason    TEXT;
  ALTER TABLE sessions ADD COLUMN pinned        INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE sessions ADD COLUMN archived      INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE sessions ADD COLUMN hidden        INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE sessions ADD COLUMN unread        INTEGER NOT NULL DEFAULT 0;
  -- NULL for a session that is older than the counting: adding to NULL leaves it unknown.
  ALTER TABLE sessions ADD COLUMN tool_calls    INTEGER;
  ALTER TABLE sessions ADD COLUMN input_tokens  INTEGER;
  ALTER TABLE sessions ADD COLUMN output_tokens INTEGER;
  `,
  // 13: runs by job and by time
  `
  ALTER TABLE runs ADD COLUMN job_id TEXT;
  CREATE INDEX runs_by_job ON runs (owner, job_id, n) WHERE job_id IS NOT NULL;
  CREATE INDEX runs_by_creation ON runs (owner, created_at, n);
  `,
  // 14: answered questions; grants that can be named and taken back
  `
  CREATE TABLE decisions (
    n           INTEGER PRIMARY KEY AUTOINCREMENT,
    owner       TEXT    NOT NULL,
    run_id      TEXT    NOT NULL,
    request_id  TEXT    NOT NULL,
    question    TEXT    NOT NULL,
    choice      TEXT    NOT NULL,
    answered_by TEXT,
    answered_at INTEGER NOT NULL,
    message     TEXT
  ) STRICT;
  CREATE INDEX decisions_by_owner ON decisions (owner, n);
  CREATE INDEX decisions_by_run ON decisions (run_id);
  -- Of the answers before this step, those to a question that was asked: the others were not recorded by themselves.
  INSERT INTO decisions (owner, run_id, request_id, question, choice, answered_by, answered_at)
    SELECT r.owner, r.run_id, json_extract(answer.public, '$.request_id'), question.public,
           json_extract(answer.public, '$.choice'),
           coalesce(json_extract(answer.public, '$.reason'), r.owner), answer.at
      FROM records answer
      JOIN runs r ON r.n = answer.run
      JOIN records question ON question.run = answer.run AND question.event = 'approval.request'
                           AND json_extract(question.public, '$.request_id') = json_extract(answer.public, '$.request_id')
     WHERE answer.event = 'approval.responded'
     ORDER BY answer.at, answer.run, answer.pos;

  -- session_id '' is a permanent grant.
  CREATE TABLE named_grants (
    n            INTEGER PRIMARY KEY AUTOINCREMENT,
    id           TEXT    NOT NULL UNIQUE,
    owner        TEXT    NOT NULL,
    session_id   TEXT    NOT NULL,
    pattern_key  TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    UNIQUE (owner, session_id, pattern_key)
  ) STRICT;
  INSERT INTO named_grants (id, owner, session_id, pattern_key, created_at)
    SELECT 'grt_' || lower(hex(randomblob(16))), owner, session_id, pattern_key, created_at
      FROM grants ORDER BY created_at;
  DROP TABLE grants;
  ALTER TABLE named_grants RENAME TO grants;
  CREATE INDEX grants_by_owner ON grants (owner, n);
  `,
  // 15: which runs have changed
  `
  -- changed is the mark of the last change. settled is the same for finished runs, and indexed: of unfinished runs there
  -- are few, and they change often.
  ALTER TABLE runs ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE runs ADD COLUMN settled INTEGER;
  CREATE INDEX runs_settled ON runs (owner, settled) WHERE settled IS NOT NULL;

  -- Marks below reserved may have been given.
  CREATE TABLE change_marks (
    id       INTEGER PRIMARY KEY CHECK (id = 0),
    reserved INTEGER NOT NULL
  ) STRICT;
  INSERT INTO change_marks (id, reserved) VALUES (0, 1);
  `,
  // 16: files of clients, and who needs which blob; the bytes are in a directory beside the database
  `
  CREATE TABLE blob_refs (
    holder  TEXT NOT NULL,
    blob_id TEXT NOT NULL,
    PRIMARY KEY (holder, blob_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX blob_refs_by_blob ON blob_refs (blob_id);

  -- Their ids grow with time: a list is in the order of ids.
  CREATE TABLE files (
    file_id    TEXT    NOT NULL PRIMARY KEY,
    owner      TEXT    NOT NULL,
    filename   TEXT    NOT NULL,
    purpose    TEXT    NOT NULL,
    bytes      INTEGER NOT NULL,
    sha256     TEXT    NOT NULL,
    blob_id    TEXT    NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX files_by_owner ON files (owner, file_id);
  -- How many files an owner has, and of how many bytes, so that nobody has to count them.
  CREATE TABLE file_totals (
    owner TEXT    NOT NULL PRIMARY KEY,
    files INTEGER NOT NULL,
    bytes INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  `,
  // 17: the checkpoints of a run without its other records; the files that the next run of a session begins with
  `
  CREATE INDEX records_checkpoints ON records (run, pos) WHERE event = 'workspace.checkpointed';
  ALTER TABLE sessions ADD COLUMN files TEXT;
  `,
  // 18: what lists show of evicted runs
  `
  -- n is that of the run.
  CREATE TABLE run_heads (
    n           INTEGER NOT NULL UNIQUE,
    run_id      TEXT    NOT NULL PRIMARY KEY,
    owner       TEXT    NOT NULL,
    session_id  TEXT    NOT NULL,
    status      TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    next_seq    INTEGER NOT NULL,
    job_id      TEXT,
    changed     INTEGER NOT NULL DEFAULT 0,
    state       TEXT    NOT NULL
  ) STRICT;
  CREATE INDEX run_heads_by_end ON run_heads (finished_at);
  CREATE INDEX run_heads_by_owner ON run_heads (owner, n);
  CREATE INDEX run_heads_by_session ON run_heads (owner, session_id, n);
  CREATE INDEX run_heads_by_status ON run_heads (owner, status, n);
  CREATE INDEX run_heads_by_job ON run_heads (owner, job_id, n) WHERE job_id IS NOT NULL;
  CREATE INDEX run_heads_by_creation ON run_heads (owner, created_at, n);
  CREATE INDEX run_heads_by_change ON run_heads (owner, changed);
  `,
  // 19: small blobs, which come with the records that refer to them
  `
  CREATE TABLE small_blobs (
    blob_id    TEXT    NOT NULL PRIMARY KEY,
    written_at INTEGER NOT NULL,
    bytes      BLOB    NOT NULL
  ) STRICT;
  `,
  // 20: how long a run is kept, and what it takes on the disk
  `
  -- retention_ms: the run's own, where it is not that of the server. expires_at: when it is due, where that does not follow from
  -- the retention of the server. bytes: its files, records and checkpoints, once they are measured.
  ALTER TABLE runs ADD COLUMN retention_ms INTEGER;
  ALTER TABLE runs ADD COLUMN kept         INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE runs ADD COLUMN expires_at   INTEGER;
  ALTER TABLE runs ADD COLUMN evicted_for  TEXT;
  ALTER TABLE runs ADD COLUMN bytes        INTEGER;
  ALTER TABLE run_heads ADD COLUMN evicted_for TEXT;
  DROP INDEX runs_finished;
  CREATE INDEX runs_retained ON runs (finished_at) WHERE finished_at IS NOT NULL AND expires_at IS NULL AND kept = 0;
  CREATE INDEX runs_expiring ON runs (expires_at) WHERE finished_at IS NOT NULL AND expires_at IS NOT NULL AND kept = 0;
  CREATE INDEX runs_by_end ON runs (finished_at) WHERE finished_at IS NOT NULL AND kept = 0 AND evicted_for IS NULL;
  CREATE INDEX runs_unmeasured ON runs (finished_at) WHERE finished_at IS NOT NULL AND bytes IS NULL;

  -- The sum over runs that are not to go for room, so that nobody has to add it up.
  CREATE TABLE disk_use (
    id    INTEGER PRIMARY KEY CHECK (id = 0),
    bytes INTEGER NOT NULL
  ) STRICT;
  INSERT INTO disk_use (id, bytes) VALUES (0, 0);
  CREATE TRIGGER runs_measured AFTER UPDATE OF bytes, evicted_for ON runs BEGIN
    UPDATE disk_use SET bytes = bytes + iif(NEW.evicted_for IS NULL, coalesce(NEW.bytes, 0), 0)
                                      - iif(OLD.evicted_for IS NULL, coalesce(OLD.bytes, 0), 0);
  END;
  CREATE TRIGGER runs_freed AFTER DELETE ON runs WHEN OLD.bytes IS NOT NULL AND OLD.evicted_for IS NULL BEGIN
    UPDATE disk_use SET bytes = bytes - OLD.bytes;
  END;

  -- How long the runs of the job are kept, where it says so.
  ALTER TABLE jobs ADD COLUMN retention_seconds INTEGER;
  `,
  // 21: runs that were worked on before, by owner, because they too are taken from the owners in turn
  `
  DROP INDEX runs_begun;
  CREATE INDEX runs_begun ON runs (owner, n) WHERE finished_at IS NULL AND epoch > 0 AND parked_until IS NULL;
  `,
];

/** The newest schema there is. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** Brings the database to the newest schema, or to the one that is named; refuses one written by a newer version. */
export function migrate(db: DatabaseSync, schema = SCHEMA_VERSION): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    const { user_version: version } = db.prepare('PRAGMA user_version').get() as { user_version: number };
    if (version > SCHEMA_VERSION) {
      throw new Error(
        `it has schema ${version}, this version of the server knows up to ${SCHEMA_VERSION}; start the newer version or restore a backup`,
      );
    }
    for (const step of MIGRATIONS.slice(version, schema)) db.exec(step);
    db.exec(`PRAGMA user_version = ${schema}`);
    db.exec('COMMIT');
  } catch (error) {
    db.exec('ROLLBACK');
    throw error;
  }
}
