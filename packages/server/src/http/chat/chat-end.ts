/**
 * The end of a run as the end of a chat completion. An answer that is cut short by the model's output limit or withheld
 * by its provider is a failed run; here it is an answer with that finish reason, which is how clients of this dialect
 * expect to hear of it. Every other failure is an error.
 */
import { type ChatUsage, type EventPayload, NO_USAGE } from '@talaria/protocol';
import type { StoredEvent } from '../../journal/journal.ts';
import { type RunFailure, toRunFailure } from '../inline/run-failure.ts';
import { toChatUsage } from './chat-head.ts';

export type FinishReason = 'stop' | 'length' | 'content_filter';

const FINISH_REASONS: Record<string, FinishReason> = {
  output_truncated: 'length',
  content_filtered: 'content_filter',
};

/** `output` is the whole answer where the run completed. */
export type ChatEnd =
  | { finishReason: FinishReason; usage: ChatUsage; output: string | undefined }
  | { failure: RunFailure };

/** Of the terminal event of the run. */
export function toChatEnd(event: StoredEvent): ChatEnd {
  if (event.event === 'run.completed') {
    const { output, usage } = JSON.parse(event.payload) as EventPayload<'run.completed'>;
    return { finishReason: 'stop', usage: toChatUsage(usage), output };
  }
  if (event.event === 'run.failed') {
    const { error_code, usage_so_far = NO_USAGE } = JSON.parse(event.payload) as EventPayload<'run.failed'>;
    const finishReason = FINISH_REASONS[error_code];
    if (finishReason !== undefined) {
      return { finishReason, usage: toChatUsage(usage_so_far), output: undefined };
    }
  }
  return { failure: toRunFailure(event) };
}
