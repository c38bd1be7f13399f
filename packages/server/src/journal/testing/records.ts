/** What the tests of the journal share: a clock, records and runs with only the interesting part spelled out. */
import { type ApprovalRequest, createRunId, type Usage } from '@talaria/protocol';
import type { Checkpoint, CheckpointRecord } from '../checkpoints.ts';
import type { NewJob } from '../jobs.ts';
import type { Claim, EvictOptions, Journal, NewRun } from '../journal.ts';
import type { AssistantPart, FinishReason } from '../messages.ts';
import type { LogRecord, NewRecord, QueuedApproval } from '../records.ts';

export class TestClock {
  #now = 1_700_000_000_000;
  readonly now = (): number => this.#now;
  advance(ms: number): void {
    this.#now += ms;
  }
}

export const LEASE_MS = 30_000;
export const NO_LIMIT = { maxQueued: 1_000_000, ownerShare: 0 };

export function newJob(overrides: Partial<NewJob> = {}): NewJob {
  return {
    jobId: createRunId().slice(-12),
    owner: 'ada',
    name: 'report',
    prompt: 'Report.',
    skills: ['reading'],
    deliver: 'local',
    schedule: { kind: 'interval', minutes: 60, display: 'every 1h' },
    timezone: 'Europe/Berlin',
    times: null,
    nextRunAt: null,
    retentionSeconds: null,
    ...overrides,
  };
}

/** A run in a session of its own, unless told otherwise. */
export function newRun(overrides: Partial<NewRun> = {}): NewRun {
  const runId = overrides.runId ?? createRunId();
  const named = overrides.sessionId !== undefined;
  return {
    runId,
    owner: 'ada',
    sessionId: runId,
    request: { prompt: 'hi', session_named: named },
    ...overrides,
  };
}

export async function createRun(journal: Journal, overrides: Partial<NewRun> = {}): Promise<string> {
  const run = newRun(overrides);
  const outcome = await journal.createRun(run, NO_LIMIT);
  if (outcome.kind !== 'created') throw new Error(`The run was not created: ${outcome.kind}`);
  return run.runId;
}

/** A new run, held by `worker`. Nothing else may be waiting. */
export async function claimedRun(
  journal: Journal,
  overrides: Partial<NewRun> = {},
  worker = 'worker',
): Promise<Claim> {
  const runId = await createRun(journal, overrides);
  const [claim] = await journal.claim(worker, LEASE_MS, 1);
  if (claim?.runId !== runId) throw new Error(`Claimed ${claim?.runId} instead of ${runId}`);
  return claim;
}

/** A new run that has ended with `records`. Nothing else may be waiting. */
export async function finishedRun(
  journal: Journal,
  overrides: Partial<NewRun> = {},
  ...records: NewRecord[]
): Promise<string> {
  const claim = await claimedRun(journal, overrides);
  await journal.append(claim, records.length > 0 ? records : [completed()]);
  return claim.runId;
}

/** As the server does it by default. */
export const HEADS_KEPT = { headRetentionMs: Number.MAX_SAFE_INTEGER };
export const NO_HEADS = { headRetentionMs: 0 };

/** As the server does it; returns the evicted runs. */
export async function evictExpired(
  journal: Journal,
  retentionMs: number,
  limit: number,
  options: EvictOptions = HEADS_KEPT,
): Promise<string[]> {
  const runIds = await journal.kept.expired(retentionMs, limit);
  await journal.evict(runIds, options);
  return runIds;
}

export const usage = (input: number, output: number): Usage => ({
  input_tokens: input,
  output_tokens: output,
  total_tokens: input + output,
});

export const delta = (text = 'x'): NewRecord => ({ event: 'message.delta', public: { delta: text } });
export const reasoning = (text = 'hm'): NewRecord => ({ event: 'reasoning.available', public: { text } });
export const context = (): NewRecord => ({ event: 'run.context', private: { messages: [] } });
export const contextCut = (omitted: number): NewRecord => ({
  event: 'context.cut',
  private: { before: omitted, omitted },
});
/** A checkpoint that consists of these blobs. */
export function checkpointOf(upto: number, ...blobIds: string[]): Checkpoint {
  const parts = blobIds.map((blob_id) => ({ blob_id, start: 0, end: 2 }));
  return { upto, origin: 'worked', parts, entries: 0, bytes: 0, stored_bytes: 0 };
}
export const checkpointed = (checkpoint: CheckpointRecord): NewRecord => ({
  event: 'workspace.checkpointed',
  private: checkpoint,
});
export const resumed = (): NewRecord => ({ event: 'run.resumed', public: {} });

