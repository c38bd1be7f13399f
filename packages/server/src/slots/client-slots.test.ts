import type { Slot } from '@talaria/protocol';
import { SandboxError } from '@talaria/sandbox';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ClientSlots, type ClientSlotsOptions } from './client-slots.ts';
import { FakeBackend } from './testing/fake-backend.ts';

const NEVER = new AbortController().signal;
const [WAIT_MS, IDLE_MS, KEEP_MS] = [30_000, 600_000, 3_600_000];

let backend: FakeBackend;
let slots: ClientSlots;

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
  backend = new FakeBackend();
  slots = makeSlots();
});
afterEach(async () => {
  await slots.drain(0);
  vi.useRealTimers();
});

function makeSlots(options: Partial<ClientSlotsOptions> = {}): ClientSlots {
  return new ClientSlots({
    backend: backend.asBackend,
    maxSlots: 2,
    maxSlotsPerOwner: 2,
    waitMs: WAIT_MS,
    idleMs: IDLE_MS,
    keepFilesMs: KEEP_MS,
    log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    ...options,
  });
}

const acquire = (owner: string, trajectoryId?: string, signal = NEVER): Promise<Slot> =>
  slots.acquire(owner, trajectoryId, signal);

const execute = (owner: string, slotIds: string[], signal = NEVER) =>
  slots.execute(
    owner,
    slotIds.map((slotId) => ({ slotId, tool: 'bash', args: {} })),
    { timeoutS: undefined, signal },
  );

const code = (work: Promise<unknown>) => expect(work).rejects;

describe('acquiring', () => {
  test('gives a slot as the wire has it', async () => {
    expect(await acquire('ada', 'task-1')).toEqual({
      id: expect.stringMatching(/^slot_[0-9a-f]{32}$/),
      trajectory_id: 'task-1',
      container_id: 'fake-1',
      workspace_dir: '/workspace',
      state: 'acquired',
    });
    expect((await acquire('ada')).trajectory_id).toBeNull();
    expect(slots.stats('ada')).toMatchObject({ held: 2, waiting: 0, available: 0, backend: 'fake' });
  });

  test('a trajectory that the key holds gives the same slot, also to two concurrent callers', async () => {
    const [first, second] = await Promise.all([acquire('ada', 'task-1'), acquire('ada', 'task-1')]);
    expect(second).toEqual(first);
    expect((await acquire('ada', 'task-1')).id).toBe(first.id);
    expect(backend.starts).toBe(1);
  });

  test('a trajectory of the same name is another one for another key', async () => {
    const [ada, bob] = [await acquire('ada', 'task-1'), await acquire('bob', 'task-1')];
    expect(bob.id).not.toBe(ada.id);
    expect(backend.held.size).toBe(2);
  });

  test('the name of a run does not lead to the files of the run', async () => {
    const run = `run_${'0'.repeat(32)}`;
    await acquire('ada', run);
    expect([...backend.held.keys()]).not.toContain(run);
  });

  test('waits for a place as long as allowed, and then says when to retry', async () => {
    await acquire('ada');
    await acquire('ada');
    const waits = acquire('ada').catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(WAIT_MS - 1);
    expect(slots.stats('ada').waiting).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await waits).toMatchObject({ code: 'no_slot_free', retryAfterS: expect.any(Number) });
    expect(slots.stats('ada')).toMatchObject({ waiting: 0, held: 2 });
  });

  test('ends when its client leaves, while it waits for a place', async () => {
    await acquire('ada');
    await acquire('ada');
    const leaving = new AbortController();
    const waits = acquire('ada', undefined, leaving.signal);
    leaving.abort(new Error('left'));
    await code(waits).toThrow('left');
    expect(slots.stats('ada').waiting).toBe(0);
  });

  test('leaves no slot when its client leaves while the backend starts one', async () => {
    const gate = Promise.withResolvers<void>();
    backend.gate = gate.promise;
    const leaving = new AbortController();
    const starting = acquire('ada', 'task-1', leaving.signal);
    await vi.advanceTimersByTimeAsync(0);
    leaving.abort(new Error('left'));
    gate.resolve();
    await code(starting).toThrow('left');
    expect(backend.held.size).toBe(0);
    expect(slots.stats('ada')).toMatchObject({ held: 0, available: 2 });
  });

  test('a second client that waits for the same trajectory gets it when the first has left', async () => {
    const gate = Promise.withResolvers<void>();
    backend.gate = gate.promise;
    const leaving = new AbortController();
    const first = acquire('ada', 'task-1', leaving.signal);
    const second = acquire('ada', 'task-1');
    await vi.advanceTimersByTimeAsync(0);
    leaving.abort(new Error('left'));
    gate.resolve();
    await code(first).toThrow('left');
    expect((await second).trajectory_id).toBe('task-1');
    expect(slots.list('ada')).toHaveLength(1);
  });

  test('a backend that is down is named, and takes no place', async () => {
    backend.broken = true;
    await code(acquire('ada')).toMatchObject({ code: 'backend_down' });
    expect(slots.stats('ada')).toMatchObject({ held: 0, available: 2 });
    backend.broken = false;
    await acquire('ada');
  });
});

