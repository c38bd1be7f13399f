/**
 * The agent loop: model step, tool calls, results, again, until the model answers without a tool call. It works from
 * `Progress` alone, so it starts a new run and resumes an interrupted one in the same way.
 */
import { failpoint } from '../basics/failpoints.ts';
import type { AssistantPart } from '../journal/messages.ts';
import { type AgentAnswer, type AgentRun, Handover, RunFailure } from './agent-run.ts';
import { readOutput } from './output-form.ts';
import type { Answer } from './progress.ts';
import { type CompletedStep, streamStep } from './step.ts';
import { runToolCalls, settleInterrupted } from './tool-calls.ts';

/** How often the model may try again after its first answer that does not have the requested format. */
const MORE_TRIES = 2;

/** Returns the answer; throws `RunFailure`, `Handover` or the reason of `run.signal`. */
export async function runAgent(run: AgentRun): Promise<AgentAnswer> {
  await settleInterrupted(run);
  // The last owner was lost after the calls of a step, or during them, and before it had kept their files.
  if (run.progress.lacksCheckpoint) await run.keepFiles();
  for (;;) {
    run.signal.throwIfAborted();
    const { progress, limits } = run;
    if (progress.answer !== undefined && progress.steers.length === 0) {
      const answer = await acceptedAnswer(run, answerText(progress.answer));
      if (answer !== undefined) return answer;
      continue;
    }
    // No call is running here, so the next owner can run them, or call the model, as well as this one.
    if (run.draining.aborted) throw new Handover();
    if (progress.calls.length > 0) {
      const calls = await runToolCalls(run);
      await run.keepFiles();
      if (calls !== undefined) return calls;
      continue;
    }
    await deliverSteers(run);
    if (progress.steps >= limits.maxSteps) {
      throw new RunFailure('step_limit', `The run used all its ${limits.maxSteps} steps without an answer`);
    }
    if (limits.maxTokens > 0 && progress.usage.total_tokens >= limits.maxTokens) {
      throw new RunFailure(
        'token_limit',
        `The run used all its ${limits.maxTokens} tokens without an answer`,
      );
    }
    const step = await streamStep(run);
    failpoint('step.before-append');
    const answer = finalAnswer(run, step);
    if (answer !== undefined) return answer;
    await run.append(...step.records);
    failpoint('step.after-append');
  }
}

/** The answer of a step after which nothing has to be recorded but the end of the run. */
function finalAnswer({ progress, secrets, signal }: AgentRun, step: CompletedStep): AgentAnswer | undefined {
  const { content, reason } = step.finish;
  const text = textOf(content);
  const isAnswer =
    reason === 'stop' && text.trim() !== '' && content.every(({ type }) => type !== 'tool_call');
  const isChecked = progress.request?.output_form !== undefined;
  if (!isAnswer || isChecked || progress.steers.length > 0 || signal.aborted) return undefined;
  return { output: secrets.maskKnown(text), lastStep: step.records };
}

/** Undefined when the model has to try again. */
async function acceptedAnswer(run: AgentRun, text: string): Promise<AgentAnswer | undefined> {
  const form = run.progress.request?.output_form;
  const output = run.secrets.maskKnown(text);
  if (form === undefined) return { output };
  const read = await readOutput(output, form, run.checkValue);
  if ('value' in read) return { output: read.text, parsed: read.value };
  if (run.progress.refusedAnswers >= MORE_TRIES) {
    const message = `After ${MORE_TRIES + 1} tries the answer still does not have the requested format: ${read.problem}`;
    throw new RunFailure('invalid_output', message);
  }
  const problem = `[Your answer was not accepted: ${read.problem}. Answer again, with nothing but the JSON.]`;
  await run.append({ event: 'answer.refused', private: { problem } });
  return undefined;
}

async function deliverSteers(run: AgentRun): Promise<void> {
  for (const steer of [...run.progress.steers]) {
    await run.append({
      event: 'run.steered',
      public: { input: run.secrets.maskKnown(steer.input) },
      private: { steer_pos: steer.pos },
    });
  }
}

function answerText({ content, reason }: Answer): string {
  if (reason === 'content_filter') {
    throw new RunFailure('content_filtered', 'The model provider withheld the answer (content filter)');
  }
  const text = textOf(content);
  if (reason === 'length') {
    throw new RunFailure('output_truncated', "The answer reached the model's output limit and is incomplete");
  }
  if (reason === 'error')
    throw new RunFailure('provider_error', 'The model provider ended the answer with an error');
  if (text.trim() === '') throw new RunFailure('empty_output', 'The model ended without an answer');
  return text;
}

function textOf(content: readonly AssistantPart[]): string {
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}
