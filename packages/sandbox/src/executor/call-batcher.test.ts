import { expect, onTestFinished, test, vi } from 'vitest';
import type { ExecuteOptions, ExecutionRequest, ExecutionResult, Slot } from '../backend.ts';
import { CallBatcher } from './call-batcher.ts';

interface Batch {
  tools: string[];
  containers: string[];
  timeoutS: number | undefined;
  /** Answers the request with this index before the rest. */
  answer(index: number): void;
  /** Answers all of them. */
  finish(): void;
  fail(error: Error): void;
}

function createBatcher(windowMs: number) {
  const batches: Batch[] = [];
  const executeBatch = (requests: readonly ExecutionRequest[], { timeoutS, onResult }: ExecuteOptions) => {
    const { promise, resolve, reject } = Promise.withResolvers<ExecutionResult[]>();
    const results = requests.map(([{ slotId }, tool]) => ({ slotId, output: tool }) as ExecutionResult);
    batches.push({
      tools: requests.map(([, tool]) => tool),
      containers: requests.map(([{ containerId }]) => containerId),
      timeoutS,
      answer: (index) => onResult?.(results[index] as ExecutionResult, index),
      finish: () => resolve(results),
      fail: reject,
    });
    return promise;
  };
  return { batches, batcher: new CallBatcher(executeBatch, windowMs) };
}

const slot = (containerId = 'box') => ({ slotId: `slot in ${containerId}`, containerId }) as Slot;
const turn = () => new Promise((resolve) => setImmediate(resolve));

test('calls of one turn are one batch per container and timeout', async () => {
  const { batches, batcher } = createBatcher(0);
  const calls = [
    batcher.send([slot('one'), 'a', {}], 5),
    batcher.send([slot('two'), 'b', {}], 5),
    batcher.send([slot('one'), 'c', {}], 60),
    batcher.send([slot('one'), 'd', {}], 5),
    batcher.send([slot('one'), 'e', {}], undefined),
  ];
  await turn();
  expect(batches.map(({ tools, timeoutS }) => [tools, timeoutS])).toEqual([
    [['a', 'd'], 5],
    [['c'], 60],
    [['e'], undefined],
    [['b'], 5],
  ]);
  for (const batch of batches) {
    expect(new Set(batch.containers).size).toBe(1);
    batch.finish();
  }
  expect((await Promise.all(calls)).map(({ output }) => output)).toEqual(['a', 'b', 'c', 'd', 'e']);
});

test('the first call goes out at once, those that follow within the window go out together', async () => {
  // The window ends when the test says so, however long its turns take.
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { batches, batcher } = createBatcher(20);
  batcher.send([slot(), 'first', {}], 5).catch(() => {});
  await turn();
  expect(batches.map(({ tools }) => tools)).toEqual([['first']]);
  for (const tool of ['second', 'third']) {
    batcher.send([slot(), tool, {}], 5).catch(() => {});
    await turn();
  }
  expect(batches).toHaveLength(1);
  batcher.send([slot('other'), 'elsewhere', {}], 5).catch(() => {});
  await turn();
  expect(batches[1]?.tools).toEqual(['elsewhere']);
  vi.advanceTimersByTime(20);
  expect(batches[2]?.tools).toEqual(['second', 'third']);
});

test('a container that was not called for a window is called at once again', async () => {
  const { batches, batcher } = createBatcher(1);
  for (let round = 1; round <= 3; round++) {
    batcher.send([slot(), `round ${round}`, {}], 5).catch(() => {});
    await turn();
    expect(batches).toHaveLength(round);
    // Timers end in the order of their times, so the window of 1 ms is over when this one is.
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
});

test('a result does not wait for the rest of its batch', async () => {
  const { batches, batcher } = createBatcher(0);
  const slow = batcher.send([slot(), 'slow', {}], 5);
  const quick = batcher.send([slot(), 'quick', {}], 5);
  await turn();
  batches[0]?.answer(1);
  expect((await quick).output).toBe('quick');
  batches[0]?.finish();
  expect((await slow).output).toBe('slow');
});

test('a call that is aborted before it is sent gets an answer and is not sent', async () => {
  const { batches, batcher } = createBatcher(0);
  const controller = new AbortController();
  const call = batcher.send([slot(), 'a', {}, { signal: controller.signal }], 5);
  controller.abort();
  expect(await call).toMatchObject({
    success: false,
    slotId: 'slot in box',
    metadata: { failure: 'aborted' },
  });
  expect(batches).toEqual([]);
});

test('a batch that fails as a whole fails each of its calls that has no result yet', async () => {
  const { batches, batcher } = createBatcher(0);
  const calls = [batcher.send([slot(), 'a', {}], 5), batcher.send([slot(), 'b', {}], 5)];
  await turn();
  batches[0]?.answer(0);
  batches[0]?.fail(new Error('a bug'));
  const settled = await Promise.allSettled(calls);
  expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
});