describe('executing', () => {
  test('answers in the order of the calls, and reports each result as it comes', async () => {
    const [one, two] = [await acquire('ada'), await acquire('ada')];
    const told: number[] = [];
    const batch = slots.execute(
      'ada',
      [
        { slotId: one.id, tool: 'first', args: {} },
        { slotId: two.id, tool: 'second', args: {} },
      ],
      { timeoutS: undefined, signal: NEVER, onResult: (_, index) => told.push(index) },
    );
    backend.calls.find(({ tool }) => tool === 'second')!.end();
    backend.calls.find(({ tool }) => tool === 'first')!.end();
    const results = await batch;
    expect(told).toEqual([1, 0]);
    expect(results.map(({ output, slot_id }) => [output, slot_id])).toEqual([
      ['first', one.id],
      ['second', two.id],
    ]);
  });

  test("another key's slot does not exist", async () => {
    const { id } = await acquire('ada');
    await code(execute('bob', [id])).toMatchObject({ code: 'slot_not_found' });
    await code(slots.release('bob', id, { resetWorkspace: true })).toMatchObject({ code: 'slot_not_found' });
    expect(() => slots.use('bob', id)).toThrow(expect.objectContaining({ code: 'slot_not_found' }));
    expect(slots.list('bob')).toEqual([]);
    expect(backend.calls).toEqual([]);
  });

  test('an unknown slot has its own result beside known ones', async () => {
    const { id } = await acquire('ada');
    const batch = execute('ada', ['slot_unknown', id]);
    backend.calls[0]!.end();
    expect(await batch).toMatchObject([
      { success: false, slot_id: 'slot_unknown', metadata: { failure: 'gone' } },
      { success: true, slot_id: id },
    ]);
  });

  test('a slot whose container died between two calls is replaced by the next acquire of its trajectory', async () => {
    const { id } = await acquire('ada', 'task-1');
    for (const slot of backend.held.values()) Object.assign(slot, { state: 'error' });
    expect(slots.list('ada')).toMatchObject([{ id, state: 'error' }]);
    const next = await acquire('ada', 'task-1');
    expect(next).toMatchObject({ state: 'acquired' });
    expect(next.id).not.toBe(id);
    expect(slots.stats('ada').held).toBe(1);
  });

  test('a slot whose container died says so, and its trajectory gets a new one', async () => {
    const lost = await acquire('ada', 'task-1');
    const batch = execute('ada', [lost.id]);
    backend.calls[0]!.end({ success: false, failure: 'gone' });
    expect(await batch).toMatchObject([{ metadata: { failure: 'gone' } }]);
    expect(slots.list('ada')).toMatchObject([{ id: lost.id, state: 'error' }]);
    const next = await acquire('ada', 'task-1');
    expect(next).toMatchObject({ state: 'acquired', trajectory_id: 'task-1' });
    expect(next.id).not.toBe(lost.id);
    expect(slots.list('ada')).toHaveLength(1);
  });

  test('ends with its client', async () => {
    const { id } = await acquire('ada');
    const leaving = new AbortController();
    const batch = execute('ada', [id], leaving.signal);
    leaving.abort();
    expect(await batch).toMatchObject([{ metadata: { failure: 'aborted' } }]);
  });
});

describe('a slot that is not used', () => {
  test('is released after the time, and its place is free', async () => {
    const { id } = await acquire('ada', 'task-1');
    await vi.advanceTimersByTimeAsync(IDLE_MS - 1);
    expect(slots.list('ada')).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(slots.list('ada')).toEqual([]);
    expect(backend.held.size).toBe(0);
    await code(execute('ada', [id])).toMatchObject({ code: 'slot_not_found' });
    expect(slots.stats('ada').available).toBe(2);
  });

  test('counts as idle only after its last batch, however long that took', async () => {
    const { id } = await acquire('ada');
    const batch = execute('ada', [id]);
    await vi.advanceTimersByTimeAsync(3 * IDLE_MS);
    backend.calls[0]!.end();
    expect(await batch).toMatchObject([{ success: true }]);
    await vi.advanceTimersByTimeAsync(IDLE_MS - 1);
    expect(slots.list('ada')).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(slots.list('ada')).toEqual([]);
  });

  test('is not idle while its files are read, or when it was acquired again', async () => {
    const { id } = await acquire('ada', 'task-1');
    {
      using _reading = slots.use('ada', id);
      await vi.advanceTimersByTimeAsync(2 * IDLE_MS);
    }
    await vi.advanceTimersByTimeAsync(IDLE_MS - 1);
    await acquire('ada', 'task-1');
    await vi.advanceTimersByTimeAsync(IDLE_MS - 1);
    expect(slots.list('ada')).toHaveLength(1);
  });
});

