import { expect, test } from 'vitest';
import { createModel, type ModelSettings } from './create-model.ts';
import { embeddingsEndpoint } from './embeddings-endpoint.ts';

test.each<[ModelSettings, string]>([
  [{ baseUrl: 'http://127.0.0.1:11434/v1' }, 'http://127.0.0.1:11434/v1/embeddings'],
  [{ baseUrl: 'http://127.0.0.1:11434/v1/', model: 'anthropic/x' }, 'http://127.0.0.1:11434/v1/embeddings'],
  [{ apiKey: 'k' }, 'https://api.openai.com/v1/embeddings'],
  [{ apiKey: 'k', model: 'gpt-x', anthropicApiKey: 'a' }, 'https://api.openai.com/v1/embeddings'],
  [{ apiKey: 'k', model: 'openai/gpt-x' }, 'https://api.openai.com/v1/embeddings'],
])('%j has a provider that makes embeddings', (settings, url) => {
  expect(embeddingsEndpoint(settings)).toEqual({ url, apiKey: settings.apiKey });
});

test.each<[ModelSettings, RegExp]>([
  [{}, /demo model/],
  [{ model: 'demo', apiKey: 'k' }, /demo model/],
  [{ anthropicApiKey: 'a' }, /anthropic/],
  [{ googleApiKey: 'g' }, /google/],
  [{ apiKey: 'k', model: 'anthropic/claude', anthropicApiKey: 'a' }, /anthropic/],
])('%j has none, and says why', (settings, reason) => {
  expect(embeddingsEndpoint(settings)).toEqual({ unavailable: expect.stringMatching(reason) });
});

test.each<ModelSettings>([
  {},
  { apiKey: 'k' },
  { anthropicApiKey: 'a', googleApiKey: 'g' },
  { googleApiKey: 'g' },
  { apiKey: 'k', model: 'gpt-x' },
  { baseUrl: 'http://127.0.0.1/v1', model: 'google/x' },
])('%j has the provider that the model has', (settings) => {
  const makesEmbeddings = 'url' in embeddingsEndpoint(settings);
  expect(/^openai/.test(createModel(settings).name)).toBe(makesEmbeddings);
});
