/**
 * The fold: what a run's records add up to. Pure, and the only place that decides a run's status.
 *
 *   started ──run.claimed──▶ running ──approval.request──▶ waiting_for_approval
 *                              ▲────approval.responded──────────────┘
 *                            running ──tool.started (client)──▶ waiting_for_tool
 *                              ▲────tool.answered, all of them──────┘
 *   any of these ──stop.requested──▶ stopping
 *   any of these ──run.completed | run.failed | run.cancelled──▶ that status, for good
 *
 * Text deltas leave the state untouched (the same object comes back), so a driver can skip writing it.
 */
import {
  type ApprovalRequest,
  addUsage,
  type ForkedFrom,
  isTerminalEvent,
  isTerminalStatus,
  NO_USAGE,
  type PendingCall,
  type Run,
  type RunStatus,
  type Usage,
} from '@talaria/protocol';
import { isPosted, type LogRecord, type QueuedApproval } from './records.ts';

export interface RunState {
  status: RunStatus;
  /** The shown form of the prompt; null if it was not recorded. */
  input: string | null;
  last_event: string;
  /** How many steps the model has completed; null for a run from before steps were counted. */
  steps: number | null;
  usage: Usage;
  /** In US dollars, for the steps whose model had a price; null if none had. */
  cost: number | null;
  /** When the run was claimed for the first time: wall time is counted from here. */
  started_at: number | null;
  /** How often the run was claimed since it last made progress. */
  claims_without_progress: number;
  /** The position of the last posted record; an owner that has not seen it may not finish the run. */
  last_posted_pos: number;
  stop_requested: boolean;
  /** How many steers the model has not received yet. */
  steers_waiting: number;
  /** The approval that can be answered now. */
  approval: ApprovalRequest | null;
  /** Gated calls whose questions come after it, in order. */
  approvals_waiting: QueuedApproval[];
  /** Calls of client tools that have no output yet. */
  pending_calls: PendingCall[];
  /** How many messages of the conversation the model does not get any more. */
  omitted_messages: number;
  output: string | null;
  /** The answer has a requested format; its value is parsed from `output`. */
  output_is_json: boolean;
  error: string | null;
  error_code: string | null;
  /** The trace that its creator wants it to belong to. */
  traceparent: string | null;
  /** The event of another run that it is a fork from. */
  forked_from: ForkedFrom | null;
}

export const INITIAL_STATE: RunState = {
  status: 'started',
  input: null,
  last_event: '',
  steps: 0,
  usage: NO_USAGE,
  cost: null,
  started_at: null,
  claims_without_progress: 0,
  last_posted_pos: -1,
  stop_requested: false,
  steers_waiting: 0,
  approval: null,
  approvals_waiting: [],
  pending_calls: [],
  omitted_messages: 0,
  output: null,
  output_is_json: false,
  error: null,
  error_code: null,
  traceparent: null,
  forked_from: null,
};

export function foldRecord(state: RunState, record: LogRecord): RunState {
  if (record.event === 'message.delta') return state;
  const next = { ...state, ...change(state, record) };
  if (record.public !== undefined) next.last_event = record.event;
  if (isPosted(record.event)) next.last_posted_pos = record.pos;
  next.status = statusOf(next, record);
  return next;
}

function change(state: RunState, record: LogRecord): Partial<RunState> {
  switch (record.event) {
    case 'run.accepted': {
      const { shown_input, traceparent, skipped, inherited, forked_from: from } = record.private;
      return {
        input: shown_input ?? null,
        traceparent: traceparent ?? null,
        omitted_messages: inherited?.cut?.omitted ?? skipped ?? 0,
        forked_from: from === undefined ? null : { run_id: from.run_id, seq: from.seq },
      };
    }
    case 'run.claimed':
      return {
        started_at: state.started_at ?? record.at,
        // Also of one that waits for a person: it is only claimed when there is something to do for it.
        claims_without_progress: state.claims_without_progress + 1,
      };
    case 'run.released':
      // A handover is not a crash.
      return { claims_without_progress: Math.max(0, state.claims_without_progress - 1) };
    case 'step.completed':
      return {
        steps: state.steps === null ? null : state.steps + 1,
        usage: addUsage(state.usage, record.private.usage),
        cost: addCost(state.cost, record.public?.cost),
        claims_without_progress: 0,
      };
    case 'tool.started': {
      const { client } = record.private;
      if (client === undefined) return {};
      const { tool, tool_call_id } = record.public;
      return { pending_calls: [...state.pending_calls, { tool_call_id, tool, ...client }] };
    }
    case 'run.waiting': {
      // The deadlines of the calls start again.
      const expiresAt = new Map(record.public.calls.map((call) => [call.tool_call_id, call.expires_at]));
      return {
        pending_calls: state.pending_calls.map((call) => ({
          ...call,
          expires_at: expiresAt.get(call.tool_call_id) ?? call.expires_at,
        })),
      };
    }
    case 'tool.answered': {
      const { tool_call_id: answered } = record.private;
      return {
        pending_calls: state.pending_calls.filter(({ tool_call_id }) => tool_call_id !== answered),
        claims_without_progress: 0,
      };
    }
    case 'tool.completed':
      return { claims_without_progress: 0 };
    case 'approval.queued':
      return { approvals_waiting: [...state.approvals_waiting, ...record.private.approvals] };
    case 'approval.request':
      return { approval: record.public, approvals_waiting: without(state, [record.public.request_id]) };
    case 'approval.waived':
      return { approvals_waiting: without(state, [record.private.request_id]) };
    case 'approval.responded':
      return {
        approval: null,
        approvals_waiting: without(state, record.private.request_ids),
        claims_without_progress: 0,
      };
    case 'run.context':
      return 'session' in record.private ? { omitted_messages: record.private.skipped ?? 0 } : {};
    case 'context.cut':
      return { omitted_messages: record.private.omitted };
    case 'workspace.prepared':
    case 'workspace.checkpointed':
      return { claims_without_progress: 0 };
    case 'stop.requested':
      return { stop_requested: true };
    case 'steer.requested':
      return { steers_waiting: state.steers_waiting + 1 };
    case 'run.steered':
      return { steers_waiting: Math.max(0, state.steers_waiting - 1) };
    case 'run.completed':
      return { output: record.public.output, output_is_json: record.public.output_parsed !== undefined };
    case 'run.failed':
      return { error: record.public.error, error_code: record.public.error_code };
    case 'message.delta':
    case 'reasoning.available':
    case 'answer.refused':
    case 'tool.executing':
    case 'run.noticed':
    case 'run.resumed':
    case 'run.cancelled':
      return {};
    default:
      record satisfies never;
      return {};
  }
}

