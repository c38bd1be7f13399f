import { expect, test } from 'vitest';
import { hasNamedFrames, readsErrorsAlone } from './client-traits.ts';

test.each([
  'OpenAI/Python 1.93.0',
  'AsyncOpenAI/Python 1.40.0',
  'AzureOpenAI/Python 2.0.0',
  'OpenAI/JS 4.104.0',
  'langchainjs-openai/1.0.0 ((node/v24; linux))',
  'ai-sdk-openai/4.0.114 ai-sdk-provider-utils/5.0.79 node.js/24',
])('%s gets no event names', (agent) => {
  expect(hasNamedFrames({ 'user-agent': agent })).toBe(false);
  expect(hasNamedFrames({ 'user-agent': agent, 'x-hermes-session-id': 'talk' })).toBe(true);
});

test.each(['http.rb/5.2.0', 'curl/8.0', 'Python/3.11 aiohttp/3.10', undefined])(
  '%s gets event names',
  (agent) => {
    expect(hasNamedFrames(agent === undefined ? {} : { 'user-agent': agent })).toBe(true);
  },
);

test('a client made by OpenAI’s generator gets no event names either', () => {
  expect(hasNamedFrames({ 'x-stainless-lang': 'js' })).toBe(false);
});

test('only the AI SDK gets an error without a chunk', () => {
  expect(
    readsErrorsAlone({ 'user-agent': 'ai-sdk-openai/4.0.114 ai-sdk-provider-utils/5.0.79 node.js/24' }),
  ).toBe(true);
  expect(readsErrorsAlone({ 'user-agent': 'OpenAI/JS 7.0.0' })).toBe(false);
});
