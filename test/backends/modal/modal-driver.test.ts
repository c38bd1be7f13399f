/** What the driver asks of Modal, and what it makes of the answers. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FakeModal } from './fake/fake-modal.ts';
import { NETWORK_BLOCKED } from './fake/sandbox.ts';
import { NO_FAKE, startTest } from './modal-fixture.ts';

const MEGABYTE = 1024 * 1024;
const NETWORK_OPEN = 1;

describe.skipIf(NO_FAKE)(`Modal${NO_FAKE ? ` (skipped: ${NO_FAKE})` : ''}`, () => {
  let fake: FakeModal;
  beforeAll(async () => {
    fake = await FakeModal.start();
  });
  afterAll(() => fake[Symbol.asyncDispose]());

  test('a sandbox has no network, no secret and the limits it was given', async () => {
    await using modal = await startTest(fake, {
      limits: { memoryBytes: 300 * MEGABYTE, cpus: 2 },
      regions: ['eu-west'],
      reservedMemoryMb: 1_000,
      reservedCpus: 0.5,
      lifetimeS: 3_600,
    });
    const slot = await modal.backend.acquire('run');
    const { output } = await modal.bash(slot, 'env; cat /proc/net/dev');
    expect(output).toContain('lo:');
    expect(output).not.toContain('eth0');
    expect(output).not.toContain(fake.tokenSecret);
    expect(fake.running()[0]?.parts.definition).toMatchObject({
      networkAccess: { networkAccessType: NETWORK_BLOCKED },
      schedulerPlacement: { regions: ['eu-west'] },
      // Beyond what commands may use there is some for the server, and no more is reserved than there may be.
      resources: { memoryMbMax: 428, memoryMb: 428, milliCpuMax: 2_000, milliCpu: 500 },
      timeoutSecs: 3_600,
    });
    expect(modal.backend.stats().limits).toMatchObject([
      { limit: 'memoryBytes', by: 'container' },
      { limit: 'cpus', by: 'container' },
    ]);
  });

  test('the network is open where it is allowed, nothing is limited unasked, and the image is not built again', async () => {
    const { built } = fake.images;
    await using _ = await startTest(fake, { allowNetwork: true });
    expect(fake.running()[0]?.parts.definition).toMatchObject({
      networkAccess: { networkAccessType: NETWORK_OPEN },
      resources: { memoryMbMax: 0, memoryMb: 512, milliCpuMax: 0, milliCpu: 250 },
      timeoutSecs: 24 * 3_600,
    });
    expect(fake.images.built).toBe(built);
  });

  test('without namespaces inside, a sandbox is for one slot, and the workspace is kept all the same', async () => {
    fake.without = ['bwrap', 'unshare'];
    await using modal = await startTest(fake);
    const { backend, bash } = modal;
    expect(backend.stats().isolation).toMatchObject({ kind: 'container' });
    const slot = await backend.acquire('run');
    expect((await bash(slot, 'echo kept > note; pwd')).output).toMatch(/^\/talaria\/workspaces\//);
    await backend.release(slot);
    const again = await backend.acquire('run');
    expect(again.containerId).not.toBe(slot.containerId);
    expect((await bash(again, 'cat note')).output).toBe('kept\n');
    await backend.stop();
    expect(fake.running()).toEqual([]);
    fake.without = [];
  });

  test.each([
    ['a token that is refused', [], { tokenSecret: 'as-another-secret' }, 'UNAUTHENTICATED'],
    ['an image that no registry has', [], { image: 'nowhere:1' }, 'there is no image nowhere:1'],
    [
      'a limit that the server inside cannot enforce',
      ['du'],
      { limits: { workspaceBytes: MEGABYTE } },
      'not enforced',
    ],
  ])('%s is a reason not to start, and nothing is left', async (_, without, options, said) => {
    fake.images.missing.add('nowhere:1');
    fake.without = without;
    const failure = await startTest(fake, options).then(
      () => undefined,
      (error: Error) => error,
    );
    fake.without = [];
    expect(failure?.message).toContain(said);
    expect(failure?.message).not.toContain('secret');
    expect(fake.running()).toEqual([]);
  });
});
