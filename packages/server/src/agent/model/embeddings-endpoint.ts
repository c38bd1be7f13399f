/**
 * Where embeddings are made: at the provider of the model, where that speaks OpenAI's dialect. The rules of create-model.ts
 * decide which provider it is. Any other has no such route, or one with other words.
 */
import type { ModelSettings } from './create-model.ts';

const OPENAI_URL = 'https://api.openai.com/v1';

export type EmbeddingsEndpoint =
  | { url: string; apiKey: string | undefined }
  /** Why there is none, for whoever asks. */
  | { unavailable: string };

export function embeddingsEndpoint(settings: ModelSettings): EmbeddingsEndpoint {
  const [model, baseUrl, apiKey] = [settings.model, settings.baseUrl, settings.apiKey].map((value) =>
    value?.trim(),
  );
  if (baseUrl) return { url: toUrl(baseUrl), apiKey: apiKey || undefined };
  const provider = providerOf(model, settings);
  if (provider === 'openai') return { url: toUrl(settings.providerUrls?.openai ?? OPENAI_URL), apiKey };
  const reason =
    provider === 'demo' ? 'its model is the built-in demo model' : `the provider of its model is ${provider}`;
  return {
    unavailable:
      `This server makes no embeddings: ${reason}. ` +
      'They are there with OPENAI_BASE_URL set to an OpenAI-compatible provider, or with a model of OpenAI',
  };
}

function providerOf(model: string | undefined, settings: ModelSettings): string {
  if (model) {
    const slash = model.indexOf('/');
    if (model === 'demo') return 'demo';
    return slash === -1 ? 'openai' : model.slice(0, slash);
  }
  if (settings.apiKey) return 'openai';
  if (settings.anthropicApiKey) return 'anthropic';
  return settings.googleApiKey ? 'google' : 'demo';
}

function toUrl(base: string): string {
  return `${base.replace(/\/+$/, '')}/embeddings`;
}
