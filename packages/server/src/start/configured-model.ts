/** The configured model. Settings that name none are a configuration error. */
import { createModel } from '../agent/model/create-model.ts';
import type { Model } from '../agent/model/model.ts';
import { type Config, ConfigError } from '../config/index.ts';
import { modelSettings } from './model-settings.ts';

export function configuredModel(config: Config): Model {
  try {
    return createModel(modelSettings(config));
  } catch (error) {
    throw new ConfigError([(error as Error).message]);
  }
}
