/**
 * One step of the model: its text is shown as it arrives. Its result, with the text that was not shown yet, is left to the
 * caller, who may record more with it.
 *
 * A failed call is retried only while nothing of the step was shown, so a client never sees the beginnings of two
 * answers. After something was shown, a failure ends the run. A conversation that the provider finds too long is cut
 * until the provider accepts it or nothing more can be cut.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { NO_USAGE } from '@talaria/protocol';
import { failpoint } from '../basics/failpoints.ts';
import { callIds } from '../journal/messages.ts';
import type { NewRecord } from '../journal/records.ts';
import type { StepOutcome } from '../telemetry/facts.ts';
import { type AgentRun, Handover, RunFailure } from './agent-run.ts';
import { DeltaBuffer } from './delta-buffer.ts';
import { ModelError, type StepFinish, type StepRequest } from './model/model.ts';
import { costOf } from './price.ts';
import { fitContext, shortenContext, stepMessages } from './step-context.ts';

const BACKOFF_BASE_MS = 500;
const BACKOFF_MAX_MS = 30_000;
/** A provider may ask for a longer pause than our own back-off, but not for an endless one. */
const RETRY_AFTER_MAX_MS = 120_000;
/** Roughly, in characters: only used to notice a runaway answer before the provider reports usage. */
const CHARS_PER_TOKEN = 4;

export interface CompletedStep {
  finish: StepFinish;
  /** The records that the caller appends. */
  records: NewRecord[];
}

export async function streamStep(run: AgentRun): Promise<CompletedStep> {
  for (let attempt = 0; ; attempt += 1) {
    const shown = { anything: false };
    await fitContext(run);
    try {
      const { finish, rest, duration } = await measured(run, () => attemptStep(run, shown));
      const { content, usage, reason } = finish;
      const cost = run.price && { cost: costOf(usage, run.price) };
      const completed: NewRecord = {
        event: 'step.completed',
        public: { step: run.progress.steps + 1, duration, usage, ...cost, finish_reason: reason },
        private: { content, usage, reason },
      };
      return { finish, records: rest === '' ? [completed] : [deltaRecord(rest), completed] };
    } catch (error) {
      run.signal.throwIfAborted();
      if (!(error instanceof ModelError)) throw error;
      if (error.code === 'context_overflow' && !shown.anything && (await shortenContext(run))) continue;
      if (!error.retryable || shown.anything || attempt >= run.limits.modelRetries) {
        throw new RunFailure(error.code, run.secrets.mask(error.message));
      }
      const interrupted = AbortSignal.any([run.signal, run.draining]);
      await delay(pauseMs(attempt, error.retryAfterMs), undefined, { signal: interrupted }).catch(() => {});
      run.signal.throwIfAborted();
      // Nothing of the step was shown, so the next owner can begin it as well as this one.
      if (run.draining.aborted) throw new Handover();
    }
  }
}

/** Reports how the call of the model went. Passes its error on, or its result with the seconds that it took. */
async function measured(
  run: AgentRun,
  attempt: () => Promise<Attempt>,
): Promise<Attempt & { duration: number }> {
  const startedAt = run.now();
  try {
    const { finish, rest } = await attempt();
    const { usage, reason: finishReason } = finish;
    const endedAt = run.now();
    run.stepEnded({ startedAt, endedAt, outcome: 'completed', usage, finishReason });
    return { finish, rest, duration: Math.max(0, endedAt - startedAt) / 1000 };
  } catch (error) {
    run.stepEnded({ startedAt, endedAt: run.now(), outcome: outcomeOf(run, error), usage: NO_USAGE });
    throw error;
  }
}

function outcomeOf(run: AgentRun, error: unknown): StepOutcome {
  if (run.signal.aborted) return 'aborted';
  if (error instanceof ModelError || error instanceof RunFailure) return error.code;
  return 'internal_error';
}

interface Attempt {
  finish: StepFinish;
  /** The end of the text, which was not shown yet. */
  rest: string;
}

