/** The settings that decide about the model and its provider. */
import type { ModelSettings } from '../agent/model/create-model.ts';
import type { Config } from '../config/index.ts';

export function modelSettings(config: Config): ModelSettings {
  return {
    model: config.model,
    baseUrl: config.openaiBaseUrl,
    apiKey: config.openaiApiKey,
    anthropicApiKey: config.anthropicApiKey,
    googleApiKey: config.googleApiKey,
  };
}
