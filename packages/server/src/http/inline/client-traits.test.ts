import { expect, test } from 'vitest';
import {
  expectsOlderItems,
  hasNamedFrames,
  readsErrorsAlone,
  refusesUnknownItems,
  restartsStreams,
} from './client-traits.ts';

test.each([
  'OpenAI/Python 1.93.0',
  'AsyncOpenAI/Python 1.40.0',
  'AzureOpenAI/Python 2.0.0',
  'OpenAI/JS 4.104.0',
  'langchainjs-openai/1.0.0 ((node/v24; linux))',
  'ai-sdk-openai/4.0.114 ai-sdk-provider-utils/5.0.79 node.js/24',
  'Go-http-client/1.1',
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
  expect(readsErrorsAlone({ 'user-agent': 'node' }), 'version 4').toBe(true);
  expect(readsErrorsAlone({ 'user-agent': 'OpenAI/JS 7.0.0' })).toBe(false);
});

const AI_SDK_5 = 'ai/5.0.277 ai-sdk/provider-utils/3.0.40 runtime/node.js/v24.0.0';
const AI_SDK_6 = 'ai/6.0.326 ai-sdk/provider-utils/4.0.66 runtime/node.js/v24.0.0';

test('only version 5 of the AI SDK refuses items that it does not know', () => {
  expect(refusesUnknownItems({ 'user-agent': AI_SDK_5 })).toBe(true);
  expect(refusesUnknownItems({ 'user-agent': AI_SDK_6 })).toBe(false);
  expect(refusesUnknownItems({})).toBe(false);
});

test('the AI SDK and Codex start failed streams again', () => {
  expect(restartsStreams({ 'user-agent': AI_SDK_6 })).toBe(true);
  expect(restartsStreams({ 'user-agent': 'codex_exec/0.169.0 (Debian 12.0.0; x86_64) xterm' })).toBe(true);
  expect(restartsStreams({ 'user-agent': 'OpenAI/Python 3.49.0' })).toBe(false);
});

test('Hermes clients expect the older items, also the gem, which sends no header of its own', () => {
  expect(expectsOlderItems({ 'x-hermes-session-id': 'talk' })).toBe(true);
  expect(expectsOlderItems({ 'user-agent': 'http.rb/6.0.0' })).toBe(true);
  expect(expectsOlderItems({ 'user-agent': 'OpenAI/Python 3.49.0' })).toBe(false);
});
