/**
 * What anyone may ask of a run, and when it is admitted. Pure: a driver evaluates `admit` inside the
 * transaction that appends its result. So of two answers to one approval exactly one is accepted, and a timeout (which
 * the owner posts like any other answer) can never overrule a person who was faster.
 */
import {
  type ApprovalChoice,
  type EventPayload,
  isTerminalStatus,
  TalariaError,
  type ToolOutput,
} from '@talaria/protocol';
import type { NewRecord, PostedName, RecordName, RunTerms } from './records.ts';
import type { RunState } from './run-state.ts';

const OVERDUE =
  'Nobody answered the question in time, so the call is denied. The run says so when a worker has it; there is nothing to answer.';

/** How many steers may wait for the next step: the model can still read them, and the log stays bounded. */
const STEERS_WAITING_MAX = 32;

export type Post =
  | { kind: 'stop' }
  | { kind: 'steer'; input: string }
  | {
      kind: 'tool_outputs';
      outputs: readonly ToolOutput[];
      /** The new terms of the client; absent leaves them unchanged. */
      terms?: RunTerms | undefined;
      /** The owner of the run gives this output because none came in time; it is part of its work. */
      reason?: 'timeout' | undefined;
    }
  | {
      kind: 'approval';
      choice: ApprovalChoice;
      /** Must be the outstanding one; absent means whichever is outstanding. */
      requestId?: string | undefined;
      /** Also answer the calls that wait behind it. */
      all: boolean;
      /** Why it is denied. */
      message?: string | undefined;
      /** Who answers: the name of an API key. */
      by?: string | undefined;
      /** The reason of an answer that the owner of the run gives because none came, such as a timeout. */
      reason?: string | undefined;
    };

type RecordOf<Name extends RecordName> = Extract<NewRecord, { event: Name }>;

export interface Admitted {
  /** The records to append; none when the post changes nothing (a second stop). */
  records: RecordOf<PostedName | 'run.cancelled'>[];
  /** Patterns the answer allows from now on. */
  grants?: { scope: 'session' | 'always'; patternKeys: string[] };
}

/**
 * Decides about a post to a run in `state`; throws the `TalariaError` that refuses it.
 * `owned` says whether a worker holds the run. A stop of a run that nobody works on needs nobody to carry it out, so it
 * ends the run at once, however long the queue is. `overdue`: the time for the answer is over (`isOverdue`).
 */
export function admit(state: RunState, post: Post, owned: boolean, overdue = false): Admitted {
  const finished = isTerminalStatus(state.status);
  switch (post.kind) {
    case 'stop':
      if (finished) throw new TalariaError('run_not_active');
      return {
        records: [
          ...(state.stop_requested ? [] : [{ event: 'stop.requested', private: {} } as const]),
          ...(owned ? [] : [cancelled(state)]),
        ],
      };
    case 'steer':
      if (finished || state.stop_requested || state.started_at === null) {
        throw new TalariaError('run_not_accepting_steer');
      }
      if (state.steers_waiting >= STEERS_WAITING_MAX) throw new TalariaError('too_many_steers');
      return { records: [{ event: 'steer.requested', private: { input: post.input } }] };
    case 'tool_outputs': {
      const pending = new Set(state.pending_calls.map(({ tool_call_id }) => tool_call_id));
      const stray = post.outputs.find(({ toolCallId }) => !pending.has(toolCallId));
      if (finished || state.stop_requested || stray !== undefined) throw new TalariaError('call_not_pending');
      return {
        records: post.outputs.map(({ toolCallId, output, error }, i) => ({
          event: 'tool.answered',
          private: {
            tool_call_id: toolCallId,
            output,
            error,
            ...(post.reason === undefined ? {} : { reason: post.reason }),
            ...(post.terms === undefined || i > 0 ? {} : { terms: post.terms }),
          },
        })),
      };
    }
    case 'approval': {
      if (finished) throw new TalariaError('approval_not_active');
      const pending = state.approval;
      if (pending === null || (post.requestId !== undefined && post.requestId !== pending.request_id)) {
        throw new TalariaError('approval_not_pending');
      }
      if (overdue && post.reason === undefined)
        throw new TalariaError('approval_not_pending', { message: OVERDUE });
      const answered = [pending, ...(post.all ? state.approvals_waiting : [])];
      const payload: EventPayload<'approval.responded'> = {
        choice: post.choice,
        resolved: answered.length,
        request_id: pending.request_id,
      };
      if (post.reason !== undefined) payload.reason = post.reason;
      if (post.message !== undefined) payload.message = post.message;
      const answeredBy = post.by ?? post.reason;
      if (answeredBy !== undefined) payload.answered_by = answeredBy;
      const record: NewRecord = {
        event: 'approval.responded',
        public: payload,
        private: { request_ids: answered.map((approval) => approval.request_id) },
      };
      if (post.choice !== 'session' && post.choice !== 'always') return { records: [record] };
      const patternKeys = [...new Set(answered.flatMap((approval) => approval.pattern_keys))];
      return { records: [record], grants: { scope: post.choice, patternKeys } };
    }
  }
}

/**
 * Whether the time for the answer to a run's question is over, and it waits in the queue for a worker to say so. While a worker has
 * it, or it is parked, the clock of the worker or that of the store decides; `expires_at` alone may come from a clock that is wrong.
 */
export function isOverdue({ approval }: RunState, isQueued: boolean, now: number): boolean {
  return isQueued && approval !== null && approval.expires_at * 1000 <= now;
}

/** The end of a stopped run. */
export function cancelled(state: RunState): RecordOf<'run.cancelled'> {
  return {
    event: 'run.cancelled',
    public: state.usage.total_tokens > 0 ? { usage_so_far: state.usage } : {},
  };
}
