/** Rows of answered questions and of grants, and what they stand for, in both databases. */
import type { ApprovalChoice } from '@talaria/protocol';
import type { Decision, Grant } from './approvals.ts';

export interface DecisionRow {
  n: number;
  run_id: string;
  request_id: string;
  question: string;
  choice: string;
  answered_by: string | null;
  answered_at: number;
  message: string | null;
}

export interface GrantRow {
  n: number;
  id: string;
  owner: string;
  /** '' for a permanent one. */
  session_id: string;
  pattern_key: string;
  created_at: number;
  last_used_at: number | null;
}

export function toDecision(row: DecisionRow): Decision {
  return {
    runId: row.run_id,
    question: JSON.parse(row.question),
    choice: row.choice as ApprovalChoice,
    answeredBy: row.answered_by,
    answeredAt: row.answered_at,
    message: row.message,
  };
}

export function toGrant(row: GrantRow): Grant {
  return {
    id: row.id,
    owner: row.owner,
    sessionId: row.session_id === '' ? undefined : row.session_id,
    patternKey: row.pattern_key,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  };
}
