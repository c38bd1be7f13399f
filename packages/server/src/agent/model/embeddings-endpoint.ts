/**
 * Where to get embeddings: from the provider of the model, if it speaks OpenAI's dialect. The rules in create-model.ts
 * decide which provider that is. Other providers have no such route, or one of another form.
 */
import type { ModelSettings } from './create-model.ts';

const OPENAI_URL = 'https://api.openai.com/v1';

export type EmbeddingsEndpoint =
  | { url: string; apiKey: string | undefined }
  /** Why there are none, for the error message. */
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
      'Set OPENAI_BASE_URL to an OpenAI-compatible provider, or use a model of OpenAI',
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
