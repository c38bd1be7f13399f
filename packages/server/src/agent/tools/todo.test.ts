import { InvalidArguments } from '@talaria/sandbox/tools';
import { expect, test } from 'vitest';
import { applyTodos, describePlan, planOf, type Todo, todo } from './todo.ts';
import type { PastCall } from './tool.ts';

const entry = (id: string, status: Todo['status'] = 'pending', content = `do ${id}`): Todo => ({
  id,
  content,
  status,
});
const call = (args: unknown, failed = false, tool = 'todo'): PastCall => ({
  tool,
  arguments: typeof args === 'string' ? args : JSON.stringify(args),
  failed,
  output: '',
});

test('a list replaces the plan; merging changes what it names, keeps the order and adds at the end', () => {
  const plan = applyTodos([], { todos: [entry('a'), entry('b')] });
  expect(applyTodos(plan, { todos: [entry('c')] })).toEqual([entry('c')]);
  expect(applyTodos(plan, { todos: [{ id: 'a', status: 'completed' }, entry('c')], merge: true })).toEqual([
    entry('a', 'completed'),
    entry('b'),
    entry('c'),
  ]);
  expect(applyTodos(plan, {})).toEqual(plan);
  expect(applyTodos(plan, { todos: [] })).toEqual([]);
});

test.each([
  [{ todos: [entry('a'), entry('a')] }, /'a' comes twice/],
  [{ todos: [{ id: 'a', status: 'pending' as const }] }, /'a' is new and must have both/],
  [{ todos: [{ id: 'x', content: 'y' }], merge: true }, /'x' is new/],
])('%j is refused', (args, words) => {
  expect(() => applyTodos([entry('b')], args)).toThrow(InvalidArguments);
  expect(() => applyTodos([entry('b')], args)).toThrow(words);
});

test('the plan never grows over its limit', () => {
  const many = Array.from({ length: 100 }, (_, index) => entry(`${index}`));
  expect(() => applyTodos(many, { todos: [entry('more')], merge: true })).toThrow(/101 entries/);
});

test('the plan is what the calls that did not fail make of it', () => {
  const calls = [
    call({ todos: [entry('a')] }),
    call({ todos: [] }, true),
    call({ todos: [] }, false, 'other'),
    call('{"todos": ['),
    call({ todos: 'none' }),
    call({ todos: [{ id: 'new' }], merge: true }),
    call({ todos: [{ id: 'a', status: 'in_progress' }], merge: true }),
    call({}),
  ];
  expect(planOf(calls)).toEqual([entry('a', 'in_progress')]);
});

test('the model reads counts and entries', async () => {
  expect(describePlan([])).toBe('The plan is empty.');
  expect(describePlan([entry('a', 'completed'), entry('b', 'in_progress'), entry('c'), entry('d')])).toBe(
    'The plan: 2 pending, 1 in_progress, 1 completed.\n[x] a: do a\n[>] b: do b\n[ ] c: do c\n[ ] d: do d',
  );
  const given = { todos: [{ id: 'b' }], merge: true };
  const signal = new AbortController().signal;
  const empty = todo.prepare(given, () => []);
  expect(empty.preview).toBe('1 todo');
  expect(await empty.execute(signal)).toMatchObject({ isError: true });
  const after = todo.prepare(given, () => [call({ todos: [entry('b')] })]);
  expect(await after.execute(signal)).toEqual({
    output: 'The plan: 1 pending.\n[ ] b: do b',
    isError: false,
  });
});
