import { expect, test } from 'vitest';
import { hasNamedFrames } from './frame-style.ts';

test.each([
  'OpenAI/Python 1.93.0',
  'AsyncOpenAI/Python 1.40.0',
  'AzureOpenAI/Python 2.0.0',
  'OpenAI/JS 4.104.0',
  'langchainjs-openai/1.0.0 ((node/v24; linux))',
  'ai/6.0.1 ai-sdk/openai/3.0.0 runtime/node.js/24',
])('%s is given no names', (agent) => {
  expect(hasNamedFrames({ 'user-agent': agent })).toBe(false);
  expect(hasNamedFrames({ 'user-agent': agent, 'x-hermes-session-id': 'talk' })).toBe(true);
});

test.each(['http.rb/5.2.0', 'curl/8.0', 'Python/3.11 aiohttp/3.10', undefined])(
  '%s is given names',
  (agent) => {
    expect(hasNamedFrames(agent === undefined ? {} : { 'user-agent': agent })).toBe(true);
  },
);
