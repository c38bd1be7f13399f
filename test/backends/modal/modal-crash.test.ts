/** A server that is killed: the next start ends its sandboxes, and nobody else's. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { FakeModal } from './fake/fake-modal.ts';
import { NO_FAKE, startTest } from './modal-fixture.ts';

const SLOTS = 3;

describe.skipIf(NO_FAKE)(`Modal${NO_FAKE ? ` (skipped: ${NO_FAKE})` : ''}`, () => {
  test('after kill -9 the next start leaves no sandbox of ours and all of others', async () => {
    await using fake = await FakeModal.start();
    await using other = await startTest(fake);
    const theirs = await other.backend.acquire('theirs');
    const workspacesDir = await mkdtemp(join(tmpdir(), 'talaria-modal-test-'));
    await killAServer(fake, workspacesDir);
    const left = fake.running().filter(({ parts }) => parts.id !== theirs.containerId);
    expect(left.length).toBeGreaterThanOrEqual(SLOTS);
    // More than a page of them.
    expect(left.length).toBeGreaterThan(fake.pageSize);
    await using next = await startTest(fake, { workspacesDir });
    for (const { parts, result } of left) expect(result, parts.id).toMatchObject({ exitcode: 137 });
    expect((await other.bash(theirs, 'echo unharmed')).output).toBe('unharmed\n');
    const slot = await next.backend.acquire('run');
    expect((await next.bash(slot, 'echo works')).output).toBe('works\n');
  });
});

async function killAServer(fake: FakeModal, workspacesDir: string): Promise<void> {
  const script = `
    const { ModalBackend } = await import(${JSON.stringify(new URL('../../../packages/sandbox/src/modal/modal-backend.ts', import.meta.url).href)});
    const sdk = await import(${JSON.stringify(import.meta.resolve('modal'))});
    const backend = new ModalBackend({ sdk, workspacesDir: ${JSON.stringify(workspacesDir)}, warmSlots: 0 });
    await backend.start();
    await Promise.all(Array.from({ length: ${SLOTS} }, (_, index) => backend.acquire('run ' + index)));
    console.log('ready');
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env: { ...process.env, ...fake.environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(() => {
      throw new Error('the server ended before it was killed');
    }),
  ]);
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
