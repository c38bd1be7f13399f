/**
 * A long session with many deaths of the server: each turn is in the transcript once and in order, and so is its
 * context.
 */
import type { SessionMessageList } from '@talaria/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ModelServer, script, startModelServer } from '../support/model-server.ts';
import { textOf } from '../support/model-server-script.ts';
import { KillableServer, type Moment } from './killable-server.ts';

const TEST_LIMIT_MS = 300_000;

/** One turn for each, around the points where a turn joins the transcript and where its context is fixed. */
const MOMENTS: (Moment | undefined)[] = [
  'run.after-create',
  'run.after-claim',
  undefined,
  'step.after-append',
  'run.before-terminal',
  'run.after-terminal',
  undefined,
  'journal.before-commit@6',
  'journal.after-commit@3',
];

let model: ModelServer;
beforeAll(async () => {
  model = await startModelServer();
});
afterAll(() => model.close());

test('a turn joins the transcript once, whenever the server dies', {
  timeout: TEST_LIMIT_MS,
  tags: ['soak'],
}, async () => {
  await using server = new KillableServer({
    modelUrl: model.url,
    env: { API_SERVER_KEY: 'sk-chaos-session' },
  });
  const session_id = 'long';
  const command = (i: number) => ({
    name: 'todo',
    arguments: { todos: [{ content: `${i}`, status: 'pending' }] },
  });
  const prompts = MOMENTS.map((_, i) => script([{ tools: [command(i)] }, { text: `answer ${i}` }]));

  await server.start();
  for (const [i, moment] of MOMENTS.entries()) {
    if (moment !== undefined) await server.killAndStart(moment);
    const turn = server.create(prompts[i]!, { session_id }).then((runId) => server.follow(runId));
    if (moment !== undefined) {
      await server.diesByItself(moment);
      await server.start();
    }
    expect((await turn).at(-1)).toMatchObject({ event: 'run.completed', output: `answer ${i}` });
  }

  const path = `/api/sessions/${session_id}/messages?limit=200`;
  const { body } = await server.api.get<SessionMessageList>(path);
  const said = body.data.map(({ role, content }) => [role, role === 'tool' ? '' : (content ?? '')]);
  const expected = prompts.flatMap((prompt, i) => [
    ['user', prompt],
    ['assistant', ''],
    ['tool', ''],
    ['assistant', `answer ${i}`],
  ]);
  expect(said).toEqual(expected);

  const last = script([{ text: 'the end' }]);
  await server.follow(await server.create(last, { session_id }));
  const request = await model.waitForRequest(({ body }) => textOf(body.messages.at(-1)!) === last);
  const given = request.body.messages.slice(1, -1);
  expect(given.map((message) => [message.role, message.role === 'tool' ? '' : textOf(message)])).toEqual(
    expected,
  );
});
