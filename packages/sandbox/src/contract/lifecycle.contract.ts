/** The contract of starting, stopping and purging a backend. */
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import type { ContractTools } from '../testing/contract-tools.ts';

export function describeLifecycle({ bash, when, slot, backend, trajectory, acquire }: ContractTools): void {
  describe('lifecycle', when('lifecycle'), () => {
    test('stop ends what runs and answers its calls', async () => {
      const running = bash('sleep 60');
      await expect.poll(() => slot().state).toBe('executing');
      await backend().stop();
      expect(await running).toMatchObject({ success: false, metadata: { failure: 'aborted' } });
    });

    test('a stopped backend refuses, and starts again', async () => {
      await bash('echo x > note');
      await backend().stop();
      await backend().stop();
      expect(await bash('echo x')).toMatchObject({ success: false, metadata: { failure: 'backend_down' } });
      await expect(backend().acquire(trajectory())).rejects.toMatchObject({ code: 'backend_down' });
      await backend().start();
      await acquire();
      expect((await bash('cat note')).output).toBe('x\n');
    });

    test('the workspaces of a stopped backend refuse, too', async () => {
      await backend().stop();
      const { workspaces } = backend();
      for (const call of [
        () => workspaces.open(trajectory()),
        () => workspaces.openWriter(trajectory(), { create: true }),
        () => workspaces.capture(trajectory()),
        () =>
          workspaces
            .readFiles(trajectory(), [{ path: 'note' }])
            [Symbol.asyncIterator]()
            .next(),
        () => workspaces.snapshot(trajectory()),
        () => workspaces.restore(trajectory(), Readable.from([])),
        () => workspaces.discard(trajectory()),
        () => workspaces.list(),
      ])
        await expect(call()).rejects.toMatchObject({ code: 'backend_down' });
    });

    test('purge deletes every workspace', async () => {
      await bash('echo x > note');
      await backend().stop({ purge: true });
      await backend().start();
      await acquire();
      expect((await bash('ls -A')).output).toBe('');
    });

    test('stats say what isolates a command', () => {
      const { isolation, slots } = backend().stats();
      expect(isolation.description).toMatch(/^\S.*\.$/);
      expect(slots.acquired).toBeGreaterThanOrEqual(1);
    });
  });
}
