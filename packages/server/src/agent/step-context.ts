/**
 * What the model gets for a step: the system prompt and as much of the conversation as fits its context. The cut is
 * recorded before the model is called, so another owner of the run calls it with the same messages.
 */
import type { Message } from '../journal/messages.ts';
import type { AgentRun } from './agent-run.ts';
import { afterCut, moveCut, omittedBy, tokensOf } from './context/cut.ts';
import { sum, toolTokens } from './context/estimate-tokens.ts';
import { describeForm } from './output-form.ts';

/** A cut leaves room for later steps: providers cache a conversation up to the first difference. */
const FILLED_AFTER_CUT = 3 / 4;
/** The cut after a refusal; few providers say how much they would have accepted. */
const LEFT_AFTER_REFUSAL = 1 / 2;

export function stepMessages(run: AgentRun): Message[] {
  const { progress } = run;
  return [systemMessage(run), ...afterCut(progress.conversation(), progress.cut)];
}

/** Leaves out messages that are too many by our own estimate. */
export async function fitContext(run: AgentRun): Promise<void> {
  const { contextTokens } = run.limits;
  if (contextTokens === 0) return;
  const fixed = tokensOf([systemMessage(run)]) + sum(run.tools().definitions.map(toolTokens));
  const conversation = run.progress.conversation();
  if (fixed + tokensOf(afterCut(conversation, run.progress.cut)) <= contextTokens) return;
  await cutTo(run, contextTokens * FILLED_AFTER_CUT - fixed);
}

/**
 * Leaves out more, because the provider refused the conversation as too long; false when nothing more can be removed.
 */
export async function shortenContext(run: AgentRun): Promise<boolean> {
  const { progress } = run;
  const given = tokensOf(afterCut(progress.conversation(), progress.cut));
  return cutTo(run, Math.floor(given * LEFT_AFTER_REFUSAL));
}

async function cutTo({ progress, append }: AgentRun, maxTokens: number): Promise<boolean> {
  const conversation = progress.conversation();
  const before = moveCut(conversation, progress.cut, maxTokens);
  if (before === progress.cut) return false;
  await append({ event: 'context.cut', private: { before, omitted: omittedBy(conversation, before) } });
  return true;
}

function systemMessage({ systemPrompt, progress }: AgentRun): Message {
  const { instructions, output_form: form } = progress.request ?? {};
  const parts = [systemPrompt, instructions, form === undefined ? undefined : describeForm(form)];
  return { role: 'system', content: parts.filter((part) => part !== undefined).join('\n\n') };
}
