import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createRunId, isTerminalEvent, NO_USAGE } from '@talaria/protocol';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { type Model, ModelError, type ModelErrorCode } from '../agent/model/model.ts';
import { ToolSet } from '../agent/tools/tool.ts';
import type { Log } from '../basics/log.ts';
import type { Claim, Journal, Lease } from '../journal/journal.ts';
import type { Message } from '../journal/messages.ts';
import type { Post } from '../journal/posts.ts';
import type { RunRequest } from '../journal/records.ts';
import { SqliteJournal } from '../journal/sqlite/sqlite-journal.ts';
import { Secrets } from '../secrets/secrets.ts';
import { noReport } from '../telemetry/facts.ts';
import { KeptSandboxes } from './kept-sandboxes.ts';
import type { RunWorkspaceFiles } from './run-files.ts';
import { RunWorker } from './run-worker.ts';

const LEASE_MS = 60_000;
/** As after a crash: the lease of a claim ends at once. */
const ENDED_LEASE_MS = 0;

test('a steer accepted between the answer and the end is delivered', async () => {
  const journal = await openJournal();
  const claim = await claimedRun(journal);
  const model = answering('first', 'second');
  await work(claim, model, {
    ...methods(journal),
    append: beforeEnd(journal, { kind: 'steer', input: 'and then' }),
  });
  expect(model.asked.map(lastUserText)).toEqual(['go', 'and then']);
  expect(await eventNames(journal, claim.runId)).toEqual([
    'message.delta',
    'step.completed',
    'run.steered',
    'message.delta',
    'step.completed',
    'run.completed',
  ]);
});

test('a run that continues after its files were restored for its end is told so', async () => {
  const journal = await openJournal();
  const claim = await claimedRun(journal);
  const checkpoint = { upto: 0, origin: 'worked', parts: [], entries: 0, bytes: 0, stored_bytes: 0 } as const;
  await journal.append(claim, [{ event: 'workspace.checkpointed', private: { ...checkpoint, parts: [] } }]);
  const model = answering('first', 'second');
  let isReverted = true;
  const workspace: Partial<RunWorkspaceFiles> = {
    checkpoint: async (upto) =>
      isReverted
        ? { record: { upto, missed: 'failed' }, blobs: [] }
        : { record: { ...checkpoint, parts: [] }, blobs: [] },
    isReverted: async () => isReverted,
    restoreLast: async () => {
      isReverted = false;
      return { kind: 'restored', lost: 'sandbox', pos: 0, omitted: 0 };
    },
  };
  const append = beforeEnd(journal, { kind: 'steer', input: 'and then' });
  await work(claim, model, { ...methods(journal), append }, { workspace });
  expect(model.asked).toHaveLength(2);
  expect(JSON.stringify(model.asked[1])).toContain('lost with the sandbox and restored');
  expect(lastUserText(model.asked[1]!)).toBe('and then');
});

test('shows only the last of two answers with a requested format and a steer between them', async () => {
  const journal = await openJournal();
  const claim = await claimedRun(journal, { output_form: {} });
  await work(claim, answering('{"n":1}', '{"n":2}'), {
    ...methods(journal),
    append: beforeEnd(journal, { kind: 'steer', input: 'and then' }),
  });
  const events = await journal.readEvents(claim.runId, -1, 100);
  expect(events.map(({ event }) => event)).toEqual([
    'step.completed',
    'run.steered',
    'step.completed',
    'message.delta',
    'run.completed',
  ]);
  expect(JSON.parse(events[3]!.payload)).toMatchObject({ delta: '{"n":2}' });
});

test('a stop accepted between the answer and the end cancels the run', async () => {
  const journal = await openJournal();
  const claim = await claimedRun(journal);
  await work(claim, answering('first'), {
    ...methods(journal),
    append: beforeEnd(journal, { kind: 'stop' }),
  });
  expect(await eventNames(journal, claim.runId)).toEqual([
    'message.delta',
    'step.completed',
    'run.cancelled',
  ]);
});

