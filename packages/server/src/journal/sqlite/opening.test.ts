import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { claimedRun, completed, createRun, delta, evictExpired } from '../testing/records.ts';
import { waitFor } from '../testing/wait.ts';
import { migrate } from './migrations.ts';
import { SqliteJournal } from './sqlite-journal.ts';
import { startFixture } from './testing/processes.ts';
import { tempDirectory } from './testing/temp-journal.ts';

/** The schema in which a run was one response at most. */
const BEFORE_PARTS = 10;
/** The schema in which a session was its transcript and nothing more. */
const BEFORE_DETAILS = 11;
/** The schema in which runs did not name their job. */
const BEFORE_JOBS_OF_RUNS = 12;
/** The schema in which evicted runs left no heads. */
const BEFORE_HEADS = 16;
/** The schema in which grants had no names, and answers were only in the records. */
const BEFORE_DECISIONS = 13;

const inUse = (path: string) => `The database ${path} is in use by another server: stop that one first`;

describe('a database file', () => {
  it('is opened once in a process, and again after it was closed', async () => {
    using directory = tempDirectory();
    const path = join(directory.path, 'deep', 'er', 'talaria.db');
    const journal = await SqliteJournal.open({ path });
    await expect(SqliteJournal.open({ path })).rejects.toThrow(inUse(path));
    // The failed attempt did not release the first one's lock.
    await expect(SqliteJournal.open({ path })).rejects.toThrow(inUse(path));
    const runId = await createRun(journal);
    await journal.close();
    const again = await SqliteJournal.open({ path });
    expect(await again.getRun(runId)).toBeDefined();
    await again.close();
  });

  it('is readable by nobody else, nor are the files beside it, wherever it is', async () => {
    using directory = tempDirectory();
    chmodSync(directory.path, 0o755);
    const path = join(directory.path, 'talaria.db');
    const others = () =>
      readdirSync(directory.path).filter((name) => statSync(join(directory.path, name)).mode & 0o077);
    const before = process.umask(0o022);
    try {
      const journal = await SqliteJournal.open({ path });
      await createRun(journal);
      expect(readdirSync(directory.path)).toEqual(
        expect.arrayContaining(['talaria.db', 'talaria.db-shm', 'talaria.db-wal', 'talaria.db.lock']),
      );
      expect(others()).toEqual([]);
      await journal.close();
    } finally {
      process.umask(before);
    }
  });

  it('of an earlier version, which others could read, is made private', async () => {
    using directory = tempDirectory();
    const path = join(directory.path, 'talaria.db');
    await (await SqliteJournal.open({ path })).close();
    for (const each of [path, `${path}.lock`]) chmodSync(each, 0o644);
    writeFileSync(`${path}-wal`, '', { mode: 0o644 });
    const journal = await SqliteJournal.open({ path });
    for (const each of [path, `${path}.lock`, `${path}-wal`]) expect(statSync(each).mode & 0o777).toBe(0o600);
    await journal.close();
  });

  it('is not opened while another process has it, and is free when that process was killed', async () => {
    using directory = tempDirectory();
    const path = join(directory.path, 'talaria.db');
    await using holder = startFixture('hold-open', path);
    await waitFor(() => expect(holder.output()).toContain('open'));
    await expect(SqliteJournal.open({ path })).rejects.toThrow(inUse(path));

    holder.child.kill('SIGKILL');
    await holder.ended;

    const journal = await SqliteJournal.open({ path });
    await journal.close();
  });

  it('of a newer version is refused, unchanged, and not left locked', async () => {
    using directory = tempDirectory();
    const path = join(directory.path, 'talaria.db');
    const journal = await SqliteJournal.open({ path });
    await createRun(journal);
    await journal.close();
    const version = setVersion(path, 1000);

    await expect(SqliteJournal.open({ path })).rejects.toThrow(
      /cannot be opened: it has schema 1000, this version of the server knows up to \d+; start the newer version/,
    );

    expect(setVersion(path, version)).toBe(1000);
    const again = await SqliteJournal.open({ path });
    expect((await again.listRuns({ owner: 'ada', limit: 10 })).runs).toHaveLength(1);
    await again.close();
  });

  it('keeps its runs when their states lack a field that was added since', async () => {
    using directory = tempDirectory();
    const path = join(directory.path, 'talaria.db');
    const journal = await SqliteJournal.open({ path });
    const { runId } = await claimedRun(journal);
    const run = await journal.getRun(runId);
    await journal.close();
    const db = new DatabaseSync(path);
    db.exec("UPDATE runs SET state = json_remove(state, '$.steers_waiting')");
    db.close();

    const again = await SqliteJournal.open({ path });
    expect(await again.getRun(runId)).toEqual(run);
    await again.post(runId, { kind: 'steer', input: 'left' });
    expect((await again.getRun(runId))?.state.steers_waiting).toBe(1);
    await again.close();
  });

  it('keeps sessions from before they had details, and leaves unknown counts unknown', async () => {
    using directory = tempDirectory();
    const path = join(directory.path, 'talaria.db');
    const turn = { messages: [{ role: 'user', content: 'hi' } as const], replaces: false };
    const db = new DatabaseSync(path);
    migrate(db, BEFORE_DETAILS);
    db.exec(`
      INSERT INTO sessions (n, owner, session_id, created_at, used_at, place, next_pos, context_from, turns)
        VALUES (1, 'ada', 's', 1, 2, 1, 1, 0, 1);
      INSERT INTO session_messages (session, pos, turn, run_id, at, begins_context, message)
        VALUES (1, 0, 0, 'run_1', 1, 0, '{"role":"user","content":"hi"}')`);
    db.close();

    const again = await SqliteJournal.open({ path });
    const unknown = { toolCalls: null, inputTokens: null, outputTokens: null, preview: null };
    expect(await again.sessions.get('ada', 's')).toMatchObject({
      turns: 1,
      title: null,
      hidden: false,
      ...unknown,
    });
    await again.append(await claimedRun(again, { sessionId: 's' }), [completed()], { turn });
    expect(await again.sessions.get('ada', 's')).toMatchObject({ turns: 2, nextPos: 2, ...unknown });
    expect((await again.sessions.update('ada', 's', { title: 'told' })).title).toBe('told');
    await again.close();
  });

  it('keeps runs from before they had these columns, and lists them by time', async () => {
    using directory = tempDirectory();
    const path = join(directory.path, 'talaria.db');
    const db = new DatabaseSync(path);
    migrate(db, BEFORE_JOBS_OF_RUNS);
    db.exec(`
      INSERT INTO runs (run_id, owner, session_id, status, created_at, updated_at, finished_at, next_pos, next_seq, epoch, state)
        VALUES ('run_1', 'ada', 's', 'completed', 5, 6, 6, 2, 1, 1, '{"status":"completed","output":"the answer"}')`);
    db.close();

    const journal = await SqliteJournal.open({ path });
    const run = await journal.getRun('run_1');
    expect(run).toMatchObject({ jobId: null, state: { input: null, steps: null } });
    expect(await journal.listRuns({ owner: 'ada', limit: 9, since: 5, words: ['answer'] })).toEqual({
      runs: [run],
    });
    expect(await journal.listRuns({ owner: 'ada', limit: 9, until: 5 })).toEqual({ runs: [] });
    await journal.close();
  });

  it('keeps grants and answers of a version that could not list them', async () => {
    using directory = tempDirectory();
    const path = join(directory.path, 'talaria.db');
    const db = new DatabaseSync(path);
    migrate(db, BEFORE_DECISIONS);
    const question = { request_id: 'apr_a', command: 'rm -rf x', pattern_keys: ['delete'], expires_at: 9 };
    db.exec(`
      INSERT INTO runs (n, run_id, owner, session_id, status, created_at, updated_at, next_pos, next_seq, epoch, state)
        VALUES (7, 'run_1', 'ada', 's', 'running', 5, 6, 4, 2, 1, '{"status":"running"}');
      INSERT INTO records (run, pos, seq, event, at, public, private) VALUES
        (7, 2, 0, 'approval.request', 5, '${JSON.stringify(question)}', NULL),
        (7, 3, 1, 'approval.responded', 6, '{"choice":"deny","resolved":1,"request_id":"apr_a","reason":"timeout"}',
         '{"request_ids":["apr_a"]}');
      INSERT INTO grants (owner, session_id, pattern_key, created_at)
        VALUES ('ada', '', 'delete', 2), ('ada', 's', 'sudo', 1)`);
    db.close();

    const journal = await SqliteJournal.open({ path });
    const { grants } = await journal.approvals.grants({ owner: 'ada', limit: 9 });
    expect(grants).toMatchObject([
      { sessionId: undefined, patternKey: 'delete', createdAt: 2, lastUsedAt: null },
      { sessionId: 's', patternKey: 'sudo', createdAt: 1, lastUsedAt: null },
    ]);
    expect(new Set(grants.map(({ id }) => id)).size).toBe(2);
    expect(await journal.approvals.allows('ada', 's', ['delete', 'sudo'])).toBe(true);
    expect(await journal.approvals.revoke('ada', grants[0]!.id)).toBe(true);
    expect((await journal.approvals.decisions({ owner: 'ada', limit: 9 })).decisions).toMatchObject([
      { runId: 'run_1', question, choice: 'deny', answeredBy: 'timeout', answeredAt: 6, message: null },
    ]);
    await journal.close();
  });

  it('of a version that kept no heads keeps those of its runs from now on', async () => {
    using directory = tempDirectory();
    const path = join(directory.path, 'talaria.db');
    const db = new DatabaseSync(path);
    migrate(db, BEFORE_HEADS);
    db.exec(`
      INSERT INTO runs (run_id, owner, session_id, status, created_at, updated_at, finished_at, next_pos, next_seq, epoch, state)
        VALUES ('run_1', 'ada', 's', 'completed', 5, 6, 6, 2, 1, 1, '{"status":"completed","output":"the answer"}')`);
    db.close();

    const journal = await SqliteJournal.open({ path });
    const run = await journal.getRun('run_1');
    await evictExpired(journal, 0, 10);
    const { runs } = await journal.listRuns({ owner: 'ada', limit: 9, words: ['answer'] });
    expect(runs).toEqual([{ ...run, evicted: true }]);
    await journal.close();
  });

  it('of a version whose responses were whole runs keeps them, to read and to continue', async () => {
    using directory = tempDirectory();
    const path = join(directory.path, 'talaria.db');
    const db = new DatabaseSync(path);
    migrate(db, BEFORE_PARTS);
    const settings = { model: 'm', metadata: { order: '7' }, background: false, store: true };
    db.exec(`
      INSERT INTO sessions (n, owner, session_id, created_at, used_at, place, next_pos, context_from, turns)
        VALUES (3, 'ada', 's', 1, 2, 1, 2, 0, 1);
      INSERT INTO session_messages (session, pos, turn, run_id, at, begins_context, message)
        VALUES (3, 0, 0, 'run_1', 1, 0, '{"role":"user","content":"a"}'), (3, 1, 0, 'run_1', 1, 0, '{"role":"user","content":"b"}');
      INSERT INTO responses (n, response_id, owner, run_id, session, session_id, created_at, settings, context_from, context_to, snapshot)
        VALUES (5, 'resp_1', 'ada', 'run_1', 3, 's', 1, '${JSON.stringify(settings)}', 0, 2, '{"id":"resp_1"}')`);
    db.close();

    const journal = await SqliteJournal.open({ path });
    const { responses } = journal;
    const stored = await responses.get('ada', 'resp_1');
    expect(stored).toMatchObject({
      runId: 'run_1',
      afterSeq: -1,
      sessionId: 's',
      snapshot: '{"id":"resp_1"}',
    });
    // Its calls were shown as clients knew them then.
    expect(stored!.settings).toMatchObject({ ...settings, tool_items: 'function_call', tools: [], used: {} });
    expect(await responses.ofRun('run_1')).toEqual([stored]);
    expect(await responses.input('ada', 'resp_1')).toBeNull();
    expect(await responses.context('ada', 'resp_1')).toEqual({ sessionId: 's', from: 0, to: 2 });
    const response = { responseId: 'resp_2', settings: stored!.settings, previous: 'resp_1', maxStored: 9 };
    await createRun(journal, { sessionId: 'fork', response });
    expect(await responses.get('ada', 'resp_2')).toMatchObject({ sessionId: 's' });
    await journal.close();
  });

  it('that is not a database is refused with the reason', async () => {
    using directory = tempDirectory();
    const path = join(directory.path, 'talaria.db');
    mkdirSync(path);
    await expect(SqliteJournal.open({ path })).rejects.toThrow(/unable to open database file/);
  });

  it('of a closed journal accepts nothing more', async () => {
    using directory = tempDirectory();
    const journal = await SqliteJournal.open({ path: join(directory.path, 'talaria.db') });
    await journal.close();
    await expect(journal.append({ runId: 'run_1', epoch: 1 }, [delta()])).rejects.toThrow(
      /writer thread has ended/,
    );
  });
});

/** Sets the schema version of a closed database and returns the former one. */
function setVersion(path: string, version: number): number {
  const db = new DatabaseSync(path);
  const { user_version } = db.prepare('PRAGMA user_version').get() as { user_version: number };
  db.exec(`PRAGMA user_version = ${version}`);
  db.close();
  return user_version;
}
