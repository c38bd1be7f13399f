import { NO_USAGE } from '@talaria/protocol';
import { expect, test } from 'vitest';
import type { LogRecord, NewRecord } from '../journal/records.ts';
import { INITIAL_STATE, type StoredRun } from '../journal/run-state.ts';
import type { Fact } from './facts.ts';
import { RunFacts } from './run-facts.ts';

const RUN: StoredRun = {
  runId: `run_${'a'.repeat(32)}`,
  owner: 'ada',
  sessionId: 'garden',
  ordinal: 1,
  createdAt: 1000,
  updatedAt: 2000,
  nextSeq: 0,
  jobId: null,
  kept: false,
  expiresAt: null,
  evicted: false,
  evictedFor: null,
  state: { ...INITIAL_STATE, started_at: 2000 },
};
const run = { runId: RUN.runId, createdAt: 1000, traceparent: null };
const USAGE = { input_tokens: 3, output_tokens: 4, total_tokens: 7 };

const started = (id: string, gated = false): NewRecord => ({
  event: 'tool.started',
  public: { tool: 'terminal', preview: 'ls', tool_call_id: id, arguments: {} },
  private: { gated },
});
const done = (id: string, error = false, interrupted?: boolean): NewRecord => ({
  event: 'tool.completed',
  public: { tool: 'terminal', duration: 1, error, preview: '', tool_call_id: id },
  private: { output: 'secret', ...(interrupted === undefined ? {} : { interrupted }) },
});
const queued = (requestId: string, id: string): NewRecord => ({
  event: 'approval.queued',
  private: { approvals: [question(requestId, id)] },
});
const question = (requestId: string, id: string) => ({
  request_id: requestId,
  tool_call_id: id,
  command: 'rm -rf /tmp/x',
  pattern_key: 'delete',
  pattern_keys: ['delete'],
  description: '',
  choices: [],
});
const asked = (requestId: string, id: string): NewRecord => ({
  event: 'approval.request',
  public: { ...question(requestId, id), expires_at: 1 },
});
const answered = (requestId: string, choice: 'once' | 'deny', reason?: string): NewRecord => ({
  event: 'approval.responded',
  public: { choice, resolved: 1, request_id: requestId, ...(reason === undefined ? {} : { reason }) },
  private: { request_ids: [requestId] },
});

/** One record every 100 ms, from 3000 on. */
function log(records: readonly NewRecord[], from = 0): LogRecord[] {
  return records.map((record, index) => {
    const pos = from + index;
    return { ...record, pos, seq: record.public ? pos : null, at: 3000 + 100 * pos } as LogRecord;
  });
}

function factsOf(records: readonly NewRecord[], before: readonly NewRecord[] = []): Fact[] {
  const facts: Fact[] = [];
  const observer = new RunFacts(RUN, (fact) => facts.push(fact));
  observer.replay(log(before));
  observer.recorded(log(records, before.length));
  return facts;
}

const call = (outcome: string, span: [number, number] | null) => ({
  fact: 'tool.call',
  run,
  tool: 'terminal',
  outcome,
  span: span && { startedAt: span[0], endedAt: span[1] },
});

test('calls of tools, and the first event', () => {
  expect(factsOf([started('a'), started('b'), done('b', true), done('a')])).toEqual([
    { fact: 'run.first_event', run, at: 3000 },
    call('error', [3100, 3200]),
    call('ok', [3000, 3300]),
  ]);
});

test('a gated call runs from its approval on; a denied one never ran', () => {
  const gated = [started('a', true), queued('q', 'a'), asked('q', 'a')];
  const executing: NewRecord = { event: 'tool.executing', private: { tool_call_id: 'a' } };
  expect(factsOf([answered('q', 'once'), executing, done('a')], gated)).toEqual([
    { fact: 'approval.wait', run, outcome: 'once', startedAt: 3200, endedAt: 3300 },
    call('ok', [3400, 3500]),
  ]);
  expect(factsOf([answered('q', 'deny', 'timeout'), done('a', true)], gated)).toEqual([
    { fact: 'approval.wait', run, outcome: 'timeout', startedAt: 3200, endedAt: 3300 },
    call('denied', null),
  ]);
});

test('an answer that came while nobody had the run is reported by the next owner, and by no later one', () => {
  const released: NewRecord = { event: 'run.released', private: { epoch: 1, parked: true } };
  const claimed = (epoch: number): NewRecord => ({ event: 'run.claimed', private: { epoch } });
  const parked = [claimed(1), started('a', true), queued('q', 'a'), asked('q', 'a'), released];
  const once = { fact: 'approval.wait', run, outcome: 'once', startedAt: 3300, endedAt: 3500 };
  expect(factsOf([], [...parked, answered('q', 'once'), claimed(2)])).toEqual([once]);
  expect(factsOf([], [...parked, answered('q', 'once'), claimed(2), claimed(3)])).toEqual([]);
  expect(factsOf([], [claimed(1), started('a', true), answered('q', 'once'), claimed(2)])).toEqual([]);
});

test('nobody knows how long a call ran that a crash interrupted', () => {
  expect(factsOf([done('a', true, true)], [started('a')])).toEqual([call('interrupted', null)]);
});

test('the end of a run ends what was in progress', () => {
  const end: NewRecord = { event: 'run.cancelled', public: { usage_so_far: USAGE } };
  const before = [started('a'), started('b', true), queued('q', 'b'), asked('q', 'b')];
  expect(factsOf([end], before)).toEqual([
    { fact: 'approval.wait', run, outcome: 'aborted', startedAt: 3300, endedAt: 3400 },
    call('aborted', [3000, 3400]),
    call('aborted', null),
    {
      fact: 'run.finished',
      run,
      startedAt: 2000,
      at: 3400,
      status: 'cancelled',
      errorCode: null,
      usage: USAGE,
    },
  ]);
});

test('a run that failed says why', () => {
  const end: NewRecord = { event: 'run.failed', public: { error: 'no', error_code: 'step_limit' } };
  expect(factsOf([end]).at(-1)).toMatchObject({ status: 'failed', errorCode: 'step_limit', usage: NO_USAGE });
});