describe('releasing', () => {
  test('ends what runs, and gives the place to the next caller', async () => {
    const { id } = await acquire('ada');
    await acquire('ada');
    const [batch, waits] = [execute('ada', [id]), acquire('ada')];
    await slots.release('ada', id, { resetWorkspace: false });
    expect(await batch).toMatchObject([{ metadata: { failure: 'aborted' } }]);
    expect((await waits).id).not.toBe(id);
    await code(slots.release('ada', id, { resetWorkspace: false })).toMatchObject({ code: 'slot_not_found' });
  });

  test('keeps the files of a trajectory for a while, and no others', async () => {
    await slots.start();
    const [kept, nameless] = [await acquire('ada', 'task-1'), await acquire('ada')];
    await slots.release('ada', kept.id, { resetWorkspace: false });
    await slots.release('ada', nameless.id, { resetWorkspace: false });
    expect(backend.kept.size).toBe(1);
    await vi.advanceTimersByTimeAsync(KEEP_MS / 2);
    expect(backend.kept.size).toBe(1);
    await vi.advanceTimersByTimeAsync(KEEP_MS);
    expect(backend.kept.size).toBe(0);
  });

  test('tells which files a slot that was lost has left', async () => {
    for (const [failure, reverted] of [
      ['gone', true],
      ['gone', false],
      [undefined, false],
    ] as const) {
      const { id } = await acquire('ada', 'task-1');
      const [workspace] = backend.held.keys();
      const batch = execute('ada', [id]);
      backend.calls.pop()!.end({ success: false, ...(failure && { failure }) });
      await batch;
      if (reverted) backend.reverted.add(workspace!);
      else backend.reverted.clear();
      const files = failure && (reverted ? 'reverted' : 'kept');
      expect(await slots.release('ada', id, { resetWorkspace: false })).toEqual(
        files ? { files_after_loss: files } : {},
      );
    }
  });

  test('says which files are left before its place is free for somebody else', async () => {
    const { id } = await acquire('ada', 'task-1');
    const batch = execute('ada', [id]);
    backend.calls.pop()!.end({ success: false, failure: 'gone' });
    await batch;
    let heldThen: number | undefined;
    backend.workspaces.isReverted = async () => {
      heldThen = slots.stats('ada').held;
      return true;
    };
    const released = await slots.release('ada', id, { resetWorkspace: false });
    expect({ released, heldThen }).toEqual({ released: { files_after_loss: 'reverted' }, heldThen: 1 });
    expect(slots.stats('ada').held).toBe(0);
  });

  test('deletes later what could not be deleted, and gives the place back all the same', async () => {
    await slots.start();
    backend.unclosable = new SandboxError('slot_not_closed', 'It could not be cleaned.');
    const { id } = await acquire('ada', 'task-1');
    await code(slots.release('ada', id, { resetWorkspace: true })).toMatchObject({ code: 'slot_not_closed' });
    expect(slots.stats('ada').held).toBe(0);
    expect(backend.kept.size).toBe(1);
    await vi.advanceTimersByTimeAsync(2 * KEEP_MS);
    expect(backend.kept.size).toBe(0);
  });

  test('deletes the files on request', async () => {
    const { id } = await acquire('ada', 'task-1');
    await slots.release('ada', id, { resetWorkspace: true });
    expect(backend.kept.size).toBe(0);
  });
});

describe('draining', () => {
  test('refuses waiting callers, lets batches end, and releases every slot', async () => {
    const { id } = await acquire('ada');
    await acquire('bob', 'task-1');
    const [batch, waits] = [execute('ada', [id]), acquire('bob')];
    const refused = code(waits).toMatchObject({ code: 'gateway_draining' });
    const drained = slots.drain(10_000);
    await refused;
    backend.calls[0]!.end();
    expect(await batch).toMatchObject([{ success: true }]);
    await drained;
    expect(backend.held.size).toBe(0);
    await code(acquire('ada')).toMatchObject({ code: 'gateway_draining' });
  });

  test('refuses a caller whom the backend has not served yet', async () => {
    // A backend on a cluster waits for a container.
    backend.gate = new Promise(() => {});
    const refused = code(acquire('ada', 'task-1')).toMatchObject({ code: 'gateway_draining' });
    await vi.advanceTimersByTimeAsync(1);
    await slots.drain(10_000);
    await refused;
    expect(slots.stats('ada')).toMatchObject({ held: 0, waiting: 0 });
  });

  test('waits for a batch only for a limited time', async () => {
    const { id } = await acquire('ada');
    const batch = execute('ada', [id]);
    const drained = slots.drain(10_000);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await batch).toMatchObject([{ metadata: { failure: 'aborted' } }]);
    await drained;
    expect(backend.held.size).toBe(0);
  });
});
