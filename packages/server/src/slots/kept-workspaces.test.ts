import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { KeptWorkspaces, namelessWorkspace, trajectoryWorkspace } from './kept-workspaces.ts';

const KEEP_MS = 60_000;

let present: Set<string>;
let failing: boolean;
let kept: KeptWorkspaces;

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
  [present, failing] = [new Set(), false];
  kept = new KeptWorkspaces({
    workspaces: {
      list: async () => [...present],
      async discard(name) {
        if (failing) throw new Error('the disk is away');
        present.delete(name);
      },
    },
    keepMs: KEEP_MS,
    log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
  });
});
afterEach(async () => {
  await kept.stop();
  vi.useRealTimers();
});

test('released files are kept for the time, and then deleted', async () => {
  await kept.start();
  present.add('traj_a');
  kept.keep('traj_a');
  await vi.advanceTimersByTimeAsync(KEEP_MS - 1);
  expect(present).toContain('traj_a');
  // The sweep runs every tenth of the time.
  await vi.advanceTimersByTimeAsync(KEEP_MS / 5);
  expect(present).not.toContain('traj_a');
});

test('files that are in use again are not deleted', async () => {
  await kept.start();
  present.add('traj_a');
  kept.keep('traj_a');
  kept.forget('traj_a');
  await vi.advanceTimersByTimeAsync(3 * KEEP_MS);
  expect(present).toContain('traj_a');
});

test('retries what cannot be deleted', async () => {
  await kept.start();
  present.add('traj_a');
  kept.keep('traj_a');
  failing = true;
  await vi.advanceTimersByTimeAsync(2 * KEEP_MS);
  expect(present).toContain('traj_a');
  failing = false;
  await vi.advanceTimersByTimeAsync(KEEP_MS);
  expect(present).not.toContain('traj_a');
});

test('a restarted server deletes nameless files at once, trajectories later, and files of runs never', async () => {
  const [nameless, trajectory] = [namelessWorkspace(), trajectoryWorkspace('ada', 'task-1')];
  const run = `run_${'0'.repeat(32)}`;
  present = new Set([nameless, trajectory, run, 'traj_of_somebody']);
  await kept.start();
  await vi.advanceTimersByTimeAsync(KEEP_MS / 10);
  expect([...present]).toEqual([trajectory, run, 'traj_of_somebody']);
  await vi.advanceTimersByTimeAsync(KEEP_MS);
  expect([...present]).toEqual([run, 'traj_of_somebody']);
});

test('a workspace belongs to one key and one trajectory', () => {
  const names = [
    trajectoryWorkspace('ada', 'x'),
    trajectoryWorkspace('bob', 'x'),
    trajectoryWorkspace('ada', 'y'),
    trajectoryWorkspace('ada","x', ''),
  ];
  expect(new Set(names).size).toBe(names.length);
  expect(trajectoryWorkspace('ada', 'x')).toBe(names[0]);
});
