/** The settings of a server, from its environment to a command in a sandbox, by the check that does just that. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { FakeModal } from './fake/fake-modal.ts';
import { NO_FAKE } from './modal-fixture.ts';

const TALARIA = fileURLToPath(new URL('../../../packages/server/bin/talaria.js', import.meta.url));

/** The SDK is installed beside these tests and not, as for users, beside the program. */
const FIND_SDK = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  registerHooks({
    resolve: (name, context, next) =>
      name === 'modal' ? { url: ${JSON.stringify(import.meta.resolve('modal'))}, shortCircuit: true } : next(name, context),
  });
`)}`;

interface Check {
  name: string;
  status: string;
  detail: string;
}

async function doctor(env: Record<string, string>): Promise<Map<string, Check>> {
  const dataDir = await mkdtemp(join(tmpdir(), 'talaria-modal-doctor-'));
  const child = spawn(process.execPath, ['--import', FIND_SDK, TALARIA, 'doctor', '--json'], {
    env: {
      ...{ PATH: process.env.PATH, HOME: '/nonexistent', TALARIA_DATA_DIR: dataDir, API_SERVER_PORT: '0' },
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said] = await Promise.all([text(child.stdout), once(child, 'close')]);
  await rm(dataDir, { recursive: true, force: true });
  const { checks } = JSON.parse(said) as { checks: Check[] };
  return new Map(checks.map((check) => [check.name, check]));
}

describe.skipIf(NO_FAKE)(`Modal${NO_FAKE ? ` (skipped: ${NO_FAKE})` : ''}`, () => {
  test('the settings of a server reach the sandbox that it starts, and the doctor leaves none', async () => {
    await using fake = await FakeModal.start();
    const checks = await doctor({
      ...fake.environment,
      TALARIA_BACKEND: 'modal',
      TALARIA_MODAL_APP: 'agents',
      TALARIA_MODAL_IMAGE: 'python:3.13',
      TALARIA_MODAL_REGIONS: 'eu-west, eu-north',
      TALARIA_MODAL_CPUS: '1.5',
      TALARIA_MODAL_MEMORY_MB: '256',
      TALARIA_MODAL_TIMEOUT_SECONDS: '600',
    });
    expect(checks.get('modal')).toMatchObject({
      status: 'ok',
      detail: 'takes the token; app agents, image python:3.13',
    });
    expect(checks.get('sandbox')).toMatchObject({ status: 'ok' });
    const [sandbox] = fake.sandboxes.values();
    expect(sandbox?.parts).toMatchObject({
      appId: 'ap-agents',
      definition: {
        timeoutSecs: 600,
        schedulerPlacement: { regions: ['eu-west', 'eu-north'] },
        resources: { milliCpu: 1_500, memoryMb: 256 },
      },
    });
    expect(fake.running()).toEqual([]);
  });

  test('a token that is refused is found, and not shown', async () => {
    await using fake = await FakeModal.start();
    const secret = 'as-wrong-and-private';
    const checks = await doctor({
      ...fake.environment,
      TALARIA_BACKEND: 'modal',
      MODAL_TOKEN_SECRET: secret,
    });
    expect(checks.get('modal')).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('UNAUTHENTICATED'),
    });
    expect(JSON.stringify([...checks.values()])).not.toContain(secret);
  });
});
