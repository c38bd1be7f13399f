/**
 * Every statement of the journal finds its rows by an index, in a database with two hundred thousand records. The plans that the
 * database used show it: with the actual parameters, and again with generic plans, as for prepared statements.
 */
import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { createFileId, createRunId } from '@talaria/protocol';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createBlobId } from '../../blobs/blob-ids.ts';
import type { Claim, Lease, NewRun } from '../journal.ts';
import type { ResponseSettings } from '../responses.ts';
import {
  approvalRequest,
  checkpointed,
  checkpointOf,
  completed,
  delta,
  HEADS_KEPT,
  LEASE_MS,
  NO_LIMIT,
  newJob,
  newRun,
} from '../testing/records.ts';
import { PostgresJournal } from './postgres-journal.ts';
import { fillArchive } from './testing/archive.ts';
import { explainAll, inOneLine, type Plan, type PlanNode, plansOf } from './testing/plans.ts';
import { startPostgres, type TestPostgres } from './testing/start-postgres.ts';

/** Waiting and failed things may be counted; kept ones may not. */
const ROWS_MAX = 2_000;
const PAGES_MAX = 3_000;
/** Always few rows, however much is stored: no index would help. */
const SMALL = [
  'owners',
  'file_totals',
  'keys',
  'probe',
  'leftovers',
  'servers',
  'disk_use',
  'talaria_schema',
];

/** The schema, and the one row that exists while a store is moved: neither is part of serving. */
const ELSEWHERE = ['migrations.ts', 'move-mark.ts'];
/** What the journal asks about watched runs every few seconds. */
const LOOK = 'SELECT run_id, next_pos FROM runs';

let postgres: TestPostgres;
let url: string;

beforeAll(async () => {
  postgres = await startPostgres({ settings: { max_wal_size: '4GB' } });
  url = await postgres.createDatabase();
  await (await PostgresJournal.open({ url })).close();
  await fillArchive(url);
}, 120_000);
afterAll(() => postgres?.stop());

describe.each(['auto', 'force_generic_plan'] as const)('with plan_cache_mode = %s', (mode) => {
  let plans: Plan[];

  beforeAll(async () => {
    await explainAll(url, mode);
    plans = await plansOf(async (soFar) => {
      const journal = await PostgresJournal.open({ url, worker: 'another life' });
      const unwatch = journal.watchEvents(RUN, () => {});
      await doEverything(journal);
      await vi.waitUntil(() => isAmong(soFar, LOOK), 10_000);
      unwatch();
      await journal.close();
    });
  }, 120_000);

  it('every statement in the source was run', () => {
    expect(statementsInSource().filter((sql) => !isAmong(plans, sql))).toEqual([]);
  });

  it('none scans a table', () => {
    const walks = plans.flatMap(({ sql, nodes }) =>
      nodes
        .filter((node) => node['Node Type'] === 'Seq Scan' && !SMALL.includes(node['Relation Name'] ?? ''))
        .map((node) => `${node['Relation Name']}: ${sql}`),
    );
    expect([...new Set(walks)]).toEqual([]);
  });

  it('none reads much', () => {
    const greedy = plans
      .map(({ sql, nodes, pages }) => ({ sql, pages, rows: Math.max(...nodes.map(rowsRead)) }))
      .filter(({ rows, pages }) => rows > ROWS_MAX || pages > PAGES_MAX);
    expect(greedy).toEqual([]);
  });
});

it('an idle server sends one statement for each poll, and no transaction', async () => {
  const empty = await postgres.createDatabase();
  await (await PostgresJournal.open({ url: empty })).close();
  await explainAll(empty, 'auto');
  let questions: number | undefined;
  const plans = await plansOf(async (soFar) => {
    const journal = await PostgresJournal.open({ url: empty });
    const before = soFar.length;
    await journal.claim('w', LEASE_MS, 10);
    await journal.kept.expired(0, 10);
    await journal.queueDepth();
    await journal.sessions.sweep(0, 10);
    await journal.heads.sweep(0, 10);
    await journal.jobs.agenda(10);
    await journal.jobs.planned();
    await journal.outbox.due();
    await journal.outbox.counts();
    await journal.peers.servers.list();
    await journal.kept.unmeasured('server_1', 10);
    await journal.kept.used('server_1');
    questions = soFar.length - before;
    await journal.close();
  });
  expect(questions).toBe(12);
  expect(plans.slice(-12).map(({ sql }) => sql.split(' ')[0])).toEqual(Array(12).fill('SELECT'));
});

function isAmong(plans: readonly Plan[], beginning: string): boolean {
  return plans.some(({ sql }) => sql.startsWith(beginning));
}

/** Rows that the step read, whether or not it kept them. */
function rowsRead(node: PlanNode): number {
  const { 'Actual Rows': kept, 'Actual Loops': loops } = node;
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  return (kept + removed) * loops;
}

