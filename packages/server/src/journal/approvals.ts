/**
 * Approvals across runs: what people have decided, and what they allowed for longer than one call. A question that still
 * waits is not here: it is part of its run (`RunState.approval`), and a list of runs finds it.
 */
import type { ApprovalChoice, ApprovalRequest } from '@talaria/protocol';
import type { LogRecord, QueuedApproval } from './records.ts';
import type { RunState, StoredRun } from './run-state.ts';

/** An answered question. It is kept as long as its run. */
export interface Decision {
  runId: string;
  /** A question that was answered together with the one before it has had no deadline. */
  question: ApprovalRequest | QueuedApproval;
  choice: ApprovalChoice;
  /** The name of an API key, or `timeout`; null where it was not recorded. */
  answeredBy: string | null;
  /** In ms. */
  answeredAt: number;
  /** Why it was denied. */
  message: string | null;
}

export interface DecisionFilter {
  owner: string;
  /** The `next` of the page before; rejects with `invalid_cursor` when it is none of this owner's. */
  after?: string | undefined;
  limit: number;
}

export interface DecisionPage {
  /** Each with its run as it is now. */
  decisions: (Decision & { run: StoredRun })[];
  next?: string | undefined;
}

/** A permission that an answer gives beyond its own call. */
export interface Grant {
  id: string;
  owner: string;
  /** Undefined for a permanent one. */
  sessionId: string | undefined;
  patternKey: string;
  /** In ms. */
  createdAt: number;
  /** The last time it let a call through, to the minute; in ms. */
  lastUsedAt: number | null;
}

export interface GrantPage {
  grants: Grant[];
  next?: string | undefined;
}

/** A grant that lets many calls through is written once in this time. */
export const GRANT_USE_MS = 60_000;

export interface Approvals {
  /** Newest first. */
  decisions(filter: DecisionFilter): Promise<DecisionPage>;
  /** Whether every one of these patterns is allowed for runs of this owner and session; then they count as used. */
  allows(owner: string, sessionId: string, patternKeys: readonly string[]): Promise<boolean>;
  /** Newest first. */
  grants(filter: DecisionFilter): Promise<GrantPage>;
  /** From now on the grant allows nothing. False when this owner has no such grant. */
  revoke(owner: string, grantId: string): Promise<boolean>;
}

/** The decisions that the record makes, in a run that was in `state` before it. */
export function decisionsOf(runId: string, state: RunState, record: LogRecord): Decision[] {
  if (record.event !== 'approval.responded') return [];
  const { choice, answered_by, message } = record.public;
  const asked = state.approval === null ? [] : [state.approval];
  return [...asked, ...state.approvals_waiting]
    .filter(({ request_id }) => record.private.request_ids.includes(request_id))
    .map((question) => ({
      runId,
      question,
      choice,
      answeredBy: answered_by ?? null,
      answeredAt: record.at,
      message: message ?? null,
    }));
}
