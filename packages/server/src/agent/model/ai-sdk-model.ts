/**
 * A `Model` on top of whatever streams the parts of the AI SDK's provider layer: a language model of that layer
 * (`doStream`), without the `ai` package around it, or our own reader of chat completions (`chat-completions.ts`). One call
 * is one request and one step, with no retries and no tool execution, exactly as the contract says.
 *
 * - The provider is loaded at the first step, so that starting the server does not pay for its SDK.
 * - When the iteration ends early (failure, abort, `break`), the request to the provider is aborted with it.
 * - After a finish the rest of the response is read in the background, so that the connection can be used again.
 */
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import type { ModelSettingName, Usage } from '@talaria/protocol';
import { callIds, type FinishReason } from '../../journal/messages.ts';
import type { Secrets } from '../../secrets/secrets.ts';
import { callSettings, type ProviderDialect, toToolChoice } from './call-settings.ts';
import type { Model, StepFinish, StepPart, StepRequest } from './model.ts';
import { incompleteStreamError, toModelError } from './model-errors.ts';
import { toFunctionTools, toPrompt } from './prompt.ts';
import { StepAssembly } from './step-assembly.ts';

/** Nothing of interest follows a finish. A server that does not end its response soon after it loses the connection. */
const DRAIN_MS = 1_000;

/** Sends one request. The parts of its answer come in groups, as they arrive. */
export type StreamParts = (call: LanguageModelV4CallOptions) => Promise<PartGroups>;
export type PartGroups = AsyncIterator<readonly LanguageModelV4StreamPart[], void, undefined>;

/** A language model of the provider layer as a `StreamParts`. */
export function partsOf(model: LanguageModelV4): StreamParts {
  return async (call) => {
    const { stream } = await model.doStream(call);
    const reader = stream.getReader();
    return {
      async next() {
        const { done, value } = await reader.read();
        return done ? { done, value: undefined } : { done, value: [value] };
      },
    };
  };
}

export interface AiSdkModelOptions {
  /** `provider/model`, as shown to people. */
  name: string;
  load: () => Promise<StreamParts>;
  /** How to pass on options that the common layer has no name for. */
  dialect?: ProviderDialect;
  /** Values that must never appear in an error message: the API key. */
  secrets?: Secrets;
}

export class AiSdkModel implements Model {
  readonly name: string;
  readonly ignoredSettings: readonly ModelSettingName[];
  readonly #options: AiSdkModelOptions;
  #loaded: Promise<StreamParts> | undefined;

  constructor(options: AiSdkModelOptions) {
    this.name = options.name;
    this.ignoredSettings = options.dialect?.ignores ?? [];
    this.#options = options;
  }

  async *streamStep(step: StepRequest): AsyncGenerator<StepPart, void, undefined> {
    const { messages, tools, usedCallIds = [], signal } = step;
    const request = new AbortController();
    const abort = () => request.abort(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });

    let groups: PartGroups | undefined;
    let finished = false;
    try {
      request.signal.throwIfAborted();
      const streamParts = await this.#load();
      groups = await streamParts({
        prompt: toPrompt(messages),
        ...(tools.length > 0 && { tools: toFunctionTools(tools), toolChoice: toToolChoice(step) }),
        ...callSettings(step, this.#options.dialect),
        abortSignal: request.signal,
      });
      const assembly = new StepAssembly([...callIds(messages), ...usedCallIds]);
      for await (const part of readStep(groups, assembly, request.signal)) {
        finished = part.type === 'finish';
        yield part;
      }
    } catch (error) {
      throw toModelError(error, { signal, secrets: this.#options.secrets });
    } finally {
      signal.removeEventListener('abort', abort);
      if (finished && groups) drain(groups, request);
      else request.abort();
    }
  }

  #load(): Promise<StreamParts> {
    this.#loaded ??= this.#options.load();
    // A failed load (for example, a damaged installation) must not be cached for every later step.
    this.#loaded.catch(() => {
      this.#loaded = undefined;
    });
    return this.#loaded;
  }
}

async function* readStep(
  groups: PartGroups,
  assembly: StepAssembly,
  signal: AbortSignal,
): AsyncGenerator<StepPart, void, undefined> {
  for (;;) {
    const { done, value: parts } = await groups.next();
    signal.throwIfAborted();
    if (done) throw incompleteStreamError();
    for (const part of parts) {
      if (part.type === 'error') throw part.error;
      if (part.type !== 'finish') {
        yield* assembly.add(part);
        continue;
      }
      if (part.finishReason.unified === 'interrupted') throw incompleteStreamError();
      yield* assembly.close();
      yield toFinish(assembly, part.usage, part.finishReason);
      return;
    }
  }
}

async function drain(groups: PartGroups, request: AbortController): Promise<void> {
  const timer = setTimeout(() => request.abort(), DRAIN_MS);
  timer.unref();
  try {
    while (!(await groups.next()).done);
  } catch {
    // The step is complete; how its connection ends does not matter.
  } finally {
    clearTimeout(timer);
  }
}

function toFinish(
  assembly: StepAssembly,
  usage: LanguageModelV4Usage,
  reason: LanguageModelV4FinishReason,
): StepFinish {
  const content = assembly.content;
  const hasCalls = content.some((part) => part.type === 'tool_call');
  return { type: 'finish', content, usage: toUsage(usage), reason: toFinishReason(reason.unified, hasCalls) };
}

/** Some servers report `stop` after tool calls; the model still waits for their results. */
function toFinishReason(reason: LanguageModelV4FinishReason['unified'], hasCalls: boolean): FinishReason {
  switch (reason) {
    case 'stop':
    case 'other':
      return hasCalls ? 'tool_calls' : reason;
    case 'tool-calls':
      return hasCalls ? 'tool_calls' : 'stop';
    case 'content-filter':
      return 'content_filter';
    case 'length':
      return 'length';
    default:
      return 'error';
  }
}

function toUsage(usage: LanguageModelV4Usage): Usage {
  const input_tokens = usage.inputTokens.total ?? 0;
  const output_tokens = usage.outputTokens.total ?? 0;
  const total = usage.raw?.total_tokens ?? usage.raw?.totalTokenCount;
  const { cacheRead: cached } = usage.inputTokens;
  const { reasoning } = usage.outputTokens;
  return {
    input_tokens,
    output_tokens,
    total_tokens: typeof total === 'number' ? total : input_tokens + output_tokens,
    // The provider layer reports 0 also for counts that a provider does not report.
    ...(cached ? { input_tokens_details: { cached_tokens: cached } } : {}),
    ...(reasoning ? { output_tokens_details: { reasoning_tokens: reasoning } } : {}),
  };
}
