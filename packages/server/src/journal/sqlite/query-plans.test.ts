import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Cursors } from '../cursors.ts';
import type { ResponseSettings } from '../responses.ts';
import { completed, HEADS_KEPT, LEASE_MS, NO_LIMIT, newJob, newRun } from '../testing/records.ts';
import { migrate } from './migrations.ts';
import { SqliteReader } from './reader.ts';
import { type TempDirectory, tempDirectory } from './testing/temp-journal.ts';
import { SqliteWriter } from './writer.ts';

let directory: TempDirectory;
let db: DatabaseSync;
let writer: SqliteWriter;
let reader: SqliteReader;

beforeEach(() => {
  directory = tempDirectory();
  const path = join(directory.path, 'talaria.db');
  db = new DatabaseSync(path);
  db.exec('PRAGMA journal_mode = WAL');
  migrate(db);
  writer = new SqliteWriter(db);
  reader = new SqliteReader(path);
});
afterEach(() => {
  reader.close();
  db.close();
  directory[Symbol.dispose]();
});

/** The plan of every statement that `use` prepares. */
function plansOf(use: () => unknown): string[] {
  const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare');
  use();
  const statements = prepare.mock.calls.map(([sql]) => sql);
  prepare.mockRestore();
  expect(statements).not.toEqual([]);
  return statements.flatMap((sql) =>
    db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map((row) => String(row.detail)),
  );
}

/**
 * Whether a plan scans a whole table, or sorts what an index could have returned in order. The few unfinished runs, and
 * the few messages in progress, may be scanned, and so may the part of a queue that `queuePosition` counts.
 */
function slow(plans: readonly string[]): string[] {
  return plans.filter(
    (plan) =>
      /^SCAN|TEMP B-TREE/.test(plan) &&
      !/^SCAN \w+ USING (COVERING )?INDEX runs_(begun|stopping|unfinished_by_session)$/.test(plan) &&
      !['SCAN webhook_messages USING INDEX webhook_messages_leased', 'SCAN begun', 'SCAN fresh'].includes(
        plan,
      ),
  );
}

const run = { runId: 'run_1', owner: 'ada', sessionId: 's', ordinal: 9 } as Parameters<
  SqliteReader['previousTurn']
>[0];
const list = (filter: object) => () => reader.listRuns({ owner: 'ada', limit: 50, ...filter });
const listAfter = (filter: object) => () => {
  const { value } = db.prepare('SELECT value FROM keys WHERE name = ?').get('cursors') as {
    value: Uint8Array;
  };
  return list({ ...filter, after: new Cursors(value).seal('ada', 9) })();
};

