/** Answers with a requested format: checked against the client's schema, retried, or failed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Api } from '../support/api.ts';
import { script } from '../support/model-server.ts';
import { endsAs, ofKind, ServerWithModel, shownText, terminal } from './server-with-model.ts';

const PERSON = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer', minimum: 0 } },
  required: ['name', 'age'],
  additionalProperties: false,
};

let world: ServerWithModel;
let api: Api;

beforeAll(async () => {
  world = await ServerWithModel.start();
  api = world.api;
});
afterAll(() => world[Symbol.asyncDispose]());

const start = (prompt: string, schema: unknown = PERSON) => api.create(prompt, { output_schema: schema });

test('an answer that satisfies the schema is available as text and as a value', async () => {
  const runId = await start(script([{ text: '{"name": "Ada", "age": 36}' }]));
  const end = await endsAs(api, runId, 'run.completed');
  expect(end).toMatchObject({
    output: '{"name": "Ada", "age": 36}',
    output_parsed: { name: 'Ada', age: 36 },
  });
  expect(await api.run(runId)).toMatchObject({ output_parsed: { name: 'Ada', age: 36 } });
  expect(shownText(end.frames)).toBe('{"name": "Ada", "age": 36}');
  expect(JSON.stringify(world.model.requests.at(-1)!.body.messages[0])).toContain('additionalProperties');
});

test('a code fence around it is removed', async () => {
  const runId = await start(script([{ text: '```json\n{"name": "Ada", "age": 36}\n```' }]));
  expect(await endsAs(api, runId, 'run.completed')).toMatchObject({ output: '{"name": "Ada", "age": 36}' });
});

test('one that does not is retried, with the problem, and never shown', async () => {
  const runId = await start(
    script([
      { tools: [terminal('echo hi')], text: 'Let me look' },
      { text: 'Ada is 36' },
      { text: '{"name": "Ada", "age": -1}' },
      { text: '{"name": "Ada", "age": 36}' },
    ]),
  );
  const { frames, output_parsed, usage } = await endsAs(api, runId, 'run.completed');
  expect(output_parsed).toEqual({ name: 'Ada', age: 36 });
  expect(ofKind(frames, 'message.delta')).toHaveLength(1);
  const told = JSON.stringify(world.model.requests.at(-1)!.body.messages);
  expect(told).toContain('it is not JSON');
  expect(told).toContain('/age must be >= 0');
  expect(usage.total_tokens).toBe(4 * 15);
});

test('after two retries the run has failed, and says what is wrong', async () => {
  const runId = await start(script([{ text: 'no' }, { text: 'no' }, { text: 'no' }, { text: '{}' }]));
  const { error_code, error } = await endsAs(api, runId, 'run.failed');
  expect(error_code).toBe('invalid_output');
  expect(error).toContain('it is not JSON');
});

test('a regular expression that would run for hours fails the answer, and nothing else', async () => {
  const schema = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
  const runId = await start(script([{ text: JSON.stringify({ a: `${'a'.repeat(60)}!` }) }]), schema);
  expect(await endsAs(api, runId, 'run.failed')).toMatchObject({ error_code: 'invalid_output' });
});

test.each([['x'], [7], [[]], [{ type: 'string', pattern: '(' }]])('%j is not a schema', async (schema) => {
  const answer = await api.post('/v1/runs', { input: 'hi', output_schema: schema });
  expect(answer).toMatchObject({ status: 400, body: { error: { code: 'invalid_output_schema' } } });
});
