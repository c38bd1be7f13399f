/** A file that is a part of a message is in the workspace, and the model is told so, in every dialect. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { script } from '../support/model-server.ts';
import { ServerWithModel, terminal } from './server-with-model.ts';

let world: ServerWithModel;
beforeAll(async () => {
  world = await ServerWithModel.start();
});
afterAll(() => world[Symbol.asyncDispose]());

const DATA = `data:text/plain;base64,${Buffer.from('content of the file').toString('base64')}`;
const prompt = () => ({
  type: 'text',
  text: script([{ tools: [terminal('cat notes.txt')] }, { text: 'done' }]),
});

async function post(path: string, body: object): Promise<{ status: number; body: Record<string, unknown> }> {
  return world.api.post(path, body);
}

/** What the model was asked with, and what the tool found. */
function seen(): string {
  return JSON.stringify(world.model.requests.at(-1)!.body.messages);
}

test.each([
  [
    'chat completions',
    '/v1/chat/completions',
    () => ({
      messages: [
        {
          role: 'user',
          content: [prompt(), { type: 'file', file: { file_data: DATA, filename: 'notes.txt' } }],
        },
      ],
    }),
  ],
  [
    'responses',
    '/v1/responses',
    () => ({
      input: [
        {
          role: 'user',
          content: [prompt(), { type: 'input_file', file_data: DATA, filename: 'notes.txt' }],
        },
      ],
    }),
  ],
])('%s', async (_, path, body) => {
  const { status } = await post(path, body());
  expect(status).toBe(200);
  expect(seen()).toContain('[The file notes.txt is in the workspace. It has 19 bytes.]');
  expect(seen()).toContain('content of the file');
  expect(seen()).not.toContain(DATA.slice(-20));
});

test('a run, with a workspace of its own', async () => {
  const file = { type: 'input_file', file_data: DATA, filename: 'notes.txt' };
  const runId = await world.api.create([{ role: 'user', content: [prompt(), file] }], {
    workspace: { files: [{ path: 'other', content: '' }] },
  });
  await world.api.finish(runId);
  expect(seen()).toContain('content of the file');
  expect((await world.api.get(`/v1/runs/${runId}/artifacts/content?path=other`)).status).toBe(200);
  const run = await world.api.run(runId);
  expect(run.input).not.toContain('base64');
});

test('the history of a chat brings its files again', async () => {
  const { status } = await post('/v1/chat/completions', {
    messages: [
      { role: 'user', content: [{ type: 'file', file: { file_data: DATA, filename: 'notes.txt' } }] },
      { role: 'assistant', content: 'I have it.' },
      { role: 'user', content: [prompt()] },
    ],
  });
  expect(status).toBe(200);
  expect(seen()).toContain('content of the file');
});

test('what cannot be placed is refused, and names its part', async () => {
  const part = { type: 'input_file', file_id: `file-${'0'.repeat(32)}` };
  const answer = await post('/v1/responses', { input: [{ role: 'user', content: [part] }] });
  expect(answer).toMatchObject({
    status: 400,
    body: { error: { code: 'invalid_request', param: 'input[0].content[0]' } },
  });
  const conversation = await post('/v1/conversations', {
    items: [{ type: 'message', role: 'user', content: [{ type: 'input_file', file_data: DATA }] }],
  });
  expect(conversation).toMatchObject({ status: 400 });
});
