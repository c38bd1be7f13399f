import { describe, expect, it } from 'vitest';
import { prices } from './prices.ts';

const CONTEXT = { homeDir: '/', baseDir: '/', env: {} };
const read = (json: unknown) => prices().fromJson(json, CONTEXT);

describe('the setting prices', () => {
  it('is an object of prices by model, from text and from JSON', () => {
    const given = { 'openai/gpt': { input: 1.25, cached: 0.125, output: 10 }, free: { input: 0, output: 0 } };
    const value = new Map(Object.entries(given));
    expect(read(given)).toEqual({ value });
    expect(prices().fromText(JSON.stringify(given), CONTEXT)).toEqual({ value });
    expect(JSON.parse(prices().format(value))).toEqual(given);
  });

  it.each<[unknown, string]>([
    [[], ''],
    [{ '': { input: 1, output: 1 } }, 'must be a name'],
    [{ a: 1 }, '"a" must be an object'],
    [{ a: { input: 1 } }, "needs 'input' and 'output'"],
    [{ a: { input: -1, output: 1 } }, 'at least 0'],
    [{ a: { input: 1, output: 1, cached: '0' } }, 'numbers'],
    [{ a: { input: 1, output: 1, in: 1 } }, 'unknown field "in"'],
  ])('refuses %j', (json, reason) => {
    expect(read(json)).toEqual({ refused: expect.stringContaining(reason) });
  });

  it('is refused as text that is not JSON', () => {
    expect(prices().fromText('{', CONTEXT)).toEqual({ refused: 'it is not valid JSON' });
  });
});
