/** Commands on a server whose sandbox has a network: one of them may go without it. */
import { chown, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ExecutionResult, Slot } from '../backend.ts';
import { LocalBackend } from './local-backend.ts';
import { tagsOf, whyUnavailable } from './testing/why-unavailable.ts';

for (const isolation of ['bubblewrap', 'unshare', 'none'] as const) {
  const reason = await whyUnavailable(isolation);
  const title = reason === undefined ? isolation : `${isolation} (missing: ${reason})`;
  describe.skipIf(reason !== undefined)(`a network: ${title}`, { tags: await tagsOf(isolation) }, () => {
    let dir: string;
    let backend: LocalBackend;
    const host = createServer((socket) => socket.end('host\n'));

    beforeAll(async () => {
      dir = await mkdtemp(join(tmpdir(), 'talaria-confinement-test-'));
      const mountable = isolation === 'none' ? [] : [join(dir, 'mounted')];
      await mkdir(join(dir, 'mounted'));
      // Commands never run as root while slots have users of their own.
      if (process.getuid?.() === 0) await chown(join(dir, 'mounted'), 12_345, 12_345);
      backend = new LocalBackend({
        workspacesDir: join(dir, 'workspaces'),
        isolation,
        mountable,
        allowNetwork: true,
      });
      await backend.start();
      await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
    });
    afterAll(async () => {
      host.close();
      await backend.stop({ purge: true });
      await rm(dir, { recursive: true, force: true });
    });

    const reach = async (slot: Slot, more: Record<string, unknown>): Promise<ExecutionResult> => {
      const { port } = host.address() as { port: number };
      const command = `{ cat < /dev/tcp/127.0.0.1/${port}; } 2>/dev/null || echo none`;
      const [result] = await backend.executeBatch([[slot, 'bash', { command, ...more }]]);
      return result as ExecutionResult;
    };
    const reached = { success: true, output: 'host\n', metadata: { network_isolated: false } };

    test('a command has it, unless it is cut off', async () => {
      const slot = await backend.acquire();
      expect(await reach(slot, {})).toMatchObject(reached);
      expect(await reach(slot, { allow_network: true })).toMatchObject(reached);
      const cut = await reach(slot, { allow_network: false });
      if (isolation === 'none') {
        expect(cut).toMatchObject({ success: false, output: '', metadata: { network_isolated: false } });
        expect(cut.error).toMatch(/^Network isolation requested/);
      } else {
        expect(cut).toMatchObject({ output: 'none\n', metadata: { network_isolated: true } });
      }
      expect(await reach(slot, {})).toMatchObject(reached);
      await backend.release(slot);
    });

    test.skipIf(isolation === 'none')('a command that is cut off still reaches itself', async () => {
      const slot = await backend.acquire();
      const command =
        'tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " "; (exec 3<>/dev/tcp/127.0.0.1/9) 2>&1 | grep -o -m 1 refused | head -n 1';
      const [result] = await backend.executeBatch([[slot, 'bash', { command, allow_network: false }]]);
      expect(result?.output).toBe('lo\nrefused\n');
      await backend.release(slot);
    });

    // The server starts its commands itself, without a keeper.
    test.skipIf(isolation === 'none')('so has a command in a mounted directory', async () => {
      await backend.workspaces.mount('mounted', join(dir, 'mounted'));
      const slot = await backend.acquire('mounted');
      expect(await reach(slot, {})).toMatchObject(reached);
      expect(await reach(slot, { allow_network: false })).toMatchObject({ output: 'none\n' });
      const [apart] = await backend.executeBatch([
        [slot, 'bash', { command: 'echo err >&2; echo out', stderr: 'after' }],
      ]);
      expect(apart?.output).toBe('out\n[stderr]\nerr\n');
      await backend.release(slot);
    });
  });
}
