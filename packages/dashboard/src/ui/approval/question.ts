/** What an approval card shows: a question, and its answer once there is one. */
import type { ApprovalChoice, ApprovalRequest, Run } from '@talaria/client';

export interface CardQuestion extends Omit<ApprovalRequest, 'expires_at' | 'tool_call_id'> {
  /** Seconds since the epoch; absent where another question's answer settles this one. */
  expires_at?: number | undefined;
  choice?: ApprovalChoice | undefined;
  /** The name of the key that answered, or `timeout`. */
  answered_by?: string | undefined;
  /** Why it was denied. */
  message?: string | undefined;
}

/** The run that asks. */
export interface CardRun
  extends Pick<Run, 'run_id'>,
    Partial<Pick<Run, 'session_id' | 'input' | 'steps' | 'approval' | 'approvals_waiting'>> {}

export type Queued = NonNullable<Run['approvals_waiting']>[number];

/** The questions that come after this one, if the run says it: one answer may settle all. */
export function questionsBehind({ request_id }: CardQuestion, run: CardRun): readonly Queued[] {
  return run.approval?.request_id === request_id ? (run.approvals_waiting ?? []) : [];
}

/** The session of a run that was given one: any other run is alone in a session with its own name. */
export function sessionOf({ run_id, session_id }: CardRun): string | undefined {
  return session_id === run_id ? undefined : session_id;
}

const OUTCOMES: Record<ApprovalChoice, string> = {
  once: 'Allowed once',
  session: 'Allowed for the session',
  always: 'Allowed always',
  deny: 'Denied',
};

/** What was decided, in words. */
export function outcomeOf({ choice, answered_by }: Pick<CardQuestion, 'choice' | 'answered_by'>): string {
  if (answered_by === 'timeout') return 'Nobody answered in time: it counts as denied';
  if (choice === undefined) return 'No longer waiting';
  if (answered_by === undefined) return OUTCOMES[choice];
  return `${OUTCOMES[choice]}, by ${answered_by === 'you' ? 'you' : `the key ${answered_by}`}`;
}
