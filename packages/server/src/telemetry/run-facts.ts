/**
 * Turns a run's records into facts: what has begun and how it ended. The records are what happened, so nothing has to
 * report a tool call or an approval beside appending it; and a new owner that reads the log knows since when a person
 * has been waited for.
 *
 * Only the model's steps are reported by the agent itself: one that fails leaves no record.
 */
import { isTerminalEvent, NO_USAGE, type TerminalEventName } from '@talaria/protocol';
import type { LogRecord } from '../journal/records.ts';
import type { StoredRun } from '../journal/run-state.ts';
import type { ApprovalOutcome, Fact, ObservedRun, Report, ToolOutcome } from './facts.ts';

interface Call {
  tool: string;
  /** Since when it runs; null while it waits for an approval. */
  runningSince: number | null;
  denied: boolean;
}

export function observed({ runId, createdAt, state }: StoredRun): ObservedRun {
  return { runId, createdAt, traceparent: state.traceparent };
}

type EndRecord = Extract<LogRecord, { event: TerminalEventName }>;

export function isEnd(record: LogRecord): record is EndRecord {
  return isTerminalEvent(record.event);
}

/** `run` may be in its state at any time since its last claim. */
export function finished(run: StoredRun, end: EndRecord): Fact {
  return {
    fact: 'run.finished',
    run: observed(run),
    startedAt: run.state.started_at,
    at: end.at,
    status: end.event.slice('run.'.length) as 'completed' | 'failed' | 'cancelled',
    errorCode: end.event === 'run.failed' ? end.public.error_code : null,
    usage: (end.event === 'run.completed' ? end.public.usage : end.public.usage_so_far) ?? NO_USAGE,
  };
}

export class RunFacts {
  readonly #run: StoredRun;
  readonly #observed: ObservedRun;
  readonly #report: Report;
  readonly #calls = new Map<string, Call>();
  readonly #callOfApproval = new Map<string, string>();
  #askedAt: number | null = null;

  constructor(run: StoredRun, report: Report) {
    this.#run = run;
    this.#observed = observed(run);
    this.#report = report;
  }

  /**
   * Applies earlier records. Their owners have reported them, apart from the posts that came while nobody had the run: the
   * next owner reports those.
   */
  replay(records: readonly LogRecord[]): void {
    const released = records.findLastIndex(({ event }) => event === 'run.released');
    const claimed = records.findLastIndex(({ event }) => event === 'run.claimed');
    const unreported = records.slice(released + 1, claimed);
    const isNext = released >= 0 && unreported.every(({ event }) => event !== 'run.claimed');
    for (const [index, record] of records.entries()) {
      const isUnreported = isNext && index > released && index < claimed;
      this.#take(record, isUnreported ? this.#report : () => {});
    }
  }

  /** Applies records that have just become durable, and reports what they complete. */
  recorded(records: readonly LogRecord[]): void {
    for (const record of records) this.#take(record, this.#report);
  }

  #take(record: LogRecord, report: Report): void {
    const run = this.#observed;
    if (record.seq === 0) report({ fact: 'run.first_event', run, at: record.at });
    switch (record.event) {
      case 'tool.started':
        this.#calls.set(record.public.tool_call_id, {
          tool: record.public.tool,
          runningSince: record.private.gated ? null : record.at,
          denied: false,
        });
        break;
      case 'approval.queued':
        for (const { request_id, tool_call_id } of record.private.approvals) {
          this.#callOfApproval.set(request_id, tool_call_id);
        }
        break;
      case 'approval.request':
        this.#askedAt = record.at;
        break;
      case 'approval.responded': {
        const { choice, reason } = record.public;
        if (choice === 'deny') for (const id of record.private.request_ids) this.#deny(id);
        this.#answered(reason === 'timeout' ? 'timeout' : choice, record.at, report);
        break;
      }
      case 'tool.executing': {
        const call = this.#calls.get(record.private.tool_call_id);
        if (call !== undefined) call.runningSince = record.at;
        break;
      }
      case 'tool.completed': {
        const id = record.public.tool_call_id;
        const outcome = record.private.interrupted ? 'interrupted' : record.public.error ? 'error' : 'ok';
        this.#completed(id, outcome, record.at, report);
        break;
      }
      case 'run.completed':
      case 'run.failed':
      case 'run.cancelled':
        this.#ended(record, report);
        break;
      // Records without a beginning, an end or a wait.
      case 'run.accepted':
      case 'run.claimed':
      case 'run.released':
      case 'run.context':
      case 'run.noticed':
      case 'run.resumed':
      case 'run.steered':
      case 'run.waiting':
      case 'workspace.prepared':
      case 'workspace.checkpointed':
      case 'context.cut':
      case 'message.delta':
      case 'reasoning.available':
      case 'step.completed':
      case 'answer.refused':
      case 'approval.waived':
      case 'tool.answered':
      case 'stop.requested':
      case 'steer.requested':
        break;
      default:
        record satisfies never;
    }
  }

  #deny(requestId: string): void {
    const call = this.#calls.get(this.#callOfApproval.get(requestId) ?? '');
    if (call !== undefined) call.denied = true;
  }

  #answered(outcome: ApprovalOutcome, at: number, report: Report): void {
    if (this.#askedAt === null) return;
    const startedAt = this.#askedAt;
    this.#askedAt = null;
    report({ fact: 'approval.wait', run: this.#observed, outcome, startedAt, endedAt: at });
  }

  #completed(id: string, outcome: ToolOutcome, at: number, report: Report): void {
    const call = this.#calls.get(id);
    if (call === undefined) return;
    this.#calls.delete(id);
    const ran = call.runningSince !== null && outcome !== 'interrupted';
    report({
      fact: 'tool.call',
      run: this.#observed,
      tool: call.tool,
      outcome: call.denied ? 'denied' : outcome,
      span: ran ? { startedAt: call.runningSince!, endedAt: at } : null,
    });
  }

  #ended(end: EndRecord, report: Report): void {
    this.#answered('aborted', end.at, report);
    for (const id of [...this.#calls.keys()]) this.#completed(id, 'aborted', end.at, report);
    report(finished(this.#run, end));
  }
}
