import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { AcquireOptions, ExecuteOptions, ExecutionRequest, Slot } from '../backend.ts';
import { SandboxError } from '../errors.ts';
import { LocalBackend } from '../local/local-backend.ts';
import { ToolExecutor } from './tool-executor.ts';

/** A local backend that records its calls, and whose slots can be delayed or refused. */
class WatchedBackend extends LocalBackend {
  readonly acquired: (string | undefined)[] = [];
  readonly batches: { tools: string[]; timeoutS: number | undefined }[] = [];
  beforeExecute: () => void = () => {};
  beforeAcquire: (signal: AbortSignal | undefined) => Promise<void> = async () => {};

  override async acquire(trajectoryId?: string, options: AcquireOptions = {}): Promise<Slot> {
    this.acquired.push(trajectoryId);
    await this.beforeAcquire(options.signal);
    return super.acquire(trajectoryId, options);
  }

  override async executeBatch(requests: readonly ExecutionRequest[], options: ExecuteOptions = {}) {
    this.beforeExecute();
    this.batches.push({ tools: requests.map(([, tool]) => tool), timeoutS: options.timeoutS });
    return super.executeBatch(requests, options);
  }
}

let workspacesDir: string;
let backend: WatchedBackend;
let executor: ToolExecutor;

beforeAll(async () => {
  workspacesDir = await mkdtemp(join(tmpdir(), 'talaria-executor-'));
  backend = new WatchedBackend({ workspacesDir });
  await backend.start();
});

beforeEach(() => {
  backend.acquired.length = 0;
  backend.batches.length = 0;
  backend.beforeExecute = () => {};
  backend.beforeAcquire = async () => {};
  executor = new ToolExecutor(backend);
});

afterEach(async () => {
  await executor.stop();
  expect(backend.stats().slots).toMatchObject({ acquired: 0, executing: 0 });
  for (const trajectory of await backend.workspaces.list()) await backend.workspaces.discard(trajectory);
});

afterAll(async () => {
  await backend.stop({ purge: true });
  await rm(workspacesDir, { recursive: true, force: true });
});

const bash = (trajectoryId: string, command: string, options?: Parameters<ToolExecutor['execute']>[3]) =>
  executor.execute(trajectoryId, 'bash', { command }, options);
const write = (trajectoryId: string, path: string, content = '') =>
  executor.execute(trajectoryId, 'write_file', { path, content });
const waitForGo = 'until [ -e go ]; do sleep 0.02; done; echo gone';
/** A wait that only the signal of the acquire ends. */
const never = (signal: AbortSignal | undefined) =>
  new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));

test('a backend that rejects a whole batch still gives each call a result', async () => {
  backend.beforeExecute = () => {
    throw new Error('no descriptors left');
  };
  expect(await bash('a', 'echo never')).toMatchObject({
    success: false,
    error: expect.stringContaining('no descriptors left'),
    metadata: { failure: 'backend_down' },
  });
});

describe('trajectories', () => {
  test('each has a slot of its own, acquired once and kept', async () => {
    const ids = ['a', 'b', 'a', 'b', 'a'];
    const results = await Promise.all(ids.map((id, index) => write(id, `${index}`)));
    expect(results.every(({ success }) => success)).toBe(true);
    expect((await bash('a', 'ls')).output).toBe('0\n2\n4\n');
    expect((await bash('b', 'ls')).output).toBe('1\n3\n');
    expect(backend.acquired).toEqual(['a', 'b']);
  });

  test('a released one finds its workspace again, unless that was reset', async () => {
    await write('a', 'note', 'kept\n');
    await executor.release('a');
    expect((await bash('a', 'cat note')).output).toBe('kept\n');
    await executor.release('a', { resetWorkspace: true });
    expect((await bash('a', 'ls -A')).output).toBe('');
    await executor.release('a');
    await executor.release('a');
    await executor.release('never seen');
  });

  test('one that is used during its release is acquired again afterwards', async () => {
    await write('a', 'note', 'x');
    const releasing = executor.release('a', { resetWorkspace: true });
    expect(await bash('a', 'ls -A; echo listed')).toMatchObject({ success: true, output: 'listed\n' });
    await releasing;
  });

  test.each([
    new SandboxError('acquire_timeout', 'No slot was free within 30 s.'),
    new Error('ENOSPC: no space left on device'),
  ])('a slot that cannot be acquired is a result, and the next call tries again: %s', async (error) => {
    backend.beforeAcquire = async () => {
      throw error;
    };
    const results = await Promise.all([bash('a', 'ls'), bash('a', 'ls')]);
    for (const result of results) {
      expect(result).toMatchObject({
        success: false,
        error: `The sandbox is not available: ${error.message}`,
        slotId: '',
        metadata: { failure: 'backend_down' },
      });
    }
    backend.beforeAcquire = async () => {};
    expect(await bash('a', 'echo up')).toMatchObject({ success: true });
    expect(backend.acquired).toEqual(['a', 'a']);
  });

  test('releasing ends the calls of the trajectory, those that wait for its slot too', async () => {
    const running = bash('a', 'echo up > trace; sleep 60');
    await expect.poll(async () => (await bash('a', 'cat trace')).output).toBe('up\n');
    await executor.release('a');
    expect((await running).metadata.failure).toBe('aborted');
    backend.beforeAcquire = never;
    const waiting = bash('b', 'ls');
    await expect.poll(() => backend.acquired).toEqual(['a', 'b']);
    await executor.release('b');
    expect((await waiting).metadata.failure).toBe('aborted');
  });

  test('stopping releases every slot and accepts no more calls', async () => {
    const running = bash('a', 'sleep 60');
    await expect.poll(() => backend.stats().slots.executing).toBe(1);
    await executor.stop();
    expect((await running).metadata.failure).toBe('aborted');
    expect(await bash('a', 'ls')).toMatchObject({ success: false, metadata: { failure: 'backend_down' } });
  });
});

