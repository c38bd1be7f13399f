/**
 * Turns the end of a run into the end of a chat completion; a wait for the client's tools is an end, too. An answer
 * that the model's output limit cut off, or that the provider withheld, is a failed run; here it is an answer with that
 * finish reason, as clients of this dialect expect. Every other failure is an error.
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
import type { StoredEvent } from '../../journal/journal.ts';
import { toClientCallId } from '../../responses/call-ids.ts';
import { type RunFailure, toRunFailure } from '../inline/run-failure.ts';
import { toChatUsage } from './chat-head.ts';

export type FinishReason = 'stop' | 'length' | 'content_filter' | 'tool_calls' | 'function_call';

/** Which part of a run a completion is: all of it, or the part after a wait for the client. */
export interface ChatPlace {
  runId: string;
  usageBefore: Usage;
  /** Whether its client knows calls by their older name, `function_call`, one at a time. */
  asFunctions?: boolean;
}

/** The calls for the client, as part of the message. */
export type ChatCalls = { tool_calls: ChatToolCall[] } | { function_call: ChatToolCall['function'] };

const FINISH_REASONS: Record<string, FinishReason> = {
  output_truncated: 'length',
  content_filtered: 'content_filter',
};

/** `output` is the whole answer if the run completed. */
export type ChatEnd =
  | {
      finishReason: FinishReason;
      usage: ChatUsage;
      output: string | undefined;
      calls?: ChatCalls;
    }
  | { failure: RunFailure };

/** For the terminal event of the run, or for `run.waiting`. */
export function toChatEnd(event: StoredEvent, { runId, usageBefore, asFunctions }: ChatPlace): ChatEnd {
  const used = (usage: Usage = NO_USAGE): ChatUsage => toChatUsage(subtractUsage(usage, usageBefore));
  if (event.event === 'run.waiting') {
    const { calls, usage_so_far } = JSON.parse(event.payload) as EventPayload<'run.waiting'>;
    const tool_calls = calls.map((call) => toChatToolCall(runId, call));
    const end = { usage: used(usage_so_far), output: undefined };
    if (!asFunctions) return { ...end, finishReason: 'tool_calls', calls: { tool_calls } };
    return { ...end, finishReason: 'function_call', calls: { function_call: tool_calls[0]!.function } };
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
