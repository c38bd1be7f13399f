/** The model settings of a request, under the names of every dialect. A value outside OpenAI's bounds is refused. */
import { invalid } from './fields.ts';
import type { ModelSettings } from './run.ts';

export type ModelSettingName = keyof ModelSettings;

type Read = (value: unknown, param: string) => unknown;

const number =
  (min: number, max: number): Read =>
  (value, param) => {
    if (typeof value === 'number' && value >= min && value <= max) return value;
    throw invalid(param, `'${param}' must be a number from ${min} to ${max}`);
  };

const integer =
  (min: number): Read =>
  (value, param) => {
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min) return value;
    throw invalid(param, `'${param}' must be a whole number${min > 0 ? ` of at least ${min}` : ''}`);
  };

const word: Read = (value, param) => {
  if (typeof value === 'string' && /^[a-z_-]{1,32}$/.test(value)) return value;
  throw invalid(param, `'${param}' must be a word such as low, medium or high`);
};

const STOPS_MAX = 16;

const stops: Read = (value, param) => {
  const list = typeof value === 'string' ? [value] : value;
  const fits = Array.isArray(list) && list.every((text) => typeof text === 'string' && text !== '');
  if (fits && list.length <= STOPS_MAX) return list.length === 0 ? undefined : list;
  throw invalid(param, `'${param}' must be a string or up to ${STOPS_MAX} strings`);
};

const BIASES_MAX = 1024;

const biases: Read = (value, param) => {
  const entries =
    typeof value === 'object' && !Array.isArray(value) ? Object.entries(value ?? {}) : undefined;
  const fits = entries?.every(([, bias]) => typeof bias === 'number' && bias >= -100 && bias <= 100);
  if (fits && entries!.length <= BIASES_MAX) return entries!.length === 0 ? undefined : value;
  throw invalid(param, `'${param}' must map up to ${BIASES_MAX} tokens to numbers from -100 to 100`);
};

/** For each setting: the fields it may be in (the first one present counts), and how to read it. */
const SETTINGS: Record<ModelSettingName, { paths: readonly string[]; read: Read }> = {
  temperature: { paths: ['temperature'], read: number(0, 2) },
  top_p: { paths: ['top_p'], read: number(0, 1) },
  max_output_tokens: {
    paths: ['max_output_tokens', 'max_completion_tokens', 'max_tokens'],
    read: integer(1),
  },
  stop: { paths: ['stop'], read: stops },
  seed: { paths: ['seed'], read: integer(Number.MIN_SAFE_INTEGER) },
  presence_penalty: { paths: ['presence_penalty'], read: number(-2, 2) },
  frequency_penalty: { paths: ['frequency_penalty'], read: number(-2, 2) },
  logit_bias: { paths: ['logit_bias'], read: biases },
  reasoning_effort: { paths: ['reasoning_effort', 'reasoning.effort'], read: word },
  verbosity: { paths: ['verbosity', 'text.verbosity'], read: word },
  service_tier: { paths: ['service_tier'], read: word },
};

export const MODEL_SETTING_NAMES = Object.keys(SETTINGS) as ModelSettingName[];

/** Undefined when the request sets nothing. */
export function parseModelSettings(fields: Record<string, unknown>): ModelSettings | undefined {
  const settings: Record<string, unknown> = {};
  for (const [name, { paths, read }] of Object.entries(SETTINGS)) {
    for (const path of paths) {
      const value = valueAt(fields, path);
      if (value === undefined || value === null) continue;
      const setting = read(value, path);
      if (setting !== undefined) settings[name] = setting;
      break;
    }
  }
  return Object.keys(settings).length === 0 ? undefined : settings;
}

function valueAt(fields: Record<string, unknown>, path: string): unknown {
  const [first = '', second] = path.split('.');
  const value = fields[first];
  if (second === undefined) return value;
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[second] : undefined;
}
