/** What a model costs, in US dollars per million tokens. */
import type { Usage } from '@talaria/protocol';

export interface Price {
  input: number;
  /** For input that the provider had cached; the same as other input where it is missing. */
  cached?: number | undefined;
  output: number;
}

export type Prices = ReadonlyMap<string, Price>;

const TOKENS = 1_000_000;

/** By the whole name of a model (`provider/model`), or else by its name at the provider. */
export function priceOf(prices: Prices, modelName: string): Price | undefined {
  return prices.get(modelName) ?? prices.get(modelName.slice(modelName.indexOf('/') + 1));
}

export function costOf(usage: Usage, { input, cached = input, output }: Price): number {
  const fromCache = usage.input_tokens_details?.cached_tokens ?? 0;
  return (
    ((usage.input_tokens - fromCache) * input + fromCache * cached + usage.output_tokens * output) / TOKENS
  );
}
