/** The model the settings name. Settings that name none are a mistake in the configuration. */
import { createModel } from './agent/model/create-model.ts';
import type { Model } from './agent/model/model.ts';
import { type Config, ConfigError } from './config/index.ts';

export function configuredModel(config: Config): Model {
  try {
    return createModel({
      model: config.model,
      baseUrl: config.openaiBaseUrl,
      apiKey: config.openaiApiKey,
      anthropicApiKey: config.anthropicApiKey,
      googleApiKey: config.googleApiKey,
    });
  } catch (error) {
    throw new ConfigError([(error as Error).message]);
  }
}
