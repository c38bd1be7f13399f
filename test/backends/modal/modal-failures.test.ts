/** A service and a network that fail: what can be repeated is, once, and what is lost is told. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FakeModal } from './fake/fake-modal.ts';
import { STATUS } from './fake/sandbox.ts';
import { NO_FAKE, startTest } from './modal-fixture.ts';

/** Long enough to be under way while something fails, and of a known content. */
const COUNT = 'seq 1 5000';
const COUNTED = Array.from({ length: 5000 }, (_, index) => `${index + 1}\n`).join('');
const LONG_OUTPUT = { outputLimitBytes: 1_000_000 };

describe.skipIf(NO_FAKE)(`Modal${NO_FAKE ? ` (skipped: ${NO_FAKE})` : ''}`, () => {
  let fake: FakeModal;
  beforeAll(async () => {
    fake = await FakeModal.start();
  });
  afterAll(() => fake[Symbol.asyncDispose]());

  test('tokens that expire are replaced', async () => {
    // So short that the SDK has to ask for new ones again and again.
    for (const tokens of [fake.authTokens, fake.routerTokens]) tokens.lifetimeS = 0;
    await using modal = await startTest(fake);
    const slot = await modal.backend.acquire('run');
    fake.routerTokens.expireAll();
    expect((await modal.bash(slot, 'echo first')).output).toBe('first\n');
    fake.routerTokens.expireAll();
    expect(fake.router.breakStreams('TaskExecStdioRead')).toBeGreaterThan(0);
    expect((await modal.bash(slot, 'echo second')).output).toBe('second\n');
    expect(fake.faults.calls.get('AuthTokenGet')).toBeGreaterThan(1);
    expect(fake.faults.calls.get('SandboxGetCommandRouterAccess')).toBeGreaterThan(0);
    expect(modal.troubles).toEqual([]);
    for (const tokens of [fake.authTokens, fake.routerTokens]) tokens.lifetimeS = 3_600;
  });

  test('a sandbox whose making is not answered is made once', async () => {
    const calls = () => fake.faults.calls.get('SandboxCreateV2') ?? 0;
    const [called, made] = [calls(), fake.sandboxes.size];
    fake.faults.plan('SandboxCreateV2', { when: 'lost', times: 2 });
    await using modal = await startTest(fake);
    expect(calls()).toBe(called + 3);
    expect(fake.sandboxes.size).toBe(made + 1);
    expect(modal.troubles).toEqual([]);
  });

  test('calls that are refused or not answered are repeated, and nothing arrives twice', async () => {
    await using modal = await startTest(fake);
    const { backend, bash } = modal;
    const slot = await backend.acquire('run');
    for (const when of ['before', 'lost'] as const) {
      fake.faults.plan('TaskExecStdinWrite', { when, times: 3 });
      expect((await bash(slot, 'echo line >> note; wc -l < note')).success).toBe(true);
    }
    expect((await bash(slot, 'cat note')).output).toBe('line\nline\n');
    expect(modal.troubles).toEqual([]);
  });

  test('streams that break again and again lose and repeat nothing', async () => {
    await using modal = await startTest(fake, LONG_OUTPUT);
    const { backend, bash } = modal;
    const slot = await backend.acquire('run');
    fake.slowly = true;
    const counting = bash(slot, COUNT);
    let broken = 0;
    let over = false;
    void counting.finally(() => {
      over = true;
    });
    while (!over) {
      broken += fake.router.breakStreams('TaskExecStdioRead');
      await delay(20);
    }
    fake.slowly = false;
    expect((await counting).output).toBe(COUNTED);
    expect(broken).toBeGreaterThan(1);
    expect(modal.troubles).toEqual([]);
  });

  test('a control plane that is down stops no command, and is used again when it is back', async () => {
    await using modal = await startTest(fake, { slotsPerContainer: 4 });
    const { backend, bash } = modal;
    const slot = await backend.acquire('run');
    fake.controlPlane.stop();
    expect((await bash(slot, 'echo kept > note; cat note')).output).toBe('kept\n');
    await backend.release(slot);
    const again = await backend.acquire('run');
    expect((await bash(again, 'cat note')).output).toBe('kept\n');
    await fake.controlPlane.start();
    await backend.stop();
    expect(fake.running()).toEqual([]);
  });

  test('a router that is gone for good loses its sandboxes, and the next slot is in another', async () => {
    await using modal = await startTest(fake);
    const { backend, bash } = modal;
    const slot = await backend.acquire('run');
    const running = bash(slot, 'sleep 600', { timeout: 600 });
    await expect.poll(() => slot.state).toBe('executing');
    fake.router.stop();
    expect(await running).toMatchObject({ success: false, metadata: { failure: 'gone' } });
    await fake.router.start();
    await backend.release(slot);
    const again = await backend.acquire('run');
    expect(again.containerId).not.toBe(slot.containerId);
    expect((await bash(again, 'echo works')).output).toBe('works\n');
    await expect.poll(() => fake.running().length).toBe(1);
  });

  test('a sandbox that ends by itself takes along what was changed since its slot was opened', async () => {
    await using modal = await startTest(fake);
    const { backend, bash } = modal;
    const before = await backend.acquire('run');
    await bash(before, 'echo saved > note');
    await backend.release(before);
    const slot = await backend.acquire('run');
    await bash(slot, 'echo new >> note');
    const running = bash(slot, 'sleep 600', { timeout: 600 });
    await expect.poll(() => slot.state).toBe('executing');
    // As at the end of its lifetime.
    fake.sandboxes.get(slot.containerId)?.end(STATUS.timeout);
    expect(await running).toMatchObject({ success: false, metadata: { failure: 'gone' } });
    await backend.release(slot);
    const again = await backend.acquire('run');
    expect(again.containerId).not.toBe(slot.containerId);
    expect((await bash(again, 'cat note')).output).toBe('saved\n');
  });
});
