/**
 * What the parts of the server report to metrics and traces. Metrics and traces are made of these facts and of nothing
 * else; no other part of the server knows of Prometheus or OpenTelemetry.
 *
 * - A fact is reported once, when it is over: a step that ended, a call that has its outcome, a commit that is durable.
 *   Streaming text is not reported.
 * - Reporting costs next to nothing and never fails (see telemetry.ts).
 * - A fact holds names, counts and times: no prompt, command, output or key. Values that a client or a model may choose
 *   freely are bounded by the code that makes a label or an attribute of them (tool-names.ts).
 *
 * Times are milliseconds since the epoch.
 */
import type { ApprovalChoice, RunFailureCode, Usage } from '@talaria/protocol';
import type { CreateOutcome } from '../journal/journal.ts';
import type { FinishReason } from '../journal/messages.ts';
import type { Settlement } from '../journal/outbox.ts';

/** Which run a fact is about: enough to find its trace, before and after a restart. */
export interface ObservedRun {
  runId: string;
  createdAt: number;
  /** The trace that its creator wants it to belong to, in W3C form. */
  traceparent: string | null;
}

export interface Span {
  startedAt: number;
  endedAt: number;
}

export type StepOutcome = 'completed' | 'aborted' | RunFailureCode;

/** One call to the model, whether it gave an answer or not. */
export interface StepEnded extends Span {
  outcome: StepOutcome;
  usage: Usage;
  finishReason?: FinishReason;
}

/** `interrupted`: a crash came between its start and its outcome. `aborted`: its run was ended meanwhile. */
export type ToolOutcome = 'ok' | 'error' | 'denied' | 'interrupted' | 'aborted';

/**
 * For a checkpoint of a workspace: `unchanged` since the last one, `too_large` to be stored. For one that the next owner of the run,
 * or the next run, needs: `restored`, or `unusable`.
 */
export type CheckpointOutcome = 'stored' | 'unchanged' | 'too_large' | 'failed' | 'restored' | 'unusable';

/** `aborted`: its run was ended before anyone answered. */
export type ApprovalOutcome = ApprovalChoice | 'timeout' | 'aborted';

export type Fact =
  | { fact: 'run.submitted'; outcome: CreateOutcome['kind'] }
  /** A worker claimed it: for the first time, or to continue where another was interrupted or has released it. */
  | { fact: 'run.claimed'; run: ObservedRun; at: number; first: boolean }
  | { fact: 'run.first_event'; run: ObservedRun; at: number }
  | {
      fact: 'run.finished';
      run: ObservedRun;
      /** Null for a run that ended in the queue. */
      startedAt: number | null;
      at: number;
      status: 'completed' | 'failed' | 'cancelled';
      errorCode: string | null;
      usage: Usage;
    }
  | ({ fact: 'model.step'; run: ObservedRun; model: string } & StepEnded)
  /** `span` is the time it ran, if that is known: not for a call that never ran or was interrupted by a crash. */
  | { fact: 'tool.call'; run: ObservedRun; tool: string; outcome: ToolOutcome; span: Span | null }
  | ({ fact: 'approval.wait'; run: ObservedRun; outcome: ApprovalOutcome } & Span)
  /** `skipped`: its last run was unfinished; `postponed`: it could not be started now, and will be retried. */
  | { fact: 'job.due'; outcome: 'started' | 'skipped' | 'postponed' }
  /** One attempt to deliver a message; `returned`: the server was stopping. */
  | ({ fact: 'webhook.attempt'; outcome: Settlement['kind'] } & Span)
  /** `bytes`: as they are stored. */
  | { fact: 'workspace.checkpoint'; outcome: CheckpointOutcome; durationMs: number; bytes: number }
  | { fact: 'journal.commit'; durationMs: number; records: number; failed: boolean }
  | {
      fact: 'http.request';
      method: string;
      /** The pattern of the route, never the path; undefined where none fits. */
      route: string | undefined;
      status: number;
      /** The time until the response began; undefined for a stream. */
      durationMs: number | undefined;
    };

export type Report = (fact: Fact) => void;

/** Used when nothing measures. */
export const noReport: Report = () => {};
