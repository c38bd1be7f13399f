/**
 * Settings → the model of the server.
 *
 * The first rule that applies decides:
 * 1. `baseUrl` (OPENAI_BASE_URL) is set: that OpenAI-compatible endpoint. The whole of `model` is the name of the
 *    model there, whatever it looks like: gateways have models called `anthropic/claude-…` or
 *    `meta-llama/Llama-3`. Without `model` the name sent is `default`, which servers of a single model ignore.
 * 2. `model` is `demo`: the demo model.
 * 3. `model` is `provider/name` with a provider from the table below: that provider, which must have its key.
 *    A name without a slash is a model of OpenAI.
 * 4. A key is set, but no `model`: that provider with a default model, OpenAI first.
 * 5. Nothing is set: the demo model.
 * Anything else is a configuration error and throws here, at start, with what to change.
 *
 * Importing this file and creating a model loads no SDK; the provider's package is imported by the first step.
 * Keys and URLs always come from the settings: they are passed on explicitly, because the packages would otherwise
 * read the environment themselves.
 */
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { patientFetch } from '../../network/patient-fetch.ts';
import { Secrets } from '../../secrets/secrets.ts';
import { AiSdkModel, partsOf } from './ai-sdk-model.ts';
import {
  ANTHROPIC_DIALECT,
  COMPATIBLE_DIALECT,
  GOOGLE_DIALECT,
  OPENAI_DIALECT,
  type ProviderDialect,
} from './call-settings.ts';
import { chatCompletions } from './chat-completions.ts';
import { DemoModel } from './demo-model.ts';
import type { Model } from './model.ts';

type Fetch = typeof globalThis.fetch;

export interface ModelSettings {
  /** TALARIA_MODEL */
  model?: string | undefined;
  /** OPENAI_BASE_URL */
  baseUrl?: string | undefined;
  /** OPENAI_API_KEY: for OpenAI and for `baseUrl` */
  apiKey?: string | undefined;
  /** ANTHROPIC_API_KEY */
  anthropicApiKey?: string | undefined;
  /** GOOGLE_GENERATIVE_AI_API_KEY */
  googleApiKey?: string | undefined;
  /** Replaces the public URLs of the named providers: a proxy, or a test server. */
  providerUrls?: { openai?: string; anthropic?: string; google?: string } | undefined;
}

type ProviderName = 'openai' | 'anthropic' | 'google';

interface Provider {
  keyName: string;
  key: (settings: ModelSettings) => string | undefined;
  url: string;
  defaultModel: string;
  load: (
    options: { apiKey: string; baseURL: string; fetch: Fetch },
    model: string,
  ) => Promise<LanguageModelV4>;
  dialect: ProviderDialect;
}

const PROVIDERS: Record<ProviderName, Provider> = {
  openai: {
    keyName: 'OPENAI_API_KEY',
    key: (settings) => settings.apiKey,
    url: 'https://api.openai.com/v1',
    defaultModel: 'gpt-5.4-mini',
    load: async (options, model) => (await import('@ai-sdk/openai')).createOpenAI(options).responses(model),
    dialect: OPENAI_DIALECT,
  },
  anthropic: {
    keyName: 'ANTHROPIC_API_KEY',
    key: (settings) => settings.anthropicApiKey,
    url: 'https://api.anthropic.com/v1',
    defaultModel: 'claude-sonnet-5',
    load: async (options, model) => (await import('@ai-sdk/anthropic')).createAnthropic(options)(model),
    dialect: ANTHROPIC_DIALECT,
  },
  google: {
    keyName: 'GOOGLE_GENERATIVE_AI_API_KEY',
    key: (settings) => settings.googleApiKey,
    url: 'https://generativelanguage.googleapis.com/v1beta',
    defaultModel: 'gemini-3.5-flash',
    load: async (options, model) => (await import('@ai-sdk/google')).createGoogle(options)(model),
    dialect: GOOGLE_DIALECT,
  },
};

export function createModel(settings: ModelSettings = {}): Model {
  const model = settings.model?.trim();
  const baseUrl = settings.baseUrl?.trim();
  if (baseUrl) return compatibleModel(baseUrl, model || 'default', settings);
  if (model === 'demo') return new DemoModel();
  if (model) return namedModel(model, settings);

  const names = Object.keys(PROVIDERS) as ProviderName[];
  const withKey = names.find((name) => PROVIDERS[name].key(settings));
  return withKey ? providerModel(withKey, PROVIDERS[withKey].defaultModel, settings) : new DemoModel();
}

function namedModel(model: string, settings: ModelSettings): Model {
  const slash = model.indexOf('/');
  const provider = slash === -1 ? 'openai' : model.slice(0, slash);
  const name = model.slice(slash + 1);
  if (!isProviderName(provider) || name === '') {
    throw new Error(
      `TALARIA_MODEL is '${model}', but without OPENAI_BASE_URL it must be openai/<model>, anthropic/<model>, ` +
        'google/<model> or demo. For any other provider set OPENAI_BASE_URL to its OpenAI-compatible endpoint.',
    );
  }
  return providerModel(provider, name, settings);
}

function providerModel(name: ProviderName, model: string, settings: ModelSettings): Model {
  const provider = PROVIDERS[name];
  const apiKey = provider.key(settings)?.trim();
  if (!apiKey) throw new Error(`The model ${name}/${model} needs a key: set ${provider.keyName}.`);
  const baseURL = settings.providerUrls?.[name] ?? provider.url;
  return new AiSdkModel({
    name: `${name}/${model}`,
    load: async () => partsOf(await provider.load({ apiKey, baseURL, fetch: patientFetch }, model)),
    secrets: new Secrets([apiKey]),
    dialect: provider.dialect,
  });
}

function compatibleModel(baseUrl: string, model: string, settings: ModelSettings): Model {
  const protocol = URL.parse(baseUrl)?.protocol;
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new Error('OPENAI_BASE_URL must be an http or https URL, such as http://127.0.0.1:11434/v1.');
  }
  const apiKey = settings.apiKey?.trim();
  return new AiSdkModel({
    name: `openai-compatible/${model}`,
    load: () =>
      chatCompletions({ baseUrl, model, apiKey: apiKey || undefined, optionsKey: COMPATIBLE_DIALECT.name }),
    secrets: new Secrets(apiKey ? [apiKey] : []),
    dialect: COMPATIBLE_DIALECT,
  });
}

function isProviderName(name: string): name is ProviderName {
  return Object.hasOwn(PROVIDERS, name);
}
