/** The fields that a completion and its chunks share. They follow from the run, so a retry reads the same. */
import { createHash } from 'node:crypto';
import type { ChatUsage, Run, Usage } from '@talaria/protocol';

export interface ChatHead {
  id: string;
  created: number;
  model: string;
}

const ID_DIGITS = 29;

/** `afterSeq`: the event that the completion begins after; -1 for the beginning of the run. */
export function chatHead({ run_id, created_at }: Run, model: string, afterSeq = -1): ChatHead {
  const digits =
    afterSeq === -1
      ? run_id.slice('run_'.length)
      : createHash('sha256').update(`${run_id} ${afterSeq}`).digest('hex');
  return { id: `chatcmpl-${digits.slice(0, ID_DIGITS)}`, created: Math.floor(created_at), model };
}

export function toChatUsage(usage: Usage): ChatUsage {
  const { input_tokens, output_tokens, total_tokens } = usage;
  const { input_tokens_details: input, output_tokens_details: output } = usage;
  return {
    prompt_tokens: input_tokens,
    completion_tokens: output_tokens,
    total_tokens,
    ...(input === undefined ? {} : { prompt_tokens_details: input }),
    ...(output === undefined ? {} : { completion_tokens_details: output }),
  };
}
