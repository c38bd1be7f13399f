import { expect, it } from 'vitest';
import { load } from './testing/load.ts';

const ENDPOINT = { OPENAI_BASE_URL: 'http://127.0.0.1:11434/v1' };

it('a base URL without the name of a model is a warning', () => {
  expect(load({ env: ENDPOINT }).warnings).toEqual([
    'OPENAI_BASE_URL is set and TALARIA_MODEL is not: the server asks for the model "default", which only servers of a ' +
      'single model take; name a model of that endpoint',
  ]);
  expect(load({ env: { ...ENDPOINT, TALARIA_MODEL: 'qwen3' } }).warnings).toEqual([]);
});

it('a server that only serves clients needs no model, and gets no warning about it', () => {
  const env = {
    ...ENDPOINT,
    TALARIA_ROLE: 'http',
    TALARIA_DATABASE_URL: 'postgres://db.example.com/talaria',
  };
  expect(load({ env }).warnings).toEqual([]);
});
