/**
 * Translates the settings of a step for the provider layer. A setting that the layer knows is passed under its name;
 * the others become provider options, whose names differ by provider (`ProviderDialect`).
 */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4ToolChoice,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import type { ModelSettingName, ModelSettings, OutputForm } from '@talaria/protocol';
import type { StepRequest } from './model.ts';

type OptionValues = SharedV4ProviderOptions[string];

interface HeldForm {
  format?: NonNullable<LanguageModelV4CallOptions['responseFormat']>;
  options?: OptionValues;
}

export interface ProviderDialect {
  /** The key of its options. */
  name: string;
  /** Sent with every request. */
  always?: OptionValues;
  /** Settings that neither the provider layer nor `options` passes on, for any of its models. */
  ignores: readonly ModelSettingName[];
  options(settings: ModelSettings, parallelToolCalls: boolean): Record<string, unknown>;
  /** How to ask it for an output format, where that does not keep the model from using its tools. */
  hold?(form: OutputForm): HeldForm;
}

export function callSettings(
  { settings = {}, parallelToolCalls = true, outputForm }: StepRequest,
  dialect: ProviderDialect | undefined,
): Partial<LanguageModelV4CallOptions> {
  const { temperature, top_p, max_output_tokens, stop, seed, presence_penalty, frequency_penalty } = settings;
  const own = dialect === undefined ? {} : known(dialect.options(settings, parallelToolCalls));
  const held = outputForm === undefined ? undefined : dialect?.hold?.(outputForm);
  const options = { ...dialect?.always, ...own, ...held?.options };
  return {
    ...known({
      temperature,
      topP: top_p,
      maxOutputTokens: max_output_tokens,
      stopSequences: stop,
      seed,
      presencePenalty: presence_penalty,
      frequencyPenalty: frequency_penalty,
    }),
    ...(dialect === undefined || Object.keys(options).length === 0
      ? {}
      : { providerOptions: { [dialect.name]: options as OptionValues } }),
    ...(held?.format === undefined ? {} : { responseFormat: held.format }),
  };
}

export function toToolChoice({ toolChoice }: StepRequest): LanguageModelV4ToolChoice {
  if (toolChoice === undefined) return { type: 'auto' };
  return toolChoice === 'required' ? { type: 'required' } : { type: 'tool', toolName: toolChoice.name };
}

export const OPENAI_DIALECT: ProviderDialect = {
  name: 'openai',
  // The journal is the only memory: nothing is stored at OpenAI, and reasoning comes back encrypted, to be sent again.
  always: { store: false },
  hold: holdAtOpenAi,
  ignores: ['stop', 'seed', 'presence_penalty', 'frequency_penalty', 'logit_bias'],
  options: ({ reasoning_effort, verbosity, service_tier }, parallel) => ({
    reasoningEffort: reasoning_effort,
    textVerbosity: verbosity,
    serviceTier: service_tier,
    parallelToolCalls: parallel ? undefined : false,
  }),
};

/** OpenAI's bounds. */
const FORM_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * OpenAI refuses schemas of anything but an object, and in its strict mode most schemas that were not written for it.
 * So strict mode is used only when the client asks for it, and a schema that OpenAI would refuse is not sent: the
 * answer is checked anyway.
 */
function holdAtOpenAi({ schema, name = '', description, strict }: OutputForm): HeldForm {
  if (schema === undefined) return { format: { type: 'json' } };
  if (schema.type !== 'object') return {};
  const called = FORM_NAME.test(name) ? { name } : {};
  const about = description === undefined ? {} : { description };
  return {
    format: { type: 'json', schema, ...called, ...about },
    options: { strictJsonSchema: strict === true },
  };
}

export const ANTHROPIC_DIALECT: ProviderDialect = {
  name: 'anthropic',
  // Every step sends the whole conversation again; without caching each one is billed in full.
  always: { cacheControl: { type: 'ephemeral' } },
  ignores: ['seed', 'presence_penalty', 'frequency_penalty', 'verbosity', 'service_tier', 'logit_bias'],
  options: ({ reasoning_effort }, parallel) => ({
    effort: reasoning_effort,
    disableParallelToolUse: parallel ? undefined : true,
  }),
};

export const GOOGLE_DIALECT: ProviderDialect = {
  name: 'google',
  ignores: ['verbosity', 'service_tier', 'logit_bias'],
  options: ({ reasoning_effort }) => ({
    thinkingConfig: reasoning_effort === undefined ? undefined : { thinkingLevel: reasoning_effort },
  }),
};

/** Servers accept different settings; names that the package does not know are sent unchanged. */
export const COMPATIBLE_DIALECT: ProviderDialect = {
  // Under the name `openaiCompatible` the package would copy metadata of a part into the message it sends.
  name: 'compatible',
  ignores: [],
  options: ({ reasoning_effort, verbosity, service_tier, logit_bias }, parallel) => ({
    reasoningEffort: reasoning_effort,
    textVerbosity: verbosity,
    service_tier,
    logit_bias,
    parallel_tool_calls: parallel ? undefined : false,
  }),
};

function known<T extends object>(values: T): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<T>;
}
