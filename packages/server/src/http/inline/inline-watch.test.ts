import { TalariaError } from '@talaria/protocol';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { InlineWatch } from './inline-watch.ts';

const GRACE_MS = 5000;

let stopped: string[];
let logged: string[];
let refusal: Error | undefined;
let others: InlineWatch[];

beforeEach(() => {
  vi.useFakeTimers();
  [stopped, logged, refusal, others] = [[], [], undefined, []];
});
afterEach(() => {
  vi.useRealTimers();
});

/** Each instance in a test stands for one server. */
function watch(): InlineWatch {
  const inline: InlineWatch = new InlineWatch({
    graceMs: GRACE_MS,
    async stop(owner, runId) {
      if (refusal !== undefined) throw refusal;
      stopped.push(`${owner} ${runId}`);
    },
    isTakenUp: async (runId) => others.filter((other) => other !== inline && other.takeUp(runId)).length > 0,
    log: { info: () => {}, error: (_, message) => logged.push(message) },
  });
  others.push(inline);
  return inline;
}

test('stops a run when its reader has been gone for the grace, and not before', async () => {
  watch().attach('ada', 'run_1').leave();
  await vi.advanceTimersByTimeAsync(GRACE_MS - 1);
  expect(stopped).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(stopped).toEqual(['ada run_1']);
});

test('a reader that comes in time keeps the run, and restarts the grace when it leaves', async () => {
  const inline = watch();
  inline.attach('ada', 'run_1').leave();
  await vi.advanceTimersByTimeAsync(GRACE_MS - 1);
  const second = inline.attach('ada', 'run_1');
  await vi.advanceTimersByTimeAsync(10 * GRACE_MS);
  expect(stopped).toEqual([]);
  second.leave();
  await vi.advanceTimersByTimeAsync(GRACE_MS);
  expect(stopped).toEqual(['ada run_1']);
});

test('a run with another reader continues, and other runs are not affected', async () => {
  const inline = watch();
  const [first, second] = [inline.attach('ada', 'run_1'), inline.attach('ada', 'run_1')];
  first.leave();
  first.leave();
  inline.attach('bob', 'run_2').leave();
  await vi.advanceTimersByTimeAsync(GRACE_MS);
  expect(stopped).toEqual(['bob run_2']);
  second.leave();
  await vi.advanceTimersByTimeAsync(GRACE_MS);
  expect(stopped).toEqual(['bob run_2', 'ada run_1']);
});

test('a reader that has its answer leaves nothing to stop', async () => {
  const reader = watch().attach('ada', 'run_1');
  reader.done();
  reader.leave();
  await vi.advanceTimersByTimeAsync(GRACE_MS);
  expect(stopped).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test('a server that closes stops nothing, neither in its grace nor afterwards', async () => {
  const inline = watch();
  inline.attach('ada', 'run_1').leave();
  const reader = inline.attach('ada', 'run_2');
  inline.close();
  reader.leave();
  await vi.advanceTimersByTimeAsync(GRACE_MS);
  expect(stopped).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  ['run_not_active', 0],
  ['store_unavailable', 1],
] as const)('a stop that is refused as %s is logged %i times', async (code, times) => {
  refusal = new TalariaError(code);
  watch().attach('ada', 'run_1').leave();
  await vi.advanceTimersByTimeAsync(GRACE_MS);
  expect(logged).toHaveLength(times);
});

test('a reader that joins a watched run keeps it going, also shortly after the last reader left', async () => {
  const inline = watch();
  inline.attach('ada', 'run_1').leave();
  const joined = inline.join('ada', 'run_1');
  await vi.advanceTimersByTimeAsync(10 * GRACE_MS);
  expect(stopped).toEqual([]);
  joined.leave();
  await vi.advanceTimersByTimeAsync(GRACE_MS);
  expect(stopped).toEqual(['ada run_1']);
});

test('a reader that joins a run that nobody waits for may leave it', async () => {
  watch().join('ada', 'run_1').leave();
  await vi.advanceTimersByTimeAsync(GRACE_MS);
  expect(stopped).toEqual([]);
});

test.each(['attach', 'join'] as const)(
  'a reader on another server (%s) keeps the run, and the last one to leave stops it',
  async (coming) => {
    const [first, second] = [watch(), watch()];
    first.attach('ada', 'run_1').leave();
    const reader = second[coming]('ada', 'run_1');
    await vi.advanceTimersByTimeAsync(10 * GRACE_MS);
    expect(stopped).toEqual([]);
    reader.leave();
    await vi.advanceTimersByTimeAsync(GRACE_MS);
    expect(stopped).toEqual(['ada run_1']);
  },
);

test('readers that leave several servers together cause one stop', async () => {
  const servers = [watch(), watch(), watch()];
  for (const server of servers) server.attach('ada', 'run_1').leave();
  await vi.advanceTimersByTimeAsync(2 * GRACE_MS);
  expect(new Set(stopped)).toEqual(new Set(['ada run_1']));
  expect(vi.getTimerCount()).toBe(0);
});

test('a reader that comes while the other servers are asked keeps the run', async () => {
  let answer = (_: boolean) => {};
  const inline = new InlineWatch({
    graceMs: GRACE_MS,
    stop: async (_, runId) => void stopped.push(runId),
    isTakenUp: () => new Promise((resolve) => (answer = resolve)),
    log: { info: () => {}, error: () => {} },
  });
  inline.attach('ada', 'run_1').leave();
  await vi.advanceTimersByTimeAsync(GRACE_MS);
  inline.attach('ada', 'run_1');
  answer(false);
  await vi.advanceTimersByTimeAsync(0);
  expect(stopped).toEqual([]);
});
