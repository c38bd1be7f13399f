/**
 * The schema, as numbered steps. A released step is never edited: a change is a new step at the end.
 * During an upgrade, servers of the previous release work beside those that made the newest step. So a step adds
 * tables, optional columns and indexes, and removes nothing that the previous release uses. Removals follow one release
 * later. Times are milliseconds since the epoch. JSON is kept as text, as it was written: `jsonb` knows no `\u0000`.
 */
import type { Transaction } from './database.ts';

/** An arbitrary number that nobody else uses for a lock in this database. */
const MIGRATION_LOCK = 7_411_250_013;

const MIGRATIONS: readonly string[] = [
  // 1: everything
  `
  -- Room in each page for the next version of a row: most updates touch no index and stay in their page.
  CREATE TABLE runs (
    n           bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_id      text    NOT NULL UNIQUE,
    owner       text    NOT NULL,
    session_id  text    NOT NULL,
    status      text    NOT NULL,
    created_at  bigint  NOT NULL,
    updated_at  bigint  NOT NULL,
    finished_at bigint,
    next_pos    integer NOT NULL,
    next_seq    integer NOT NULL,
    epoch       integer NOT NULL,
    lease_owner text,
    lease_until bigint,
    -- The session the run was in was deleted: nothing goes on from it.
    session_gone boolean NOT NULL DEFAULT false,
    state       text    NOT NULL
  ) WITH (fillfactor = 70);
  CREATE INDEX runs_begun ON runs (n) WHERE finished_at IS NULL AND epoch > 0;
  CREATE INDEX runs_new ON runs (owner, n) WHERE finished_at IS NULL AND epoch = 0;
  CREATE INDEX runs_stopping ON runs (n) WHERE status = 'stopping';
  CREATE INDEX runs_unfinished_by_session ON runs (owner, session_id, n) WHERE finished_at IS NULL;
  CREATE INDEX runs_finished ON runs (finished_at) WHERE finished_at IS NOT NULL;
  CREATE INDEX runs_by_owner ON runs (owner, n);
  CREATE INDEX runs_by_session ON runs (owner, session_id, n);
  CREATE INDEX runs_by_status ON runs (owner, status, n);

  -- public is NULL for records that are not events; private is NULL where recovery needs nothing.
  CREATE TABLE records (
    run     bigint  NOT NULL,
    pos     integer NOT NULL,
    seq     integer,
    event   text    NOT NULL,
    at      bigint  NOT NULL,
    public  text,
    private text,
    PRIMARY KEY (run, pos)
  );

  -- status is set when the run is evicted, so that a late retry still hears how it ended.
  CREATE TABLE idempotency (
    owner      text   NOT NULL,
    key        text   NOT NULL,
    body_hash  text   NOT NULL,
    run_id     text   NOT NULL,
    status     text,
    created_at bigint NOT NULL,
    kept_ms    bigint NOT NULL,
    -- Set at the end of the run: a key does not expire before.
    expires_at bigint,
    PRIMARY KEY (owner, key)
  );
  CREATE INDEX idempotency_by_run ON idempotency (run_id);
  CREATE INDEX idempotency_by_expiry ON idempotency (expires_at);

  -- session_id '' is a permanent grant.
  CREATE TABLE grants (
    owner       text   NOT NULL,
    session_id  text   NOT NULL,
    pattern_key text   NOT NULL,
    created_at  bigint NOT NULL,
    PRIMARY KEY (owner, session_id, pattern_key)
  );

  -- Every owner that ever had a run; turn grows with each new run of it that is claimed.
  CREATE TABLE owners (
    owner text   NOT NULL PRIMARY KEY,
    turn  bigint NOT NULL
  );
  CREATE SEQUENCE turns;

  -- place orders sessions by their last use.
  CREATE TABLE sessions (
    n            bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner        text    NOT NULL,
    session_id   text    NOT NULL,
    created_at   bigint  NOT NULL,
    used_at      bigint  NOT NULL,
    place        bigint  NOT NULL,
    next_pos     integer NOT NULL,
    context_from integer NOT NULL,
    turns        integer NOT NULL,
    last_run_id  text,
    forked_from  text,
    UNIQUE (owner, session_id),
    UNIQUE (owner, place)
  );
  CREATE INDEX sessions_by_use ON sessions (used_at);
  CREATE SEQUENCE session_places;

  -- begins_context marks the first message of a history that took the place of what was there.
  CREATE TABLE session_messages (
    session        bigint  NOT NULL,
    pos            integer NOT NULL,
    turn           integer NOT NULL,
    run_id         text    NOT NULL,
    at             bigint  NOT NULL,
    begins_context boolean NOT NULL,
    message        text    NOT NULL,
    PRIMARY KEY (session, pos)
  );

  -- secret is the run's own, until it is not needed any more. ended: the run's last message was added.
  CREATE TABLE webhooks (
    run_id      text    NOT NULL PRIMARY KEY,
    url         text    NOT NULL,
    receiver    text    NOT NULL,
    secret_kind text    NOT NULL,
    secret      text,
    delivered   integer NOT NULL DEFAULT 0,
    last_error  text,
    ended       boolean NOT NULL DEFAULT false,
    evicted     boolean NOT NULL DEFAULT false
  );

  -- A message under a lease is due when the lease ends. body is '' once failed_at is set.
  CREATE TABLE webhook_messages (
    n          bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id         text    NOT NULL UNIQUE,
    run_id     text    NOT NULL,
    receiver   text    NOT NULL,
    body       text    NOT NULL,
    created_at bigint  NOT NULL,
    due_at     bigint  NOT NULL,
    leased     boolean NOT NULL DEFAULT false,
    epoch      integer NOT NULL DEFAULT 0,
    attempts   integer NOT NULL DEFAULT 0,
    failed_at  bigint
  );
  CREATE INDEX webhook_messages_by_run ON webhook_messages (run_id, n);
  CREATE INDEX webhook_messages_due ON webhook_messages (due_at) WHERE failed_at IS NULL;
  CREATE INDEX webhook_messages_by_receiver ON webhook_messages (receiver, due_at, n) WHERE failed_at IS NULL;
  CREATE INDEX webhook_messages_leased ON webhook_messages (receiver, due_at) WHERE leased;
  CREATE INDEX webhook_messages_failed ON webhook_messages (failed_at) WHERE failed_at IS NOT NULL;

  -- context_from and context_to: what of the session was said when the response was complete.
  CREATE TABLE responses (
    n            bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    response_id  text    NOT NULL UNIQUE,
    owner        text    NOT NULL,
    run_id       text    NOT NULL UNIQUE,
    session      bigint  NOT NULL,
    session_id   text    NOT NULL,
    created_at   bigint  NOT NULL,
    settings     text    NOT NULL,
    context_from integer,
    context_to   integer,
    snapshot     text
  );
  CREATE INDEX responses_by_owner ON responses (owner, n);

  -- next_run_at is NULL while a job is paused, and after the one time of a job that runs once.
  CREATE TABLE jobs (
    n               bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id          text    NOT NULL UNIQUE,
    owner           text    NOT NULL,
    version         integer NOT NULL,
    name            text    NOT NULL,
    prompt          text    NOT NULL,
    skills          text    NOT NULL,
    deliver         text    NOT NULL,
    schedule        text    NOT NULL,
    timezone        text    NOT NULL,
    times           integer,
    completed       integer NOT NULL,
    created_at      bigint  NOT NULL,
    paused_at       bigint,
    paused_reason   text,
    next_run_at     bigint,
    last_run_id     text,
    last_run_at     bigint,
    last_status     text,
    last_error      text,
    last_skipped_at bigint
  );
  CREATE INDEX jobs_by_owner ON jobs (owner, n);
  CREATE INDEX jobs_due ON jobs (next_run_at) WHERE next_run_at IS NOT NULL;
  CREATE INDEX jobs_running ON jobs (last_run_id) WHERE last_status IS NULL;

  CREATE TABLE keys (
    name  text  NOT NULL PRIMARY KEY,
    value bytea NOT NULL
  );

  CREATE TABLE probe (
    id    integer PRIMARY KEY CHECK (id = 0),
    at    bigint  NOT NULL,
    bytes bytea   NOT NULL
  );
  `,
  // 2: the servers, and where workspaces are
  `
  -- started_at tells one life of a server from the next. stopped_at is set when it ended in good order.
  CREATE TABLE servers (
    server_id  text   NOT NULL PRIMARY KEY,
    url        text   NOT NULL,
    role       text   NOT NULL,
    version    text   NOT NULL,
    started_at bigint NOT NULL,
    seen_at    bigint NOT NULL,
    stopped_at bigint
  );

  -- Of several of a run, that of the highest epoch has its files. evicted: the run is gone, the directory may be there.
  CREATE TABLE workspaces (
    run_id    text    NOT NULL,
    server_id text    NOT NULL,
    epoch     integer NOT NULL,
    made_at   bigint  NOT NULL,
    evicted   boolean NOT NULL DEFAULT false,
    PRIMARY KEY (run_id, server_id)
  );
  CREATE INDEX workspaces_by_server ON workspaces (server_id, evicted);
  `,
  // 3: what is deleted bit by bit, posts without a walk over the texts between them
  `
  -- What is left of a run or a session whose row is gone: rows below up_to.
  CREATE TABLE leftovers (
    "of"  text    NOT NULL,
    n     bigint  NOT NULL,
    up_to integer NOT NULL,
    PRIMARY KEY ("of", n)
  );

  CREATE INDEX records_posted ON records (run, pos)
    WHERE event IN ('stop.requested', 'steer.requested', 'approval.responded');

  -- Not unique, though it is: a column of a unique index makes every update of it wait for whoever copies the session.
  ALTER TABLE sessions DROP CONSTRAINT sessions_owner_place_key;
  CREATE INDEX sessions_by_place ON sessions (owner, place);

  -- Rows come and go at the same rate. By the defaults a fifth of them could be dead before anyone cleans up, and with
  -- a hundred million of them the cleaning would take hours; this way it is small and frequent.
  ALTER TABLE records SET (autovacuum_vacuum_scale_factor = 0.02);
  ALTER TABLE session_messages SET (autovacuum_vacuum_scale_factor = 0.02);
  ALTER TABLE runs SET (autovacuum_vacuum_scale_factor = 0.05);
  `,
  // 4: snapshots of workspaces
  `
  -- pos: up to there in the log of the run the files are its own.
  CREATE TABLE workspace_snapshots (
    run_id      text    NOT NULL PRIMARY KEY,
    snapshot_id text    NOT NULL,
    epoch       integer NOT NULL,
    pos         integer NOT NULL,
    bytes       bigint  NOT NULL,
    stored_at   bigint  NOT NULL
  );
  -- Those of the snapshot that the row of the run names, and what is left of attempts.
  CREATE TABLE workspace_snapshot_chunks (
    run_id      text    NOT NULL,
    snapshot_id text    NOT NULL,
    n           integer NOT NULL,
    bytes       bytea   NOT NULL,
    PRIMARY KEY (run_id, snapshot_id, n)
  );
  -- They are compressed already.
  ALTER TABLE workspace_snapshot_chunks ALTER COLUMN bytes SET STORAGE EXTERNAL;
  `,
  // 5: how many runs each server works on
  `
  ALTER TABLE servers ADD COLUMN max_runs integer NOT NULL DEFAULT 0;
  `,
  // 6: runs that wait for their client; responses that are a part of their run
  `
  ALTER TABLE runs ADD COLUMN parked_until bigint;
  DROP INDEX runs_begun;
  CREATE INDEX runs_begun ON runs (n) WHERE finished_at IS NULL AND epoch > 0 AND parked_until IS NULL;
  CREATE INDEX runs_parked ON runs (parked_until) WHERE parked_until IS NOT NULL;

  DROP INDEX records_posted;
  CREATE INDEX records_posted ON records (run, pos)
    WHERE event IN ('stop.requested', 'steer.requested', 'approval.responded', 'tool.answered');

  -- A run that waited for its client is several responses: each begins after an event of the run, the first after none.
  ALTER TABLE responses DROP CONSTRAINT responses_run_id_key;
  ALTER TABLE responses ADD COLUMN after_seq integer NOT NULL DEFAULT -1;
  ALTER TABLE responses ADD COLUMN input text;
  CREATE INDEX responses_by_run ON responses (run_id, n);

  -- What clients say of sessions that they call conversations.
  CREATE TABLE conversations (
    session  bigint PRIMARY KEY,
    metadata text   NOT NULL
  );
  `,
  // 7: what is said about a session
  `
  -- The counts are NULL for a session that is older than the counting: adding to NULL leaves it unknown.
  ALTER TABLE sessions
    ADD COLUMN title         text,
    ADD COLUMN system_prompt text,
    ADD COLUMN source        text,
    ADD COLUMN model         text,
    ADD COLUMN preview       text,
    ADD COLUMN ended_at      bigint,
    ADD COLUMN end_reason    text,
    ADD COLUMN pinned        boolean NOT NULL DEFAULT false,
    ADD COLUMN archived      boolean NOT NULL DEFAULT false,
    ADD COLUMN hidden        boolean NOT NULL DEFAULT false,
    ADD COLUMN unread        boolean NOT NULL DEFAULT false,
    ADD COLUMN tool_calls    integer,
    ADD COLUMN input_tokens  bigint,
    ADD COLUMN output_tokens bigint;
  `,
  // 8: runs by job and by time
  `
  ALTER TABLE runs ADD COLUMN job_id text;
  CREATE INDEX runs_by_job ON runs (owner, job_id, n) WHERE job_id IS NOT NULL;
  CREATE INDEX runs_by_creation ON runs (owner, created_at, n);
  `,
  // 9: answered questions; grants that can be named and taken back
  `
  CREATE TABLE decisions (
    n           bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner       text    NOT NULL,
    run_id      text    NOT NULL,
    request_id  text    NOT NULL,
    question    text    NOT NULL,
    choice      text    NOT NULL,
    answered_by text,
    answered_at bigint  NOT NULL,
    message     text
  );
  CREATE INDEX decisions_by_owner ON decisions (owner, n);
  CREATE INDEX decisions_by_run ON decisions (run_id);
  -- Of the answers before this step, those to a question that was asked: the others were not recorded by themselves.
  INSERT INTO decisions (owner, run_id, request_id, question, choice, answered_by, answered_at)
    SELECT r.owner, r.run_id, answer.public::jsonb ->> 'request_id', question.public,
           answer.public::jsonb ->> 'choice', coalesce(answer.public::jsonb ->> 'reason', r.owner), answer.at
      FROM records answer
      JOIN runs r ON r.n = answer.run
      JOIN records question ON question.run = answer.run AND question.event = 'approval.request'
                           AND question.public::jsonb -> 'request_id' = answer.public::jsonb -> 'request_id'
     WHERE answer.event = 'approval.responded'
     ORDER BY answer.at, answer.run, answer.pos;

  -- The id has a default for servers of an earlier version that are still running.
  ALTER TABLE grants
    DROP CONSTRAINT grants_pkey,
    ADD COLUMN n            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    ADD COLUMN id           text   NOT NULL UNIQUE DEFAULT 'grt_' || replace(gen_random_uuid()::text, '-', ''),
    ADD COLUMN last_used_at bigint,
    ADD UNIQUE (owner, session_id, pattern_key);
  CREATE INDEX grants_by_owner ON grants (owner, n);
  `,
  // 10: which runs have changed
  `
  -- changed is the transaction of the last change. settled is the same for finished runs, and indexed: of unfinished
  -- runs there are few, and with an index on a column that every write changes, no write would stay in its page.
  ALTER TABLE runs
    ADD COLUMN changed xid8 NOT NULL DEFAULT pg_current_xact_id(),
    ADD COLUMN settled xid8;
  CREATE INDEX runs_settled ON runs (owner, settled) WHERE settled IS NOT NULL;

  -- In the database, so that it also holds for servers of an earlier version that are still running.
  CREATE FUNCTION mark_changed_run() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.changed := pg_current_xact_id();
      IF NEW.finished_at IS NOT NULL THEN
        NEW.settled := NEW.changed;
      END IF;
      RETURN NEW;
    END
  $$;
  CREATE TRIGGER runs_changed BEFORE UPDATE ON runs
    FOR EACH ROW WHEN (NEW.next_pos <> OLD.next_pos) EXECUTE FUNCTION mark_changed_run();
  `,
  // 11: blobs, who needs which of them, and files of clients
  `
  -- size is NULL until the blob is whole, and -1 while it is removed.
  CREATE TABLE blobs (
    blob_id    text COLLATE "C" PRIMARY KEY,
    size       bigint,
    written_at bigint NOT NULL
  );
  CREATE TABLE blob_chunks (
    blob_id text COLLATE "C" NOT NULL,
    n       integer NOT NULL,
    bytes   bytea   NOT NULL,
    PRIMARY KEY (blob_id, n)
  );
  -- Ranges of chunks are read, which only uncompressed values allow without reading all of them.
  ALTER TABLE blob_chunks ALTER COLUMN bytes SET STORAGE EXTERNAL;

  CREATE TABLE blob_refs (
    holder  text NOT NULL,
    blob_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (holder, blob_id)
  );
  CREATE INDEX blob_refs_by_blob ON blob_refs (blob_id);

  -- Their ids grow with time: a list is in the order of ids.
  CREATE TABLE files (
    file_id    text COLLATE "C" PRIMARY KEY,
    owner      text   NOT NULL,
    filename   text   NOT NULL,
    purpose    text   NOT NULL,
    bytes      bigint NOT NULL,
    sha256     text   NOT NULL,
    blob_id    text   NOT NULL,
    created_at bigint NOT NULL
  );
  CREATE INDEX files_by_owner ON files (owner, file_id);
  -- How many files an owner has, and of how many bytes, so that nobody has to count them.
  CREATE TABLE file_totals (
    owner text   PRIMARY KEY,
    files bigint NOT NULL,
    bytes bigint NOT NULL
  );
  `,
  // 12: the checkpoints of a run without its other records; the files that the next run of a session begins with. The snapshots
  // of workspaces that checkpoints replace stay for servers of an earlier version that are still running.
  `
  CREATE INDEX records_checkpoints ON records (run, pos) WHERE event = 'workspace.checkpointed';
  ALTER TABLE sessions ADD COLUMN files text;
  `,
  // 13: what lists show of evicted runs
  `
  -- n is that of the run; changed is the transaction that evicted it.
  CREATE TABLE run_heads (
    n           bigint  NOT NULL,
    run_id      text    NOT NULL PRIMARY KEY,
    owner       text    NOT NULL,
    session_id  text    NOT NULL,
    status      text    NOT NULL,
    created_at  bigint  NOT NULL,
    updated_at  bigint  NOT NULL,
    finished_at bigint  NOT NULL,
    next_seq    integer NOT NULL,
    job_id      text,
    changed     xid8    NOT NULL DEFAULT pg_current_xact_id(),
    state       text    NOT NULL
  );
  -- Without an order: for a page of one owner, the planner would walk back over the heads of all of them.
  CREATE INDEX run_heads_by_n ON run_heads USING hash (n);
  CREATE INDEX run_heads_by_end ON run_heads (finished_at);
  CREATE INDEX run_heads_by_owner ON run_heads (owner, n);
  CREATE INDEX run_heads_by_session ON run_heads (owner, session_id, n);
  CREATE INDEX run_heads_by_status ON run_heads (owner, status, n);
  CREATE INDEX run_heads_by_job ON run_heads (owner, job_id, n) WHERE job_id IS NOT NULL;
  CREATE INDEX run_heads_by_creation ON run_heads (owner, created_at, n);
  CREATE INDEX run_heads_by_change ON run_heads (owner, changed);
  `,
  // 14: how long a run is kept, and what its files take on the disks of servers
  `
  -- retention_ms: the run's own, where it is not that of the server. expires_at: when it is due, where that does not follow from
  -- the retention of the server.
  ALTER TABLE runs
    ADD COLUMN retention_ms bigint,
    ADD COLUMN kept         boolean NOT NULL DEFAULT false,
    ADD COLUMN expires_at   bigint,
    ADD COLUMN evicted_for  text;
  ALTER TABLE run_heads ADD COLUMN evicted_for text;
  CREATE INDEX runs_retained ON runs (finished_at) WHERE finished_at IS NOT NULL AND expires_at IS NULL AND NOT kept;
  CREATE INDEX runs_expiring ON runs (expires_at) WHERE finished_at IS NOT NULL AND expires_at IS NOT NULL AND NOT kept;

  -- In the database, so that it also holds for runs that servers of an earlier version end.
  CREATE FUNCTION set_own_expiry() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.expires_at := NEW.finished_at + NEW.retention_ms;
      RETURN NEW;
    END
  $$;
  CREATE TRIGGER runs_own_expiry BEFORE UPDATE ON runs
    FOR EACH ROW WHEN (NEW.finished_at IS NOT NULL AND OLD.finished_at IS NULL AND NEW.retention_ms IS NOT NULL)
    EXECUTE FUNCTION set_own_expiry();

  -- bytes and ended_at, the end of the run: once the files are measured. gives_way: the run has to go for room on this server.
  ALTER TABLE workspaces
    ADD COLUMN bytes     bigint,
    ADD COLUMN ended_at  bigint,
    ADD COLUMN gives_way boolean NOT NULL DEFAULT false;
  CREATE INDEX workspaces_by_end ON workspaces (server_id, ended_at) WHERE bytes > 0 AND NOT evicted AND NOT gives_way;
  CREATE INDEX workspaces_unmeasured ON workspaces (server_id) WHERE bytes IS NULL AND NOT evicted;

  -- The sum of each server over runs that neither are gone nor have to go, so that nobody has to add it up.
  CREATE TABLE disk_use (
    server_id text   PRIMARY KEY,
    bytes     bigint NOT NULL
  );
  CREATE FUNCTION count_disk_use() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      -- In this order everywhere, so that no two transactions wait for each other.
      INSERT INTO disk_use AS d (server_id, bytes)
        SELECT server_id, sum(bytes) FROM (
          SELECT server_id, bytes FROM new_rows WHERE bytes IS NOT NULL AND NOT evicted AND NOT gives_way
          UNION ALL
          SELECT server_id, -bytes FROM old_rows WHERE bytes IS NOT NULL AND NOT evicted AND NOT gives_way) changed
         GROUP BY server_id HAVING sum(bytes) <> 0 ORDER BY server_id
      ON CONFLICT (server_id) DO UPDATE SET bytes = d.bytes + excluded.bytes;
      RETURN NULL;
    END
  $$;
  CREATE TRIGGER workspaces_counted AFTER UPDATE ON workspaces
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION count_disk_use();

  -- How long the runs of the job are kept, where it says so.
  ALTER TABLE jobs ADD COLUMN retention_seconds bigint;
  `,
  // 15: runs that were worked on before, by owner, because they too are taken from the owners in turn
  `
  DROP INDEX runs_begun;
  CREATE INDEX runs_begun ON runs (owner, n) WHERE finished_at IS NULL AND epoch > 0 AND parked_until IS NULL;
  `,
];