describe('every query finds its rows by an index', () => {
  it.each<[string, () => unknown, RegExp]>([
    ['getRun', () => reader.getRun('run_1'), /run_id=\?/],
    ['queuePosition', () => reader.queuePosition(run, 5), /runs_new \(owner=\? AND n<\?\)/],
    ['findKey', () => reader.findKey('ada', 'k', 5), /i USING PRIMARY KEY \(owner=\? AND key=\?\)/],
    ['heads.get', () => reader.heads.get('run_1'), /run_heads_2 \(run_id=\?\)/],
    ['listRuns', list({}), /runs_by_owner \(owner=\?\)/],
    ['listRuns, next page', listAfter({}), /runs_by_owner \(owner=\? AND n<\?\)/],
    [
      'listRuns by status',
      listAfter({ statuses: ['running'] }),
      /runs_by_status \(owner=\? AND status=\? AND n<\?\)/,
    ],
    [
      'listRuns by several statuses',
      listAfter({ statuses: ['running', 'failed'] }),
      /runs_by_status \(owner=\? AND status=\? AND n<\?\)/,
    ],
    [
      'listRuns by job and status',
      listAfter({ jobId: 'j', statuses: ['running'] }),
      /runs_by_job \(owner=\? AND job_id=\? AND n<\?\)/,
    ],
    ['listRuns since', list({ since: 5 }), /runs_by_owner \(owner=\? AND n>\?\)/],
    ['listRuns since, where', list({ since: 5 }), /runs_by_creation \(owner=\? AND created_at>\?\)/],
    ['listRuns until', list({ until: 5 }), /runs_by_owner \(owner=\? AND n<\?\)/],
    ['listRuns by words', list({ words: ['w'] }), /runs_by_owner \(owner=\?\)/],
    ['listRuns by session', list({ sessionId: 's' }), /runs_by_session \(owner=\? AND session_id=\?\)/],
    [
      'listRuns by session and status',
      listAfter({ sessionId: 's', statuses: ['running'] }),
      /runs_by_session \(owner=\? AND session_id=\? AND n<\?\)/,
    ],
    [
      'readEvents',
      () => expect(() => reader.readEvents('run_1', 5, 100)).toThrow('Run not found'),
      /records USING PRIMARY KEY \(run=\? AND pos>\?\)/,
    ],
    ['readLog', () => reader.readLog('run_1', 5), /records USING PRIMARY KEY \(run=\? AND pos>\?\)/],
    ['readPosted', () => reader.readPosted('run_1', 5), /records USING PRIMARY KEY \(run=\? AND pos>\?\)/],
    [
      'firstShownAfter',
      () => reader.firstShownAfter('run_1', 5),
      /records USING PRIMARY KEY \(run=\? AND pos>\?\)/,
    ],
    [
      'previousTurn',
      () => reader.previousTurn(run),
      /runs_by_session \(owner=\? AND session_id=\? AND n<\?\)/,
    ],
    [
      'the list of grants',
      () => reader.approvals.grants({ owner: 'ada', limit: 10 }),
      /grants_by_owner \(owner=\? AND n<\?\)/,
    ],
    [
      'decisions',
      () => reader.approvals.decisions({ owner: 'ada', limit: 10 }),
      /decisions_by_owner \(owner=\? AND n<\?\)/,
    ],
    [
      'grants',
      () => reader.approvals.granted('ada', 's'),
      /grants USING INDEX \w+ \(owner=\? AND session_id=\?\)/,
    ],
    [
      'sessions.get',
      () => reader.sessions.get('ada', 's'),
      /sqlite_autoindex_sessions_1 \(owner=\? AND session_id=\?\)/,
    ],
    [
      'sessions.list',
      () => reader.sessions.list({ owner: 'ada', limit: 50 }),
      /sqlite_autoindex_sessions_2 \(owner=\? AND place<\?\)/,
    ],
    [
      'sessions.messages',
      () => reader.sessions.messages('ada', 's', { from: 5 }),
      /session_messages USING PRIMARY KEY \(session=\? AND pos>\? AND pos<\?\)/,
    ],
    [
      'sessions.messages, the latest',
      () => reader.sessions.messages('ada', 's', { from: 5, latest: true }),
      /session_messages USING PRIMARY KEY \(session=\? AND pos>\? AND pos<\?\)/,
    ],
    [
      'changes of unfinished runs',
      () => reader.changes.changed(['ada'], 5, 9),
      /runs_unfinished_by_session \(owner=\?\)/,
    ],
    [
      'changes of finished runs',
      () => reader.changes.changed(['ada'], 5, 9),
      /runs_settled \(owner=\? AND settled>\? AND settled<\?\)/,
    ],
    [
      'changes of evicted runs',
      () => reader.changes.changed(['ada'], 5, 9),
      /run_heads_by_change \(owner=\? AND changed>\? AND changed<\?\)/,
    ],
    ['changes.runs', () => reader.changes.runs([7], 100), /INTEGER PRIMARY KEY \(rowid=\?\)/],
    ['outbox.due', () => reader.outbox.due(5), /webhook_messages_due \(due_at>\?\)/],
    ['outbox.state', () => reader.outbox.state('run_1'), /webhooks USING PRIMARY KEY \(run_id=\?\)/],
    [
      'responses.get',
      () => reader.responses.get('ada', 'resp_1'),
      /sqlite_autoindex_responses_1 \(response_id=\?\)/,
    ],
    ['responses.ofRun', () => reader.responses.ofRun('run_1'), /responses_by_run \(run_id=\?\)/],
    [
      'responses.input',
      () => reader.responses.input('ada', 'resp_1'),
      /sqlite_autoindex_responses_1 \(response_id=\?\)/,
    ],
    [
      'conversations.get',
      () => reader.conversations.get('ada', 's'),
      /c USING INTEGER PRIMARY KEY \(rowid=\?\)/,
    ],
    ['jobs.get', () => reader.jobs.get('0123456789ab'), /sqlite_autoindex_jobs_1 \(job_id=\?\)/],
    ['jobs.list', () => reader.jobs.list('ada'), /jobs_by_owner \(owner=\?\)/],
    ['jobs.agenda', () => reader.jobs.agenda(10, 5), /jobs_due \(next_run_at<\?\)/],
    ['jobs.planned', () => reader.jobs.planned(5), /jobs_due \(next_run_at>\?\)/],
    ['contents.heldBy', () => reader.contents.heldBy('file:1'), /blob_refs USING PRIMARY KEY \(holder=\?\)/],
    ['files.get', () => reader.files.get('ada', 'file-1'), /files USING PRIMARY KEY \(file_id=\?\)/],
    [
      'files.list',
      () => reader.files.list({ owner: 'ada', order: 'desc', limit: 9, after: 'file-1', purpose: 'p' }),
      /files_by_owner \(owner=\? AND file_id<\?\)/,
    ],
    ['files.totals', () => reader.files.totals('ada'), /file_totals USING PRIMARY KEY \(owner=\?\)/],
    [
      'contents.unneeded',
      () => reader.contents.unneeded([{ blobId: 'b', writtenAt: 0 }], 5),
      /blob_refs_by_blob \(blob_id=\?\)/,
    ],
  ])('%s', (_, read, index) => {
    const plans = plansOf(read);
    expect(plans).toContainEqual(expect.stringMatching(index));
    expect(slow(plans)).toEqual([]);
  });

  it.each([
    {},
    { statuses: ['running'] },
    { statuses: ['running', 'failed'] },
    { jobId: 'j' },
    { sessionId: 's' },
    { since: 5 },
    { until: 5 },
  ])('a list of runs finds heads as it finds whole runs: %o', (filter) => {
    const indexes = (plans: readonly string[], table: string) =>
      plans.flatMap((plan) => new RegExp(`INDEX ${table}_(by_.*)`).exec(plan)?.[1] ?? []);
    const plans = plansOf(listAfter(filter));
    expect(indexes(plans, 'run_heads')).toEqual(indexes(plans, 'runs'));
    expect(indexes(plans, 'runs')).not.toEqual([]);
  });

  it('claim finds the runs that have begun and the new ones by owner, and looks up their sessions', () => {
    const plans = plansOf(() => {
      writer.createRun(newRun(), NO_LIMIT, 1);
      writer.claim('w', LEASE_MS, 10, 1);
    });
    expect(plans).toContain('SEARCH runs USING INDEX runs_begun (owner=?)');
    expect(plans).toContain('SEARCH r USING INDEX runs_new (owner=?)');
    expect(plans).toContainEqual(
      // Not by the index over all turns: in a long session it would scan the finished ones for each that waits.
      expect.stringMatching(
        /SEARCH e USING (COVERING )?INDEX runs_unfinished_by_session \(owner=\? AND session_id=\? AND n<\?\)/,
      ),
    );
    expect(slow(plans)).toEqual([]);
  });

  it('opening does, too', () => {
    expect(slow(plansOf(() => new SqliteWriter(db)))).toEqual([]);
  });

  it('all writes of a run that is created, claimed, asked, finished and evicted do', () => {
    const idempotency = { key: 'k', bodyHash: 'b' };
    const plans = plansOf(() => {
      writer.contents.hold('file:1', [{ blobId: 'b', writtenAt: 1 }], 1);
      const blobs = [{ blobId: 'b', from: 'file:1' as const }];
      writer.createRun(newRun({ runId: 'run_1', idempotency, blobs }), NO_LIMIT, 1);
      const [claim] = writer.claim('w', LEASE_MS, 1, 1).claims;
      writer.renew('w', [claim!], LEASE_MS, 2);
      writer.park(claim!, { ms: 0, seenPostedPos: 0 }, 2);
      writer.release(claim!, { ms: 0, seenPostedPos: 0 }, 2);
      const [again] = writer.claim('w', LEASE_MS, 1, 2).claims;
      writer.append(again!, [completed()], {}, 3);
      writer.kept.keep('run_1', true, 5, 4);
      writer.kept.keep('run_1', false, 5, 4);
      writer.kept.measured(writer.kept.unmeasured(20, 5_004).map((runId) => ({ runId, bytes: 5 })));
      writer.kept.outdated('run_1');
      writer.kept.measured(writer.kept.unmeasured(20, 5_004).map((runId) => ({ runId, bytes: 5 })));
      writer.kept.used();
      writer.kept.giveUp(1, 20, 4);
      writer.evict(writer.kept.expired(0, 10, 5), HEADS_KEPT, 5);
      writer.heads.sweep(0, 10, 6);
    });
    expect(slow(plans)).toEqual([]);
  });

  it('all writes of a session that is created, used, changed, forked, deleted and swept do', () => {
    const plans = plansOf(() => {
      writer.createRun(newRun({ sessionId: 's', runId: 'run_1' }), NO_LIMIT, 1);
      const [claim] = writer.claim('w', LEASE_MS, 1, 1).claims;
      const turn = { messages: [{ role: 'user', content: 'hi' } as const], replaces: false };
      writer.append(claim!, [completed()], { turn }, 2);
      writer.sessions.fork({ owner: 'ada', from: 's', into: 'f' }, 3);
      const sessionFork = { runId: 'run_1', upTo: 1 };
      writer.createRun(newRun({ runId: 'run_2', sessionId: 'run_2', sessionFork }), NO_LIMIT, 3);
      const session = { owner: 'ada', title: 'a', systemPrompt: null, source: null, model: null };
      writer.sessions.create({ ...session, sessionId: 'c' }, 3);
      writer.sessions.update('ada', 'c', { title: 'b', pinned: true }, 4);
      writer.evict(writer.kept.expired(0, 10, 5), HEADS_KEPT, 5);
      writer.sessions.delete('ada', 'f');
      writer.sessions.sweep(0, 10, 5);
    });
    expect(slow(plans)).toEqual([]);
  });

  it('all writes of a message that is added, claimed, postponed and delivered do', () => {
    const webhook = { url: 'https://example.com/', secret: { kind: 'none' } } as const;
    const plans = plansOf(() => {
      writer.createRun(newRun({ runId: 'run_1', webhook }), NO_LIMIT, 1);
      const [claim] = writer.claim('w', LEASE_MS, 1, 1).claims;
      writer.append(claim!, [completed()], {}, 2);
      const messages = () => writer.outbox.claim({ leaseMs: LEASE_MS, limit: 10, perReceiver: 2 }, 3);
      writer.outbox.settle(messages()[0]!, { kind: 'postponed', delayMs: 0, error: 'x' }, 3);
      writer.outbox.settle(messages()[0]!, { kind: 'delivered' }, 3);
      writer.evict(['run_1'], HEADS_KEPT, 5);
    });
    expect(plans).toContainEqual(
      expect.stringMatching(/webhook_messages_by_receiver \(receiver=\? AND due_at<\?\)/),
    );
    expect(plans).toContainEqual(
      expect.stringMatching(/webhook_messages_leased \(receiver=\? AND due_at>\?\)/),
    );
    expect(slow(plans)).toEqual([]);
  });

  it('all of a response that is created, continued, pushed out, kept and deleted do', () => {
    const response = (n: number, previous?: string) =>
      newRun({
        runId: `run_${n}`,
        sessionId: `s${n}`,
        response: { responseId: `resp_${n}`, settings: {} as ResponseSettings, maxStored: 1, previous },
      });
    const plans = plansOf(() => {
      for (const [n, previous] of [undefined, 'resp_0', 'resp_1'].entries()) {
        writer.createRun(response(n, previous), NO_LIMIT, 1);
        const [claim] = writer.claim('w', LEASE_MS, 1, 1).claims;
        const turn = { messages: [{ role: 'user', content: 'hi' } as const], replaces: false };
        writer.append(claim!, [completed()], { turn }, 2);
      }
      const next = { responseId: 'resp_3', afterSeq: 3, settings: {} as ResponseSettings, maxStored: 9 };
      writer.responses.addNext(reader.responses.get('ada', 'resp_2')!, next, 3);
      reader.responses.context('ada', 'resp_2');
      writer.responses.keep('resp_2', '{}');
      writer.responses.delete('ada', 'resp_2');
    });
    expect(slow(plans)).toEqual([]);
  });

  it('all writes of a conversation that is made, described, added to and deleted do', () => {
    const messages = [{ role: 'user', content: 'hi' } as const];
    const plans = plansOf(() => {
      writer.conversations.create({ owner: 'ada', conversationId: 'c', metadata: {}, messages }, 1);
      writer.conversations.describe('ada', 'c', { topic: 'snow' });
      writer.conversations.add('ada', 'c', { messages, replaces: true }, 1, 2);
      writer.sessions.delete('ada', 'c');
    });
    expect(slow(plans)).toEqual([]);
  });

  it('all writes of a file that is added and deleted do', () => {
    const blob = { blobId: 'b', size: 1, sha256: '', writtenAt: 1 };
    const file = { owner: 'ada', fileId: 'file-1', filename: 'a', purpose: 'p', blob };
    const plans = plansOf(() => {
      writer.files.add(file, { maxFiles: 1, maxBytes: 1 }, 1);
      writer.files.delete('ada', 'file-1');
    });
    expect(slow(plans)).toEqual([]);
  });

  it('all writes of a job that is created, changed, run and deleted do', () => {
    const jobId = '0123456789ab';
    const plans = plansOf(() => {
      writer.jobs.create(newJob({ jobId }), 10, 1);
      writer.jobs.update({ jobId, version: 1 }, { name: 'b', nextRunAt: 5 });
      writer.createRun(newRun({ job: { jobId, version: 2, nextRunAt: 6 } }), NO_LIMIT, 1);
      const [claim] = writer.claim('w', LEASE_MS, 1, 1).claims;
      writer.append(claim!, [completed()], {}, 3);
      writer.jobs.delete(jobId);
    });
    expect(plans).toContainEqual(expect.stringContaining('jobs_running (last_run_id=?)'));
    expect(slow(plans)).toEqual([]);
  });
});