/** How each statement begins: up to the first part that is inserted at run time. */
function statementsInSource(): string[] {
  /** Only used after a lost connection, and reads no table. */
  const fateOfCommit = 'SELECT pg_xact_status';
  const verb = '\\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH) ';
  const literal = new RegExp(`\`(${verb}[^\`$]*)|'(${verb}[^'\\n]*)'|"(${verb}[^"\\n]*)"`, 'g');
  return [...sourcesOf('postgres-journal.ts').values()]
    .flatMap((source) => [...source.matchAll(literal)])
    .map(([, ...parts]) => inOneLine(parts.find((part) => part !== undefined)!))
    .filter((sql) => !sql.startsWith(fateOfCommit));
}

/** The file and all files of this folder that it imports. */
function sourcesOf(name: string, found = new Map<string, string>()): Map<string, string> {
  if (found.has(name) || ELSEWHERE.includes(name)) return found;
  const source = readFileSync(new URL(name, import.meta.url), 'utf8');
  found.set(name, source);
  for (const [, imported] of source.matchAll(/from '\.\/([\w-]+\.ts)'/g)) sourcesOf(imported!, found);
  return found;
}

async function doEverything(journal: PostgresJournal): Promise<void> {
  await readRuns(journal);
  await workOnRuns(journal);
  await useSessions(journal);
  await useConversations(journal);
  await useResponses(journal);
  await useJobs(journal);
  await sendMessages(journal);
  await knowPeers(journal);
  await keepCheckpoints(journal);
  await keepContents(journal);
  await sweep(journal);
}

const OWNER = 'owner_1';
const RUN = 'run_501';
const HEAD = 'head_501';
const webhook = { url: 'https://receiver-1/', secret: { kind: 'none' } } as const;
const turn = { messages: [{ role: 'user', content: 'hi' } as const], replaces: false };

async function readRuns(journal: PostgresJournal): Promise<void> {
  const run = await journal.getRun(RUN);
  const middle = run!.createdAt;
  const head = await journal.heads.get(HEAD);
  for (const filter of [
    {},
    { statuses: ['failed'] },
    { statuses: ['failed', 'completed', 'running'] },
    { sessionId: run!.sessionId },
    { jobId: 'none' },
    { since: middle },
    { until: middle },
    { since: head!.createdAt, until: head!.createdAt + 1_000 },
    { statuses: ['failed', 'completed'], since: middle, until: middle + 1 },
    { words: ['nowhere'] },
  ] as const) {
    const { next } = await journal.listRuns({ owner: OWNER, limit: 3, ...filter });
    await journal.listRuns({ owner: OWNER, limit: 3, ...filter, after: next });
  }
  await journal.readEvents(RUN, 10, 20);
  await journal.readLog(RUN, -1);
  await journal.readPosted(RUN, -1);
  await journal.firstShownAfter(RUN, 0);
  await journal.previousTurn(run!);
  const [grant] = (await journal.approvals.grants({ owner: OWNER, limit: 1 })).grants;
  await journal.approvals.allows(OWNER, grant!.sessionId!, [grant!.patternKey]);
  await journal.approvals.revoke(OWNER, grant!.id);
  await journal.approvals.decisions({ owner: OWNER, limit: 10 });
  const place = await journal.changes.now();
  const { changed } = await journal.changes.read([OWNER], { mark: 18_000, history: place.history });
  await journal.changes.runs(
    changed.slice(0, 10).map(({ ordinal }) => ordinal),
    1_000,
  );
  await journal.queueDepth();
  await journal.queuePosition(run!);
  await journal.checkHealth();
}

async function create(
  journal: PostgresJournal,
  overrides: Partial<NewRun> = {},
  maxQueued = 10_000,
): Promise<string> {
  const run = newRun({ owner: OWNER, ...overrides });
  await journal.createRun(run, { ...NO_LIMIT, maxQueued });
  return run.runId;
}

/** Of the waiting runs, this one: the others are locked for a while. */
async function claim(journal: PostgresJournal, runId: string): Promise<Claim> {
  for (;;) {
    const claims = await journal.claim('w', LEASE_MS, 50);
    const found = claims.find((claimed) => claimed.runId === runId);
    if (found !== undefined) return found;
    if (claims.length === 0) throw new Error(`${runId} could not be claimed`);
  }
}

