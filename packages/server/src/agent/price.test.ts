import { expect, test } from 'vitest';
import { costOf, priceOf } from './price.ts';

const usage = { input_tokens: 1_000_000, output_tokens: 200_000, total_tokens: 1_200_000 };

test('input and output have prices of their own, per million tokens', () => {
  expect(costOf(usage, { input: 2, output: 10 })).toBeCloseTo(4);
});

test('cached input has its own price, or that of other input', () => {
  const cached = { ...usage, input_tokens_details: { cached_tokens: 400_000 } };
  expect(costOf(cached, { input: 2, cached: 0.5, output: 10 })).toBeCloseTo(1.2 + 0.2 + 2);
  expect(costOf(cached, { input: 2, output: 10 })).toBeCloseTo(4);
});

test('a model is found by its whole name first, then by its name at the provider', () => {
  const [own, bare] = [
    { input: 1, output: 1 },
    { input: 2, output: 2 },
  ];
  const prices = new Map([
    ['openai/gpt', own],
    ['gpt', bare],
    ['org/model', bare],
  ]);
  expect(priceOf(prices, 'openai/gpt')).toBe(own);
  expect(priceOf(prices, 'openai-compatible/gpt')).toBe(bare);
  expect(priceOf(prices, 'openai-compatible/org/model')).toBe(bare);
  expect(priceOf(prices, 'demo')).toBeUndefined();
});
