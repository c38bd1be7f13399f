/** Which model the agent uses, with which keys, and how its calls are retried. */

import { MODEL_SETTING_NAMES } from '@talaria/protocol';
import type { Prices } from '../../agent/price.ts';
import { choices, integer, secret, string } from '../kinds/kinds.ts';
import { httpUrl } from '../kinds/network-kinds.ts';
import { prices } from '../kinds/prices.ts';
import { define } from './setting.ts';

export const modelSettings = {
  model: define({
    env: 'TALARIA_MODEL',
    key: 'model',
    kind: string(),
    default: undefined,
    defaultText:
      'with a base URL the name `default`, which only servers of a single model take; else a model of the provider whose key is set, else the built-in demo model',
    group: 'Model',
    about: '`openai/…`, `anthropic/…`, `google/…` or `demo`; with a base URL, the name of a model there',
  }),
  embeddingModel: define({
    env: 'TALARIA_EMBEDDING_MODEL',
    key: 'embedding_model',
    kind: string(),
    default: undefined,
    defaultText: 'the model that each request names',
    group: 'Model',
    about:
      'model that `/v1/embeddings` uses, whatever a request names; OpenAI or the provider at the base URL makes the embeddings',
  }),
  openaiBaseUrl: define({
    env: 'OPENAI_BASE_URL',
    key: 'openai_base_url',
    kind: httpUrl(),
    default: undefined,
    group: 'Model',
    about: 'base URL of an OpenAI-compatible provider',
  }),
  openaiApiKey: define({
    env: 'OPENAI_API_KEY',
    key: 'openai_api_key',
    kind: secret(),
    default: undefined,
    group: 'Model',
    about: 'key for OpenAI or the provider at the base URL',
  }),
  anthropicApiKey: define({
    env: 'ANTHROPIC_API_KEY',
    key: 'anthropic_api_key',
    kind: secret(),
    default: undefined,
    group: 'Model',
    about: 'key for Anthropic',
  }),
  googleApiKey: define({
    env: 'GOOGLE_GENERATIVE_AI_API_KEY',
    key: 'google_generative_ai_api_key',
    kind: secret(),
    default: undefined,
    group: 'Model',
    about: 'key for Google',
  }),
  prices: define({
    env: 'TALARIA_PRICES',
    key: 'prices',
    kind: prices(),
    default: new Map() as Prices,
    defaultText: 'none',
    group: 'Model',
    about:
      'what models cost, in US dollars per million tokens: `{"gpt-5": {"input": 1.25, "cached": 0.125, "output": 10}}`; runs of a model with a price show their `cost`',
  }),
  contextTokens: define({
    env: 'TALARIA_CONTEXT_TOKENS',
    key: 'context_tokens',
    kind: integer({ min: 0, max: 1_000_000_000 }),
    default: 128_000,
    group: 'Model',
    about:
      'how much of a conversation the model gets, in estimated tokens; the server leaves out the oldest messages, and none with 0',
  }),
  modelRetries: define({
    env: 'TALARIA_MODEL_RETRIES',
    key: 'model_retries',
    kind: integer({ min: 0, max: 100 }),
    default: 4,
    group: 'Model',
    about: 'how often the server retries a model call after a temporary failure',
  }),
  modelIdleSeconds: define({
    env: 'TALARIA_MODEL_IDLE_SECONDS',
    key: 'model_idle_seconds',
    kind: integer({ min: 1, max: 86_400 }),
    default: 600,
    group: 'Model',
    about: 'timeout of a silent model call; the server retries the call if it has shown nothing of it',
  }),
  instructions: define({
    env: 'TALARIA_INSTRUCTIONS',
    key: 'instructions',
    kind: string({ multiline: true, maxChars: 100_000 }),
    default: undefined,
    defaultText: 'the built-in prompt',
    group: 'Model',
    about: "the agent's system prompt, in place of the built-in one",
  }),
  clientModelSettings: define({
    env: 'TALARIA_CLIENT_MODEL_SETTINGS',
    key: 'client_model_settings',
    kind: choices(MODEL_SETTING_NAMES),
    // A service tier is a price, so the operator chooses it.
    default: MODEL_SETTING_NAMES.filter((name) => name !== 'service_tier'),
    group: 'Model',
    about: 'settings of the model that clients may set; the server ignores any others',
  }),
};
