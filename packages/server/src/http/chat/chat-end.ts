/**
 * The end of a run as the end of a chat completion, and its wait for a client's tools, which is one, too. An answer that is
 * cut short by the model's output limit or withheld by its provider is a failed run; here it is an answer with that finish
 * reason, which is how clients of this dialect expect to hear of it. Every other failure is an error.
 */
import {
  type ChatToolCall,
  type ChatUsage,
  type EventPayload,
  NO_USAGE,
  type PendingCall,
  subtractUsage,
  type Usage,
} from '@talaria/protocol';
import { toClientCallId } from '../../engine/call-ids.ts';
import type { StoredEvent } from '../../journal/journal.ts';
import { type RunFailure, toRunFailure } from '../inline/run-failure.ts';
import { toChatUsage } from './chat-head.ts';

export type FinishReason = 'stop' | 'length' | 'content_filter' | 'tool_calls';

/** Which part of a run a completion is: all of it, or from a wait for the client on. */
export interface ChatPlace {
  runId: string;
  usageBefore: Usage;
}

const FINISH_REASONS: Record<string, FinishReason> = {
  output_truncated: 'length',
  content_filtered: 'content_filter',
};

/** `output` is the whole answer where the run completed. */
export type ChatEnd =
  | {
      finishReason: FinishReason;
      usage: ChatUsage;
      output: string | undefined;
      toolCalls?: ChatToolCall[];
    }
  | { failure: RunFailure };

/** Of the terminal event of the run, or of `run.waiting`. */
export function toChatEnd(event: StoredEvent, { runId, usageBefore }: ChatPlace): ChatEnd {
  const used = (usage: Usage = NO_USAGE): ChatUsage => toChatUsage(subtractUsage(usage, usageBefore));
  if (event.event === 'run.waiting') {
    const { calls, usage_so_far } = JSON.parse(event.payload) as EventPayload<'run.waiting'>;
    const toolCalls = calls.map((call) => toChatToolCall(runId, call));
    return { finishReason: 'tool_calls', usage: used(usage_so_far), output: undefined, toolCalls };
  }
  if (event.event === 'run.completed') {
    const { output, usage } = JSON.parse(event.payload) as EventPayload<'run.completed'>;
    return { finishReason: 'stop', usage: used(usage), output };
  }
  if (event.event === 'run.failed') {
    const { error_code, usage_so_far } = JSON.parse(event.payload) as EventPayload<'run.failed'>;
    const finishReason = FINISH_REASONS[error_code];
    if (finishReason !== undefined) return { finishReason, usage: used(usage_so_far), output: undefined };
  }
  return { failure: toRunFailure(event) };
}

function toChatToolCall(runId: string, { tool_call_id, tool, arguments: args }: PendingCall): ChatToolCall {
  return {
    id: toClientCallId(runId, tool_call_id),
    type: 'function',
    function: { name: tool, arguments: JSON.stringify(args) },
  };
}
