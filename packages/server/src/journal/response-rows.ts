/** Rows of the stored responses and the domain type they stand for. */
import { TalariaError } from '@talaria/protocol';
import type { ResponseSettings, StoredResponse } from './responses.ts';

export interface ResponseRow {
  n: number;
  response_id: string;
  owner: string;
  run_id: string;
  after_seq: number;
  /** The `n` of its session: the same name may belong to another session by now. */
  session: number;
  session_id: string;
  created_at: number;
  settings: string;
  /** The range of the session when the response was complete; null before, and when it never completed. */
  context_from: number | null;
  context_to: number | null;
  snapshot: string | null;
}

/** All columns except the input, which may be large and is seldom needed. */
export const RESPONSE_COLUMNS =
  'n, response_id, owner, run_id, after_seq, session, session_id, created_at, settings, context_from, context_to, snapshot';

/** The settings of a response from an earlier version, which stored none. */
const EARLIER: Omit<
  ResponseSettings,
  | 'model'
  | 'previous_response_id'
  | 'conversation'
  | 'instructions'
  | 'metadata'
  | 'truncation'
  | 'background'
  | 'store'
> = {
  used: {},
  tools: [],
  tool_choice: 'auto',
  parallel_tool_calls: true,
  output_form: null,
  tool_items: 'function_call',
  tells_approvals: false,
};

export function toStoredResponse(row: ResponseRow): StoredResponse {
  return {
    responseId: row.response_id,
    owner: row.owner,
    runId: row.run_id,
    afterSeq: row.after_seq,
    sessionId: row.session_id,
    createdAt: row.created_at,
    settings: { ...EARLIER, ...(JSON.parse(row.settings) as ResponseSettings) },
    snapshot: row.snapshot,
  };
}

/** Checks what is to be continued: `row` is the response, `session` the row of its session, if any. */
export function previousTurn<Session>(
  responseId: string,
  row: ResponseRow | undefined,
  session: Session | undefined,
): { session: Session; from: number; to: number } {
  const param = 'previous_response_id';
  if (row === undefined) {
    const message = `Previous response not found: ${responseId}`;
    throw new TalariaError('previous_response_not_found', { message, param });
  }
  if (session === undefined) {
    const message = `Previous response not found: ${responseId} is kept, but its session was deleted`;
    throw new TalariaError('previous_response_not_found', { message, param });
  }
  if (row.context_from === null || row.context_to === null) {
    const message = `The previous response has not completed: ${responseId}`;
    throw new TalariaError('previous_response_not_completed', { message, param });
  }
  return { session, from: row.context_from, to: row.context_to };
}