test('a steer accepted after the log was read but before it was applied reaches the first step', async () => {
  const journal = await openJournal();
  const claim = await claimedRun(journal);
  const model = answering('answer');
  await work(claim, model, {
    ...methods(journal),
    readLog: once(journal.readLog.bind(journal), async (read) => {
      const log = await read(claim.runId, -1);
      await journal.post(claim.runId, { kind: 'steer', input: 'and then' });
      await turns(3);
      return log;
    }),
    // The post arrives before the first step begins.
    previousTurn: async () => void (await turns(3)),
  });
  expect(model.asked.map(lastUserText)).toEqual(['and then']);
  expect(await eventNames(journal, claim.runId)).toEqual([
    'run.steered',
    'message.delta',
    'step.completed',
    'run.completed',
  ]);
});

test('a steer that comes both in the log and as a post is delivered once', async () => {
  const journal = await openJournal();
  const claim = await claimedRun(journal);
  const model = answering('answer');
  await work(claim, model, {
    ...methods(journal),
    readLog: once(journal.readLog.bind(journal), async (read) => {
      await journal.post(claim.runId, { kind: 'steer', input: 'and then' });
      return read(claim.runId, -1);
    }),
    readPosted: async (runId, afterPos) => {
      const posted = await journal.readPosted(runId, afterPos);
      while (model.asked.length === 0) await nextTurn();
      return posted;
    },
  });
  expect(model.asked.map(lastUserText)).toEqual(['and then']);
  expect(await eventNames(journal, claim.runId)).toEqual([
    'run.steered',
    'message.delta',
    'step.completed',
    'run.completed',
  ]);
});

test('a run that was claimed again and again without progress fails before it is read', async () => {
  const journal = await openJournal();
  let claim = await claimedRun(journal, { leaseMs: ENDED_LEASE_MS });
  for (let again = 0; again < 5; again += 1) claim = await claimNext(journal, ENDED_LEASE_MS);
  await journal.post(claim.runId, { kind: 'steer', input: 'seen by nobody' });
  await work(claim, hanging(), {
    ...methods(journal),
    readLog: () => expect.unreachable('reading the run may be what took the server down'),
  });
  const run = await journal.getRun(claim.runId);
  expect(run?.state).toMatchObject({ status: 'failed', error_code: 'recovery_limit' });
});

test.each([
  ['is', 'run handed over', undefined],
  ['could not be', 'the run could not be handed over; it is claimed when the lease ends', new Error('away')],
])('at a shutdown the run %s handed over, and the log says so', async (_, message, failure) => {
  const journal = await openJournal();
  const claim = await claimedRun(journal);
  const said: string[] = [];
  const note = (_fields: unknown, text: string) => said.push(text);
  const release = async (lease: Lease) => {
    if (failure !== undefined) throw failure;
    await journal.release(lease);
  };
  await work(
    claim,
    answering(),
    { ...methods(journal), release },
    { draining: AbortSignal.abort(), log: { debug: note, info: note, warn: note, error: note } as Log },
  );
  expect(said).toEqual([message]);
});

test.each([
  ['provider_unavailable', 1],
  ['content_filtered', 0],
] as const)('a run that fails as %s leaves %i lines in the log', async (code, lines) => {
  const journal = await openJournal();
  const claim = await claimedRun(journal);
  const said: unknown[] = [];
  const note = (...line: unknown[]) => said.push(line);
  await work(claim, failing(code, 'away, with sk-known-key'), journal, {
    secrets: new Secrets(['sk-known-key']),
    log: { debug: note, info: note, warn: note, error: expect.unreachable } as unknown as Log,
  });
  const line = [
    { runId: claim.runId, error_code: code, reason: expect.stringMatching(/^away, with (?!sk-)/) },
    'the run failed',
  ];
  expect(said).toEqual(Array.from({ length: lines }, () => line));
});

async function openJournal(): Promise<Journal> {
  const dir = mkdtempSync(join(tmpdir(), 'talaria-worker-'));
  const journal = await SqliteJournal.open({ path: join(dir, 'test.db') });
  onTestFinished(async () => {
    await journal.close();
    rmSync(dir, { recursive: true });
  });
  return journal;
}

async function claimedRun(
  journal: Journal,
  { leaseMs = LEASE_MS, ...fields }: Partial<RunRequest> & { leaseMs?: number } = {},
): Promise<Claim> {
  const runId = createRunId();
  const request = { prompt: 'go', session_named: true, ...fields };
  await journal.createRun(
    { runId, owner: 'ada', sessionId: runId, request },
    { maxQueued: 1, ownerShare: 1 },
  );
  return claimNext(journal, leaseMs);
}