async function workOnRuns(journal: PostgresJournal): Promise<void> {
  const idempotency = { key: createRunId(), bodyHash: 'b' };
  const runId = await create(journal, { idempotency, webhook });
  await create(journal, { idempotency });
  await journal.findKey(OWNER, idempotency.key);
  await create(journal, { idempotency: { key: createRunId(), bodyHash: 'b' } }, 0);
  const claimed = await claim(journal, runId);
  await journal.renew('w', [claimed], LEASE_MS);
  await journal.append(claimed, [delta(), approvalRequest('a')]);
  await journal.post(runId, { kind: 'approval', choice: 'session', all: false });
  await journal.park(claimed, { ms: 0, seenPostedPos: 0 });
  await journal.queuePosition((await journal.getRun(runId))!);
  await journal.release(claimed);
  await journal.append(await claim(journal, runId), [completed()], { seenPostedPos: 100 });

  // A run whose workers die again and again is a suspect.
  await create(journal);
  for (let i = 0; i < 4; i++) await journal.claim('w', 0, 1);
  // One that was told to stop, and whose worker died.
  const stopped = await create(journal);
  const held = await claim(journal, stopped);
  await journal.post(stopped, { kind: 'stop' });
  await journal.renew('w', [held], 0);
  await journal.claim('w', LEASE_MS, 0);
}

async function finish(journal: PostgresJournal, runId: string, lease?: Lease): Promise<void> {
  await journal.append(lease ?? (await claim(journal, runId)), [completed()], { turn });
}

async function useSessions(journal: PostgresJournal): Promise<void> {
  const { sessions } = journal;
  const [name, fork] = [createRunId(), createRunId()];
  const runId = await create(journal, { sessionId: name });
  await finish(journal, runId);
  const claims: Claim[] = [];
  for (const sessionId of [createRunId(), createRunId()]) {
    claims.push(await claim(journal, await create(journal, { sessionId })));
  }
  await Promise.all(claims.map((held) => finish(journal, held.runId, held)));
  await create(journal, { sessionId: createRunId(), sessionFork: { runId, upTo: 1 } });
  await sessions.get(OWNER, name);
  const { next } = await sessions.list({ owner: OWNER, limit: 3 });
  await sessions.list({ owner: OWNER, limit: 3, after: next });
  await sessions.messages(OWNER, name, { from: 0, limit: 10 });
  await sessions.messages(OWNER, name, { from: 0, limit: 10, latest: true });
  await sessions.fork({ owner: OWNER, from: name, into: fork });
  const session = { owner: OWNER, title: 'a', systemPrompt: null, source: null, model: null };
  await sessions.create({ ...session, sessionId: createRunId() });
  await sessions.update(OWNER, fork, { title: 'b' });
  await sessions.delete(OWNER, fork);
}

async function useConversations(journal: PostgresJournal): Promise<void> {
  const { conversations, sessions } = journal;
  const conversationId = createRunId();
  const { messages } = turn;
  await conversations.create({ owner: OWNER, conversationId, metadata: {}, messages });
  await conversations.describe(OWNER, conversationId, { topic: 'snow' });
  const { nextPos } = (await conversations.get(OWNER, conversationId))!;
  await conversations.add(OWNER, conversationId, { messages, replaces: true }, nextPos);
  await sessions.delete(OWNER, conversationId);
}

async function useResponses(journal: PostgresJournal): Promise<void> {
  const { responses } = journal;
  const names = [createRunId(), createRunId(), createRunId()] as const;
  // The third continues the first, as the second did: it branches off.
  for (const [i, previous] of [undefined, names[0], names[0]].entries()) {
    const response = { responseId: names[i]!, settings: {} as ResponseSettings, maxStored: 1000, previous };
    await finish(journal, await create(journal, { sessionId: createRunId(), response }));
  }
  const first = (await responses.get(OWNER, names[0]))!;
  const settings = {} as ResponseSettings;
  await responses.add(first, { responseId: createRunId(), afterSeq: 3, settings, maxStored: 1000 });
  await responses.context(OWNER, names[0]);
  await responses.input(OWNER, names[0]);
  const next = { responseId: createRunId(), afterSeq: 3, settings: {} as ResponseSettings, maxStored: 1000 };
  await responses.add((await responses.get(OWNER, names[0]))!, next);
  await responses.ofRun(RUN);
  await responses.keep(names[0], '{}');
  await responses.delete(OWNER, names[0]);
}

async function useJobs(journal: PostgresJournal): Promise<void> {
  const { jobs } = journal;
  const job = (await jobs.create(newJob({ owner: OWNER, nextRunAt: 1 }), 1000))!;
  await jobs.get(job.jobId);
  await jobs.list(OWNER);
  const updated = (await jobs.update(job, { name: 'other' }))!;
  await jobs.agenda(10);
  await jobs.planned();
  await finish(
    journal,
    await create(journal, { job: { ...updated, nextRunAt: null }, sessionId: createRunId() }),
  );
  await jobs.delete(job.jobId);
}