async function attemptStep(run: AgentRun, shown: { anything: boolean }): Promise<Attempt> {
  const watchdog = new Watchdog(run.limits.modelIdleMs, run.signal);
  const { signal } = watchdog;
  const deltas = new DeltaBuffer(async (delta) => {
    shown.anything = true;
    await run.append(deltaRecord(delta));
    failpoint('step.after-delta');
  });
  const filter = run.secrets.filter();
  let finish: StepFinish | undefined;
  let characters = 0;
  failpoint('step.before-model');
  try {
    // An answer with a requested format is shown only after it was checked.
    const isShown = run.progress.request?.output_form === undefined;
    for await (const part of run.model.streamStep(stepRequest(run, signal))) {
      watchdog.touch();
      characters += 'delta' in part ? part.delta.length : 0;
      checkTokens(run, characters);
      if (part.type === 'finish') finish = part;
      else if (part.type === 'text' && isShown) deltas.push(filter.push(part.delta));
      else if (part.type === 'reasoning_done') await showReasoning(run, part.text, deltas, shown);
    }
    if (finish === undefined) {
      // The withheld text of an answer that is cut off is dropped: it may be most of a secret.
      throw new ModelError('provider_error', 'The model stopped without finishing its answer', {
        retryable: true,
      });
    }
    if (isShown) deltas.push(filter.end());
    return { finish, rest: await deltas.takeRest() };
  } catch (error) {
    const reason = signal.aborted && !run.signal.aborted ? signal.reason : error;
    await deltas.flush();
    throw reason;
  } finally {
    watchdog.stop();
  }
}

const deltaRecord = (delta: string): NewRecord => ({ event: 'message.delta', public: { delta } });

function stepRequest(run: AgentRun, signal: AbortSignal): StepRequest {
  const { request, steps, termsFromStep } = run.progress;
  const { client_tools: client, settings, output_form: outputForm } = request ?? {};
  // A client's `tool_choice` is about its own tools, and applies only to the first step after its request.
  const isFirst = steps === termsFromStep;
  const choice = isFirst && client !== undefined && client.choice !== 'auto' ? client.choice : undefined;
  return {
    messages: stepMessages(run),
    tools: choice === undefined ? run.tools().definitions : run.tools().clientDefinitions,
    ...(choice === undefined ? {} : { toolChoice: choice }),
    ...(client?.parallel === false ? { parallelToolCalls: false } : {}),
    ...(settings === undefined ? {} : { settings }),
    ...(outputForm === undefined ? {} : { outputForm }),
    usedCallIds: callIds(run.progress.conversation().messages),
    signal,
  };
}

async function showReasoning(
  run: AgentRun,
  text: string,
  deltas: DeltaBuffer,
  shown: { anything: boolean },
): Promise<void> {
  if (text.trim() === '') return;
  await deltas.flush();
  shown.anything = true;
  await run.append({
    event: 'reasoning.available',
    public: { text: run.secrets.maskKnown(text) },
  });
}

function checkTokens({ limits, progress }: AgentRun, characters: number): void {
  if (limits.maxTokens === 0) return;
  if (progress.usage.total_tokens + Math.floor(characters / CHARS_PER_TOKEN) > limits.maxTokens) {
    throw new RunFailure('token_limit', `The run used all its ${limits.maxTokens} tokens`);
  }
}

/** Full jitter: runs that failed together do not retry together. */
function pauseMs(attempt: number, retryAfterMs: number | undefined): number {
  const backoff = Math.random() * Math.min(BACKOFF_MAX_MS, BACKOFF_BASE_MS * 2 ** attempt);
  if (retryAfterMs === undefined) return backoff;
  return Math.min(RETRY_AFTER_MAX_MS, retryAfterMs + backoff / 2);
}

/**
 * Aborts when it was not touched for a while, as when a provider's connection dies silently, and with the other signal. It is
 * not `AbortSignal.any`, which keeps whatever listens to it in memory until the next major collection of garbage.
 */
class Watchdog {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #other: AbortSignal;
  readonly #abort = () => this.#controller.abort(this.#other.reason);

  constructor(idleMs: number, other: AbortSignal) {
    this.#other = other;
    if (other.aborted) this.#abort();
    else other.addEventListener('abort', this.#abort, { once: true });
    this.#timer = setTimeout(() => {
      const message = `The model was silent for ${Math.round(idleMs / 1000)} s`;
      this.#controller.abort(new ModelError('provider_unavailable', message, { retryable: true }));
    }, idleMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  touch(): void {
    this.#timer.refresh();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#other.removeEventListener('abort', this.#abort);
  }
}
