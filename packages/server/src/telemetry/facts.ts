/**
 * What the parts of the server tell those who measure it. Metrics and traces are made of these facts and of nothing
 * else; no other part of the server knows of Prometheus or OpenTelemetry.
 *
 * - A fact is told once, when it is over: a step that ended, a call that has its outcome, a commit that is durable.
 *   Nothing is told of a piece of text that streams by.
 * - Telling costs the teller next to nothing and never fails (see telemetry.ts).
 * - A fact holds names, counts and times: no prompt, command, output or key. What a client or a model may choose freely
 *   is bounded by whoever makes a label or an attribute of it (tool-names.ts).
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
  /** The trace its creator asked for it to be part of, in W3C form. */
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
 * Of a workspace that is kept for the next owner of its run: `unchanged` since it was last stored, `too_large` to be
 * stored. Of one that the next owner needs: `restored`, or `unusable`.
 */
export type SnapshotOutcome = 'stored' | 'unchanged' | 'too_large' | 'failed' | 'restored' | 'unusable';

/** `aborted`: its run was ended before anyone answered. */
export type ApprovalOutcome = ApprovalChoice | 'timeout' | 'aborted';

export type Fact =
  | { fact: 'run.submitted'; outcome: CreateOutcome['kind'] }
  /** A worker took it: for the first time, or to go on where another was cut off or has let go. */
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
  /** `span` is the time it ran, where that is known: not that of a call that never ran or was cut off by a crash. */
  | { fact: 'tool.call'; run: ObservedRun; tool: string; outcome: ToolOutcome; span: Span | null }
  | ({ fact: 'approval.wait'; run: ObservedRun; outcome: ApprovalOutcome } & Span)
  /** `skipped`: its last run was unfinished; `postponed`: it could not be started now, and is tried again. */
  | { fact: 'job.due'; outcome: 'started' | 'skipped' | 'postponed' }
  /** One attempt to deliver a message; `returned`: the server was stopping. */
  | ({ fact: 'webhook.attempt'; outcome: Settlement['kind'] } & Span)
  /** `bytes`: as they are stored. */
  | { fact: 'workspace.snapshot'; outcome: SnapshotOutcome; durationMs: number; bytes: number }
  | { fact: 'journal.commit'; durationMs: number; records: number; failed: boolean }
  | {
      fact: 'http.request';
      method: string;
      /** The pattern of the route, never the path; undefined where none fits. */
      route: string | undefined;
      status: number;
      /** Until its answer began; undefined for a stream. */
      durationMs: number | undefined;
    };

export type Report = (fact: Fact) => void;

/** For whoever is measured by nobody. */
export const noReport: Report = () => {};