async function sendMessages(journal: PostgresJournal): Promise<void> {
  const { outbox } = journal;
  await outbox.due();
  await outbox.counts();
  await outbox.state(RUN);
  const [a, b, c, d] = await outbox.claim({ leaseMs: LEASE_MS, limit: 4, perReceiver: 4 });
  await outbox.settle(a!, { kind: 'postponed', delayMs: 1000, error: 'x' });
  await outbox.settle(b!, { kind: 'failed', error: 'x' });
  await outbox.settle(c!, { kind: 'delivered' });
  await outbox.settle(d!, { kind: 'returned' });
}

async function knowPeers(journal: PostgresJournal): Promise<void> {
  const { servers, workspaces } = journal.peers;
  const server = { serverId: 'server_1', url: 'http://x', role: 'all', version: '1', maxRuns: 1 };
  const startedAt = await servers.announce(server);
  await servers.renew(server, startedAt);
  await servers.list();
  await servers.forget(1_000_000);
  await workspaces.place(await claim(journal, await create(journal)), 'server_1');
  await workspaces.locate(RUN);
  await workspaces.adopt('server_1', [RUN, 'run_nobody_knows']);
  await workspaces.removed('server_1', await workspaces.evicted('server_1', 10));
  await servers.leave('server_1', startedAt);
}

async function keepCheckpoints(journal: PostgresJournal): Promise<void> {
  const [sessionId, into] = [createRunId(), createRunId()];
  const held = await claim(journal, await create(journal, { sessionId }));
  const blob = await journal.blobs.write(Readable.from([Buffer.alloc(9)]));
  const checkpoint = checkpointOf(1, blob.blobId);
  await journal.append(held, [checkpointed(checkpoint)], { blobs: [blob] });
  const small = { blobId: createBlobId(), bytes: Buffer.alloc(9) };
  await journal.append(held, [checkpointed(checkpointOf(2, small.blobId))], { blobs: [small] });
  const files = { run_id: held.runId, checkpoint };
  await journal.append(held, [completed()], { sessionFiles: { files, blobIds: [blob.blobId] } });
  await journal.sessions.fork({ owner: OWNER, from: sessionId, into });
  await journal.readCheckpoints(held.runId);
  await journal.positionOf(held.runId, 3);
  await journal.lastSeqAt(held.runId, 3);
  await journal.sessions.files('owner', 's');
}

async function keepContents(journal: PostgresJournal): Promise<void> {
  const { blobs, contents } = journal;
  const written = await blobs.write(Readable.from([Buffer.alloc(3_000_000)]));
  for await (const _ of blobs.read(written.blobId, { start: 7, end: 9 }));
  await contents.hold('session:s', [written, written]);
  const { blobId } = written;
  await create(journal, { blobs: [{ blobId, from: 'session:s' }] });
  await contents.heldBy('session:s');
  await contents.drop('session:s', [blobId]);
  const listed = await blobs.list(blobId, 10);
  await contents.unneeded([written, ...listed]);
  const fileId = createFileId();
  const file = { owner: OWNER, fileId, filename: 'a', purpose: 'user_data', blob: written };
  await journal.files.add(file, { maxFiles: 1_000_000, maxBytes: 1_000_000_000 });
  await journal.files.get(OWNER, fileId);
  for (const after of [undefined, fileId]) {
    await journal.files.list({ owner: OWNER, order: 'desc', limit: 3, after });
    await journal.files.list({ owner: OWNER, order: 'asc', limit: 3, after, purpose: 'user_data' });
  }
  await journal.files.totals(OWNER);
  await journal.files.delete(OWNER, fileId);
  await blobs.remove([blobId]);
}

async function sweep(journal: PostgresJournal): Promise<void> {
  for (const keep of [true, false]) await journal.kept.keep(RUN, keep, Number.MAX_SAFE_INTEGER);
  const [runId] = await journal.kept.unmeasured('server_1', 20);
  await journal.kept.measured('server_1', [{ runId: runId!, bytes: 5 }]);
  await journal.kept.outdated('server_1', runId!);
  await journal.kept.measured('server_1', [{ runId: runId!, bytes: 5 }]);
  await journal.kept.used('server_1');
  await journal.kept.giveUp('server_1', 1, 20);
  // So long that it takes several transactions, and with a key that expires with it.
  const idempotency = { key: createRunId(), bodyHash: 'b', keptMs: 0 };
  const long = await claim(journal, await create(journal, { idempotency }));
  await journal.append(long, [...Array.from({ length: 1_100 }, () => delta()), completed()]);
  await journal.evict([long.runId], HEADS_KEPT);
  await journal.evict(await journal.kept.expired(3_600_000, 5), HEADS_KEPT);
  await journal.heads.sweep(3_600_000, 5);
  await journal.sessions.sweep(3_600_000, 5);
  await journal.evict([], HEADS_KEPT);
}