/** This many failed claims in a row may be bad luck, but the run may also be what ended its workers. */
const SUSPECT_CLAIMS = 2;

/**
 * Whether the run may be what crashes servers: its claims before the present one (if it is `owned`) all failed.
 * Suspects are worked on one at a time, so that another crash proves something, and runs that just happened to be there
 * make progress. One that waits for a person is parked, and then nobody works on it.
 */
export function isSuspect(state: RunState, owned: boolean): boolean {
  const inVain = state.claims_without_progress - (owned ? 1 : 0);
  return inVain >= SUSPECT_CLAIMS;
}

function without(state: RunState, requestIds: readonly string[]): QueuedApproval[] {
  return state.approvals_waiting.filter((queued) => !requestIds.includes(queued.request_id));
}

function statusOf(state: RunState, record: LogRecord): RunStatus {
  if (isTerminalStatus(state.status)) return state.status;
  if (isTerminalEvent(record.event)) return record.event.slice('run.'.length) as RunStatus;
  if (state.stop_requested) return 'stopping';
  if (state.approval !== null) return 'waiting_for_approval';
  if (state.pending_calls.length > 0) return 'waiting_for_tool';
  return state.started_at === null ? 'started' : 'running';
}

/** A run as the store keeps it: its identity, its place in the journal and its folded state. Times in ms. */
export interface StoredRun {
  runId: string;
  /** The name of the API key the run belongs to. */
  owner: string;
  sessionId: string;
  /** Grows with creation; the order of the queue and of listings. */
  ordinal: number;
  createdAt: number;
  updatedAt: number;
  /** The seq the next event will get. */
  nextSeq: number;
  /** The job that started it. */
  jobId: string | null;
  kept: boolean;
  /** When it is due once it has ended; null means after the retention of the server (`kept-runs.ts`). */
  expiresAt: number | null;
  /** Its events and files are gone: this is the head (`heads.ts`). */
  evicted: boolean;
  /** Why it had, or has, to go before its time. */
  evictedFor: 'room' | null;
  state: RunState;
}

/** What runs of a server are shown with. */
export interface ShownWith {
  /** The agent name. */
  model: string;
  retentionMs: number;
}

/** The run as clients see it (PROTOCOL.md). */
export function toWireRun(run: StoredRun, shownWith: ShownWith): Run {
  const { status, output, output_is_json: isJson } = run.state;
  const wire = toWireHead(run, shownWith);
  // A head has only the beginning of the answer, which nobody may take for the whole.
  if (status !== 'completed' || run.evicted) return wire;
  wire.output = output ?? '';
  if (isJson) wire.output_parsed = JSON.parse(wire.output);
  return wire;
}

/** Without the answer, which may be as long as a book. */
export function toWireHead(run: StoredRun, { model, retentionMs }: ShownWith): Run {
  const { state } = run;
  const wire: Run = {
    object: 'hermes.run',
    run_id: run.runId,
    status: state.status,
    created_at: run.createdAt / 1000,
    updated_at: run.updatedAt / 1000,
    session_id: run.sessionId,
    model,
    last_event: state.last_event,
  };
  if (state.input !== null) wire.input = state.input;
  if (run.nextSeq > 0) wire.last_seq = run.nextSeq - 1;
  if (state.steps !== null) wire.steps = state.steps;
  if (run.jobId !== null) wire.job_id = run.jobId;
  if (state.forked_from !== null) wire.forked_from = state.forked_from;
  if (run.evicted) wire.evicted = true;
  else if (run.kept) wire.keep = true;
  // The last change of an ended run is its end.
  else if (isTerminalStatus(state.status))
    wire.expires_at = (run.expiresAt ?? run.updatedAt + retentionMs) / 1000;
  if (run.evictedFor !== null) wire.evicted_for = run.evictedFor;
  if (state.status === 'completed') {
    wire.usage = state.usage;
  } else if (state.usage.total_tokens > 0) {
    wire.usage_so_far = state.usage;
  }
  if (state.cost !== null) wire.cost = state.cost;
  if (state.omitted_messages > 0) wire.omitted_messages = state.omitted_messages;
  if (state.status === 'failed') {
    wire.error = state.error ?? '';
    wire.error_code = state.error_code ?? 'internal_error';
  }
  if (state.status === 'waiting_for_approval' && state.approval !== null) {
    wire.approval = state.approval;
    if (state.approvals_waiting.length > 0) wire.approvals_waiting = state.approvals_waiting;
  }
  const isOpen = state.status === 'waiting_for_approval' || state.status === 'waiting_for_tool';
  if (isOpen && state.pending_calls.length > 0) wire.pending_calls = state.pending_calls;
  return wire;
}

/** Null when neither is known: a step without a price was not free. */
function addCost(sum: number | null, cost: number | undefined): number | null {
  return cost === undefined ? sum : (sum ?? 0) + cost;
}
