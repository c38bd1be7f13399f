/** What a completion and each of its chunks say of themselves. It follows from the run, so a retry reads the same. */
import type { ChatUsage, Run, Usage } from '@talaria/protocol';

export interface ChatHead {
  id: string;
  created: number;
  model: string;
}

const ID_DIGITS = 29;

export function chatHead({ run_id, created_at }: Run, model: string): ChatHead {
  const digits = run_id.slice('run_'.length).slice(0, ID_DIGITS);
  return { id: `chatcmpl-${digits}`, created: Math.floor(created_at), model };
}

export function toChatUsage({ input_tokens, output_tokens, total_tokens }: Usage): ChatUsage {
  return { prompt_tokens: input_tokens, completion_tokens: output_tokens, total_tokens };
}