/** The newest schema there is. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** Brings the database to the newest schema, once, however many servers start together; refuses a newer one. */
export async function migrate(tx: Pick<Transaction, 'rows'>): Promise<void> {
  const problem = await encodingProblem(tx);
  if (problem !== undefined) throw new Error(`${problem}; ${ENCODING_REMEDY}`);
  await tx.rows('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
  const version = await schemaVersion(tx);
  if (version > SCHEMA_VERSION) {
    throw new Error(
      `it has schema ${version}, this version of the server knows up to ${SCHEMA_VERSION}; start the newer version`,
    );
  }
  if (version === SCHEMA_VERSION) return;
  for (const step of MIGRATIONS.slice(version)) await tx.rows(step);
  await tx.rows('CREATE TABLE IF NOT EXISTS talaria_schema (version integer NOT NULL)');
  await tx.rows('DELETE FROM talaria_schema');
  await tx.rows('INSERT INTO talaria_schema (version) VALUES ($1)', [SCHEMA_VERSION]);
}

/** A database in another encoding works until the first character that it cannot store; that run never ends. */
export async function encodingProblem(tx: Pick<Transaction, 'rows'>): Promise<string | undefined> {
  const [row] = await tx.rows<{ encoding: string }>("SELECT current_setting('server_encoding') AS encoding");
  return row?.encoding === 'UTF8' ? undefined : `its encoding is ${row?.encoding}, not UTF8`;
}

/** What an operator does about an `encodingProblem`. */
export const ENCODING_REMEDY = 'make it with createdb -E UTF8 -T template0';

/** 0 for a database without our tables. */
export async function schemaVersion(tx: Pick<Transaction, 'rows'>): Promise<number> {
  const [table] = await tx.rows<{ found: boolean }>(
    "SELECT to_regclass('talaria_schema') IS NOT NULL AS found",
  );
  if (table?.found !== true) return 0;
  const [row] = await tx.rows<{ version: number }>('SELECT version FROM talaria_schema');
  return row?.version ?? 0;
}
