/** The plan of a run is part of its conversation: the next server finds it there. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { HostedServer } from '../support/hosted-server.ts';
import { script } from '../support/model-server.ts';
import { call, inTurn, play, toldOf } from './played-run.ts';
import { endsAs, ServerWithModel } from './server-with-model.ts';

let world: ServerWithModel<HostedServer>;
beforeAll(async () => {
  world = await ServerWithModel.start();
});
afterAll(() => world[Symbol.asyncDispose]());

const todo = (args: Record<string, unknown>) => call('todo', args);
const PLAN = {
  todos: [
    { id: 'look', content: 'Look around', status: 'in_progress' },
    { id: 'act', content: 'Do it', status: 'pending' },
  ],
};

test('a plan is made, changed and read; two changes in one step both count', async () => {
  const { started, completed, told } = await play(
    world,
    { tools: [todo({}), todo(PLAN)] },
    {
      tools: [
        todo({ merge: true, todos: [{ id: 'look', status: 'completed' }] }),
        todo({ merge: true, todos: [{ id: 'tell', content: 'Tell', status: 'pending' }] }),
      ],
    },
    ...inTurn(todo({})),
  );
  expect(started.map(({ preview }) => preview)).toEqual([
    'the plan',
    '2 todos',
    '1 todo',
    '1 todo',
    'the plan',
  ]);
  expect(completed.every(({ error }) => !error)).toBe(true);
  expect(told[0]!.content).toBe('The plan is empty.');
  expect(told[4]!.content).toBe(
    'The plan: 2 pending, 1 completed.\n[x] look: Look around\n[ ] act: Do it\n[ ] tell: Tell',
  );
});

test('a wrong plan is answered to the model and changes nothing', async () => {
  const { completed, told } = await play(
    world,
    ...inTurn(
      todo(PLAN),
      todo({ todos: [{ id: 'x', content: 'y', status: 'done' }] }),
      todo({ todos: [{ content: 'y' }] }),
      todo({ todos: [{ id: 'new', status: 'pending' }], merge: true }),
      todo({ todos: [PLAN.todos[0], PLAN.todos[0]] }),
      todo({ todo: [] }),
      todo({}),
    ),
  );
  expect(completed.map(({ error }) => error)).toEqual([false, true, true, true, true, true, false]);
  expect(told[1]!.content).toMatch(/'todos\[0\]\.status' must be one of pending, .*not "done"[\s\S]*Example/);
  expect(told[2]!.content).toMatch(/'todos\[0\]\.id' must be/);
  expect(told[3]!.content).toMatch(/'new' is new and must have both/);
  expect(told[4]!.content).toMatch(/'look' comes twice/);
  expect(told[5]!.content).toMatch(/'todo' is not an argument; there are todos, merge/);
  expect(told[6]!.content).toBe(told[0]!.content);
});

test('two runs have two plans', async () => {
  await play(world, ...inTurn(todo(PLAN)));
  const { told } = await play(world, ...inTurn(todo({})));
  expect(told[0]!.content).toBe('The plan is empty.');
});

test('the plan survives a restart', async () => {
  const gate = 'after the restart';
  const prompt = script([
    { tools: [todo(PLAN)] },
    { gate, tools: [todo({ merge: true, todos: [{ id: 'look', status: 'completed' }] })] },
    { tools: [todo({})] },
    { text: 'done' },
  ]);
  const runId = await world.api.create(prompt);
  await world.model.waitingAt(gate);
  await world.server.restart();
  world.model.open(gate);
  await endsAs(world.api, runId, 'run.completed');
  expect(toldOf(world, prompt)[2]!.content).toBe(
    'The plan: 1 pending, 1 completed.\n[x] look: Look around\n[ ] act: Do it',
  );
});