/** The end of a step as the agent records it. */
export function stepRecord(
  content: AssistantPart[],
  used: Usage = usage(2, 1),
  reason: FinishReason = 'stop',
): NewRecord {
  return {
    event: 'step.completed',
    public: { step: 1, duration: 0.5, usage: used, finish_reason: reason },
    private: { content, usage: used, reason },
  };
}

export const step = (used?: Usage): NewRecord => stepRecord([{ type: 'text', text: 'x' }], used);

/** As earlier versions recorded it: a step ended without an event. */
export function privateStep(record: NewRecord): NewRecord {
  if (record.event !== 'step.completed') return record;
  const { public: _, ...rest } = record;
  return rest as NewRecord;
}

export const toolStarted = (callId = 'call_1'): NewRecord => ({
  event: 'tool.started',
  public: { tool: 'bash', preview: 'ls', tool_call_id: callId, arguments: { command: 'ls' } },
  private: { gated: false },
});

export const clientCall = (callId = 'call_1'): NewRecord => ({
  event: 'tool.started',
  public: { tool: 'weather', preview: '', tool_call_id: callId, arguments: {}, client: true },
  private: { gated: false, client: { arguments: { city: 'Oslo' }, expires_at: 1_700_000_600 } },
});

export const toolCompleted = (callId = 'call_1'): NewRecord => ({
  event: 'tool.completed',
  public: { tool: 'bash', duration: 0.1, error: false, preview: 'a', tool_call_id: callId },
  private: { output: 'a' },
});

export function queuedApproval(name: string, patterns: readonly string[] = [name]): QueuedApproval {
  return {
    request_id: `apr_${name}`,
    tool_call_id: `call_${name}`,
    command: `run ${name}`,
    pattern_key: patterns[0] ?? '',
    pattern_keys: [...patterns],
    description: name,
    choices: ['once', 'session', 'always', 'deny'],
  };
}

export const approval = (name: string, patterns?: readonly string[]): ApprovalRequest => ({
  ...queuedApproval(name, patterns),
  expires_at: 1_700_000_300,
});

export const approvalsQueued = (...approvals: QueuedApproval[]): NewRecord => ({
  event: 'approval.queued',
  private: { approvals },
});

export const approvalRequest = (name: string, patterns?: readonly string[]): NewRecord => ({
  event: 'approval.request',
  public: approval(name, patterns),
});

export const approvalWaived = (name: string): NewRecord => ({
  event: 'approval.waived',
  private: { request_id: `apr_${name}` },
});

export const responded = (...names: [string, ...string[]]): NewRecord => ({
  event: 'approval.responded',
  public: { choice: 'once', resolved: names.length, request_id: `apr_${names[0]}` },
  private: { request_ids: names.map((name) => `apr_${name}`) },
});

export const stopRequested = (): NewRecord => ({ event: 'stop.requested', private: {} });
export const steerRequested = (input = 'left'): NewRecord => ({
  event: 'steer.requested',
  private: { input },
});
export const claimedRecord = (epoch = 1): NewRecord => ({ event: 'run.claimed', private: { epoch } });

export const completed = (output = 'done', used: Usage = usage(0, 0)): NewRecord => ({
  event: 'run.completed',
  public: { output, usage: used },
});

export const failed = (error = 'no luck'): NewRecord => ({
  event: 'run.failed',
  public: { error, error_code: 'provider_error' },
});

export const cancelledRecord = (): NewRecord => ({ event: 'run.cancelled', public: {} });

/** Records as a journal would number them, one millisecond apart. */
export function numbered(records: readonly NewRecord[]): LogRecord[] {
  let seq = 0;
  return records.map(
    (record, pos) =>
      ({ ...record, pos, seq: record.public === undefined ? null : seq++, at: 1000 + pos }) as LogRecord,
  );
}

export function names(records: readonly { event: string }[]): string[] {
  return records.map((record) => record.event);
}

/** 0, 1, 2, … up to `length`, for gapless numbers. */
export function counting(length: number): number[] {
  return Array.from({ length }, (_, i) => i);
}
