import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { createModel, type ModelSettings } from './create-model.ts';

describe('which model the settings select', () => {
  const url = 'http://127.0.0.1:1/v1';
  test.each<[ModelSettings, string]>([
    [{}, 'demo/commands'],
    [{ model: '', baseUrl: '', apiKey: '' }, 'demo/commands'],
    [{ model: 'demo', apiKey: 'k' }, 'demo/commands'],
    [{ baseUrl: url }, 'openai-compatible/default'],
    [{ baseUrl: url, model: 'llama3' }, 'openai-compatible/llama3'],
    [{ baseUrl: url, model: 'meta-llama/Llama-3' }, 'openai-compatible/meta-llama/Llama-3'],
    [
      { baseUrl: url, model: 'anthropic/claude-sonnet-4', anthropicApiKey: 'k' },
      'openai-compatible/anthropic/claude-sonnet-4',
    ],
    [{ model: 'openai/gpt-5', apiKey: 'k' }, 'openai/gpt-5'],
    [{ model: 'gpt-5', apiKey: 'k' }, 'openai/gpt-5'],
    [{ model: 'openai/ft:gpt-4o:org/x', apiKey: 'k' }, 'openai/ft:gpt-4o:org/x'],
    [{ model: 'anthropic/claude-sonnet-4-5', anthropicApiKey: 'k' }, 'anthropic/claude-sonnet-4-5'],
    [{ model: 'google/gemini-2.5-flash', googleApiKey: 'k' }, 'google/gemini-2.5-flash'],
    [{ apiKey: 'k', anthropicApiKey: 'k' }, 'openai/gpt-5.4-mini'],
    [{ anthropicApiKey: 'k' }, 'anthropic/claude-sonnet-5'],
    [{ googleApiKey: 'k' }, 'google/gemini-3.5-flash'],
  ])('%j', (settings, name) => {
    expect(createModel(settings).name).toBe(name);
  });

  test.each<[ModelSettings, RegExp]>([
    [{ model: 'mistral/large', apiKey: 'k' }, /openai\/<model>, anthropic\/<model>, google\/<model> or demo/],
    [{ model: 'toString/x' }, /OPENAI_BASE_URL/],
    [{ model: 'anthropic/' }, /anthropic\/<model>/],
    [{ model: 'openai/gpt-5' }, /set OPENAI_API_KEY/],
    [{ model: 'anthropic/claude', apiKey: 'k' }, /set ANTHROPIC_API_KEY/],
    [{ model: 'google/gemini', apiKey: ' ' }, /set GOOGLE_GENERATIVE_AI_API_KEY/],
    [{ baseUrl: 'localhost:1234/v1' }, /OPENAI_BASE_URL must be an http or https URL/],
  ])('%j is refused with advice', (settings, message) => {
    expect(() => createModel(settings)).toThrow(message);
  });
});

test('creating a model of any provider loads no SDK', async () => {
  const program = `
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
    const { createModel } = await import(${JSON.stringify(import.meta.resolve('./create-model.ts'))});
    createModel({ baseUrl: 'http://127.0.0.1:1/v1' });
    for (const model of ['openai/x', 'anthropic/x', 'google/x']) {
      createModel({ model, apiKey: 'k', anthropicApiKey: 'k', googleApiKey: 'k' });
    }
    console.log(JSON.stringify(loaded.filter((url) => url.startsWith('file:'))));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
  const loaded = JSON.parse(stdout) as string[];
  expect(loaded.some((url) => url.endsWith('/ai-sdk-model.ts'))).toBe(true);
  expect(loaded.filter((url) => url.includes('/node_modules/'))).toEqual([]);
});