describe('calls', () => {
  test('of one turn go out as one batch', async () => {
    await Promise.all(['a', 'b', 'c'].map((id) => write(id, 'warm')));
    backend.batches.length = 0;
    const results = await Promise.all([
      write('a', 'x'),
      write('b', 'x'),
      bash('c', 'echo hi', { timeoutS: 9 }),
    ]);
    expect(results.map(({ success }) => success)).toEqual([true, true, true]);
    expect(backend.batches).toEqual([
      { tools: ['write_file', 'write_file'], timeoutS: undefined },
      { tools: ['bash'], timeoutS: 9 },
    ]);
  });

  test('do not wait for each other, whether their timeouts differ or not', async () => {
    const slow = [bash('a', waitForGo, { timeoutS: 25 }), bash('b', waitForGo, { timeoutS: 5 })];
    const quick = await Promise.all([
      bash('a', 'echo quick', { timeoutS: 5 }),
      bash('b', 'echo quick', { timeoutS: 25 }),
      bash('c', 'echo quick', { timeoutS: 5 }),
    ]);
    expect(quick.map(({ output }) => output)).toEqual(['quick\n', 'quick\n', 'quick\n']);
    await Promise.all([write('a', 'go'), write('b', 'go')]);
    expect((await Promise.all(slow)).map(({ output }) => output)).toEqual(['gone\n', 'gone\n']);
  });

  test('end with their own timeout', async () => {
    const long = bash('a', waitForGo, { timeoutS: 25 });
    const short = await bash('a', 'sleep 60', { timeoutS: 0.2 });
    expect(short.metadata).toMatchObject({ failure: 'timeout', timed_out: true });
    await write('a', 'go');
    expect(await long).toMatchObject({ success: true });
  });

  test('are aborted alone', async () => {
    const controller = new AbortController();
    const ended = bash('a', 'sleep 60', { signal: controller.signal });
    const going = bash('a', waitForGo);
    await expect.poll(() => backend.stats().slots.executing).toBe(1);
    controller.abort();
    expect((await ended).metadata.failure).toBe('aborted');
    await write('a', 'go');
    expect(await going).toMatchObject({ success: true, output: 'gone\n' });
    expect((await bash('a', 'ls', { signal: controller.signal })).metadata.failure).toBe('aborted');
  });

  test('that are aborted while they wait for a slot leave it to the others', async () => {
    let arrive = () => {};
    backend.beforeAcquire = () =>
      new Promise((resolve) => {
        arrive = resolve;
      });
    const controller = new AbortController();
    const aborted = bash('a', 'echo never', { signal: controller.signal });
    const served = bash('a', 'echo served');
    controller.abort();
    expect(await aborted).toMatchObject({ slotId: '', metadata: { failure: 'aborted' } });
    arrive();
    expect((await served).output).toBe('served\n');
    expect(backend.acquired).toEqual(['a']);
  });

  test('give up the slot when all of them are aborted, and the next call gets one', async () => {
    backend.beforeAcquire = never;
    const signal = AbortSignal.timeout(10);
    const results = await Promise.all([bash('a', 'ls', { signal }), bash('a', 'ls', { signal })]);
    expect(results.map(({ metadata }) => metadata.failure)).toEqual(['aborted', 'aborted']);
    backend.beforeAcquire = async () => {};
    expect(await bash('a', 'echo next')).toMatchObject({ success: true, output: 'next\n' });
  });

  test('whose slot is gone are not repeated; the next call gets a new slot with the same workspace', async () => {
    const first = await bash('a', 'echo one >> log');
    await backend.release({ slotId: first.slotId } as Slot);
    const lost = await Promise.all([bash('a', 'echo two >> log'), bash('a', 'echo two >> log')]);
    for (const result of lost)
      expect(result).toMatchObject({ success: false, metadata: { failure: 'gone' } });
    const next = await bash('a', 'cat log');
    expect(next).toMatchObject({ success: true, output: 'one\n' });
    expect(next.slotId).not.toBe(first.slotId);
    expect(backend.acquired).toEqual(['a', 'a']);
  });

  test.each([
    ['bash', { command: 'ls', allow_network: true }, 'allow_network'],
    ['bash', { command: 'ls', network: 'host' }, 'network'],
    ['read_file', { path: 'x', allow_network: true }, 'allow_network'],
    ['write_file', { path: 'x', content: '', network: true }, 'network'],
    ['patch', { patch: '*** Begin Patch\n*** End Patch', allow_network: true }, 'allow_network'],
    ['search_files', { pattern: 'x', allow_network: true }, 'allow_network'],
  ])('%s with %j is refused: a call cannot open the network', async (tool, args, named) => {
    const result = await executor.execute('a', tool, args);
    expect(result).toMatchObject({ success: false, metadata: { failure: 'invalid_request' } });
    expect(result.error).toContain(named);
  });
});
