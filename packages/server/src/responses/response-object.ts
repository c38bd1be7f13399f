/** The response object: what a run's records add up to, with everything OpenAI's clients read beside it. */
import type {
  ApprovalRequest,
  ResponseItem,
  ResponseObject,
  ResponseStatus,
  ResponseUsage,
  Usage,
} from '@talaria/protocol';
import type { ResponseSettings } from '../journal/responses.ts';

/** What is known of a response before its run has done anything. */
export interface ResponseHead {
  responseId: string;
  runId: string;
  sessionId: string;
  /** In ms. */
  createdAt: number;
  settings: ResponseSettings;
}

export interface ResponseState {
  status: ResponseStatus;
  output: ResponseItem[];
  usage: Usage;
  error: { code: string; message: string } | null;
  /** Why an answer that was cut short is no longer. */
  incompleteReason: string | null;
  approval: ApprovalRequest | null;
  /** In ms. */
  completedAt: number | null;
}

export function responseObject(head: ResponseHead, state: ResponseState): ResponseObject {
  const { conversation, ...echoed } = head.settings;
  return {
    id: head.responseId,
    object: 'response',
    created_at: Math.floor(head.createdAt / 1000),
    completed_at: state.completedAt === null ? null : Math.floor(state.completedAt / 1000),
    status: state.status,
    error: state.error,
    incomplete_details: state.incompleteReason === null ? null : { reason: state.incompleteReason },
    output: state.output,
    usage: usageOf(state.usage),
    ...echoed,
    conversation: conversation === null ? null : { id: conversation },
    // What a client cannot choose here, as OpenAI says it.
    parallel_tool_calls: true,
    temperature: null,
    top_p: null,
    tool_choice: 'auto',
    tools: [],
    text: { format: { type: 'text' } },
    run_id: head.runId,
    session_id: head.sessionId,
    approval: state.approval,
  };
}

function usageOf(usage: Usage): ResponseUsage | null {
  if (usage.total_tokens === 0) return null;
  return {
    ...usage,
    // Not counted here; clients add them up without asking whether they are there.
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  };
}
