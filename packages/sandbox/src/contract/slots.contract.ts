/** The contract of slots and the workspaces of their trajectories. */
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import type { ContractTools } from '../testing/contract-tools.ts';

export function describeSlots({
  call,
  bash,
  when,
  sameEverywhere,
  ownKernel,
  slot,
  backend,
  trajectory,
  acquire,
  acquireAgain,
  restart,
}: ContractTools): void {
  describe('slots', when('slots'), () => {
    test('a trajectory finds its workspace again after a release and after a restart', async () => {
      await bash('echo mine > note');
      await acquireAgain();
      expect((await bash('cat note')).output).toBe('mine\n');
      await restart();
      expect((await bash('cat note')).output).toBe('mine\n');
    });

    test('every trajectory id has its own workspace, whatever its characters', sameEverywhere, async () => {
      const ids = [
        'a',
        '../a',
        './a',
        'a/b',
        '..',
        '.',
        '.sandbox',
        'A',
        'ä',
        '',
        ' ',
        'a\nb',
        'x'.repeat(5000),
      ];
      const slots = await Promise.all(ids.map((id) => backend().acquire(id)));
      await backend().executeBatch(
        slots.map((each, index) => [each, 'write_file', { path: 'id', content: `${index}` }]),
      );
      const read = await backend().executeBatch(
        slots.map((each) => [each, 'bash', { command: 'cat id; ls -A' }]),
      );
      expect(read.map((result) => result.output)).toEqual(ids.map((_, index) => `${index}id\n`));
      expect(slots.map((each) => each.trajectoryId)).toEqual(ids);
      // The next test may need all slots there are.
      await Promise.all(slots.map((each) => backend().release(each, { resetWorkspace: true })));
    });

    test.each([null, 5, {}])(
      'no workspace has the trajectory id %j',
      sameEverywhere,
      async (trajectoryId) => {
        const { workspaces } = backend();
        const id = trajectoryId as never;
        for (const call of [
          () => workspaces.open(id),
          () => workspaces.openWriter(id, { create: true }),
          () => workspaces.capture(id),
          () => workspaces.snapshot(id),
          () => workspaces.restore(id, Readable.from([])),
          () => workspaces.discard(id),
        ])
          await expect(call()).rejects.toMatchObject({ code: 'invalid_request' });
      },
    );

    test.each([null, 5, {}])('%j is not a trajectory id', sameEverywhere, async (trajectoryId) => {
      await expect(backend().acquire(trajectoryId as never)).rejects.toMatchObject({
        code: 'invalid_request',
      });
    });

    test('a workspace that no slot holds takes disk space on this machine, until it is discarded', async () => {
      const { workspaces } = backend();
      await bash('head -c 3000000 /dev/zero > large');
      await backend().release(slot());
      const used = await workspaces.diskUsage(trajectory());
      expect(used).toBeGreaterThanOrEqual(3_000_000);
      expect(used).toBeLessThan(4_000_000);
      await workspaces.discard(trajectory());
      expect(await workspaces.diskUsage(trajectory())).toBe(0);
      expect(await workspaces.diskUsage('never seen')).toBe(0);
    });

    test('acquiring a held trajectory returns the slot that holds it', async () => {
      const again = await Promise.all([backend().acquire(trajectory()), backend().acquire(trajectory())]);
      expect(again.map(({ slotId }) => slotId)).toEqual([slot().slotId, slot().slotId]);
    });

    test('a caller that gave up before it got a slot holds none', async () => {
      const reason = new Error('no longer needed');
      const given = backend().acquire('given up', { signal: AbortSignal.abort(reason) });
      await expect(given).rejects.toBe(reason);
      await backend().workspaces.discard('given up');
    });

    test('slots without a trajectory are different and empty', async () => {
      const [one, two] = [await backend().acquire(), await backend().acquire()];
      expect(one.trajectoryId).toBeUndefined();
      await call('write_file', { path: 'note', content: 'x' }, {}, one);
      expect((await call('bash', { command: 'ls -A' }, {}, two)).output).toBe('');
      await backend().release(one);
      await backend().release(two);
    });

    test('a slot shows its state', async () => {
      expect(slot().state).toBe('acquired');
      const running = bash('until [ -e go ]; do sleep 0.05; done');
      expect(slot().state).toBe('executing');
      expect(backend().stats().slots.executing).toBe(1);
      await call('write_file', { path: 'go', content: '' });
      await running;
      expect(slot().state).toBe('acquired');
      await backend().release(slot());
      expect(slot().state).toBe('available');
    });

    test('releasing ends what runs', async () => {
      const running = bash('echo started > trace; sleep 60');
      await expect.poll(async () => (await bash('ls')).output).toBe('trace\n');
      await backend().release(slot());
      expect(await running).toMatchObject({ success: false, metadata: { failure: 'aborted' } });
    });

    test('releasing at once ends what has just begun', async () => {
      const running = Promise.all(Array.from({ length: 10 }, () => bash('sleep 60')));
      await backend().release(slot());
      expect((await running).map(({ metadata }) => metadata.failure)).toEqual(Array(10).fill('aborted'));
    });

    test('a released slot can do nothing, and releasing it again is harmless', async () => {
      await backend().release(slot());
      const next = await backend().acquire(trajectory());
      await backend().release(slot(), { resetWorkspace: true });
      expect(await bash('echo ran')).toMatchObject({ success: false, metadata: { failure: 'gone' } });
      expect(await call('bash', { command: 'echo ran' }, {}, next)).toMatchObject({ success: true });
    });

    test('a reset leaves an empty workspace, whatever was in it', sameEverywhere, async () => {
      const messy = [
        'mkdir -p d/e; echo x > d/e/f; chmod 0500 d/e; chmod 0000 d',
        'ln -s /etc link; mkfifo pipe; touch -- "-rf" "a b" .hidden',
        // gVisor opens the machine's files by whole paths, and those have at most 4096 bytes.
        `mkdir deep; cd deep; for i in $(seq ${ownKernel ? 10 : 30}); do n=$(printf "%0200d" $i); mkdir $n; cd $n; done`,
      ];
      for (const command of messy) expect(await bash(command)).toMatchObject({ success: true });
      await acquireAgain({ resetWorkspace: true });
      expect((await bash('ls -A; ls /etc | wc -l')).output).toMatch(/^[1-9]\d*\n$/);
    });

    test('a workspace without permissions can be acquired again', async () => {
      await bash('echo mine > note; chmod 0000 .');
      await acquireAgain();
      expect((await bash('cat note')).output).toBe('mine\n');
    });

    test('every workspace with a readable id is listed, held or not, until it is discarded', async () => {
      const [kept, held] = [`kept-${randomUUID()}`, `held-${randomUUID()}`];
      await backend().release(await backend().acquire(kept));
      const holding = await backend().acquire(held);
      const listed = await backend().workspaces.list();
      expect(listed).toEqual(expect.arrayContaining([kept, held]));
      // The slot of every test has an id with a space in it.
      expect(listed).not.toContain(trajectory());
      expect(new Set(listed).size).toBe(listed.length);
      await backend().workspaces.discard(kept);
      await backend().release(holding, { resetWorkspace: true });
      expect(await backend().workspaces.list()).not.toEqual(expect.arrayContaining([kept]));
      expect(await backend().workspaces.list()).not.toEqual(expect.arrayContaining([held]));
    });

    test('discard deletes the workspace of a trajectory', async () => {
      await bash('echo x > note');
      await expect(backend().workspaces.discard(trajectory())).rejects.toMatchObject({ code: 'slot_held' });
      await backend().release(slot());
      await backend().workspaces.discard(trajectory());
      await backend().workspaces.discard(trajectory());
      await backend().workspaces.discard('never seen');
      await acquire();
      expect((await bash('ls -A')).output).toBe('');
    });
  });
}