async function claimNext(journal: Journal, leaseMs: number): Promise<Claim> {
  const [claim] = await journal.claim('worker', leaseMs, 1);
  if (claim === undefined) throw new Error('Nothing to claim');
  return claim;
}

/** The journal as an object of functions, so that a test can replace one of them. */
function methods(journal: Journal): Journal {
  return new Proxy({} as Journal, {
    get: (_, name: keyof Journal) => {
      const member = journal[name];
      return typeof member === 'function' ? member.bind(journal) : member;
    },
    ownKeys: () =>
      [...Reflect.ownKeys(journal), ...Reflect.ownKeys(SqliteJournal.prototype)].filter(
        (name) => name !== 'constructor',
      ),
    getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
  });
}

/** The first call goes through `first`, later ones straight to the journal. */
function once<A extends unknown[], R>(
  read: (...args: A) => Promise<R>,
  first: (read: (...args: A) => Promise<R>) => Promise<R>,
): (...args: A) => Promise<R> {
  let used = false;
  return (...args) => {
    if (used) return read(...args);
    used = true;
    return first(read);
  };
}

/** Posts when the first end of the run is about to be recorded. */
function beforeEnd(journal: Journal, post: Post): Journal['append'] {
  let posted = false;
  return async (lease, records, options) => {
    if (!posted && records.some(({ event }) => isTerminalEvent(event))) {
      posted = true;
      await journal.post(lease.runId, post);
    }
    return journal.append(lease, records, options);
  };
}

interface Circumstances {
  draining?: AbortSignal;
  log?: Log;
  secrets?: Secrets;
  workspace?: Partial<RunWorkspaceFiles>;
}

async function work(
  claim: Claim,
  model: Model,
  journal: Journal,
  {
    draining = new AbortController().signal,
    log = pino({ level: 'silent' }),
    secrets = new Secrets([]),
    workspace = {},
  }: Circumstances = {},
): Promise<void> {
  const worker = new RunWorker(
    claim,
    {
      journal,
      model,
      gate: () => () => ({ kind: 'allow' }),
      limits: {
        maxSteps: 9,
        maxTokens: 0,
        contextTokens: 0,
        maxRunMs: 0,
        modelRetries: 0,
        modelIdleMs: 60_000,
        approvalTimeoutMs: 60_000,
        clientToolTimeoutMs: 600_000,
      },
      systemPrompt: '',
      openTools: async () => ({
        tools: new ToolSet([]),
        workspace: {
          isUsedBy: () => false,
          prepare: async () => {},
          mount: async () => {},
          recover: async () => ({ kind: 'here' }),
          checkpoint: async () => undefined,
          isReverted: async () => false,
          restoreLast: async () => ({ kind: 'here' }),
          blobsOf: async () => undefined,
          ...workspace,
        },
        close: async () => {},
      }),
      sharesSessionFiles: true,
      secrets,
      log,
      report: noReport,
      now: Date.now,
    },
    draining,
    new KeptSandboxes({ max: 0, hasRoom: () => true, onPlace: () => {} }),
  );
  await worker.done;
}

function answering(...answers: string[]): Model & { asked: Message[][] } {
  const asked: Message[][] = [];
  return {
    name: 'answering',
    asked,
    async *streamStep({ messages }) {
      asked.push([...messages]);
      const text = answers[asked.length - 1] ?? 'nothing more';
      yield { type: 'text', delta: text };
      yield { type: 'finish', content: [{ type: 'text', text }], usage: NO_USAGE, reason: 'stop' };
    },
  };
}

function failing(code: ModelErrorCode, message: string): Model {
  return {
    name: 'failing',
    // biome-ignore lint/correctness/useYield: it fails before it answers.
    async *streamStep() {
      throw new ModelError(code, message, { retryable: false });
    },
  };
}

function hanging(): Model {
  return {
    name: 'hanging',
    async *streamStep({ signal }) {
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
  };
}

function lastUserText(messages: Message[]): unknown {
  return messages.findLast((message) => message.role === 'user')?.content;
}

async function eventNames(journal: Journal, runId: string): Promise<string[]> {
  return (await journal.readEvents(runId, -1, 100)).map(({ event }) => event);
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await nextTurn();
}
