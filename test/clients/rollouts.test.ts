/** examples/rollouts.ts: many trajectories through few slots, with rewards, and nothing left afterwards. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { SlotList } from '@talaria/protocol';
import { expect, test } from 'vitest';
import { Api } from '../support/api.ts';
import { HostedServer } from '../support/hosted-server.ts';

const run = promisify(execFile);
const example = fileURLToPath(new URL('../../examples/rollouts.ts', import.meta.url));

async function rollOut(maxSlots: number, ...words: string[]): Promise<string> {
  const env = { TALARIA_SLOTS: 'true', TALARIA_MAX_SLOTS: `${maxSlots}`, TALARIA_SLOT_WAIT_SECONDS: '600' };
  await using server = await HostedServer.start({ env });
  const { stdout } = await run(process.execPath, [example, ...words], {
    env: { PATH: process.env.PATH, TALARIA_BASE_URL: server.url },
  });
  const { body } = await new Api(server.url).get<SlotList>('/v1/slots');
  expect(body).toMatchObject({ data: [], stats: { held: 0, waiting: 0, available: maxSlots } });
  return stdout;
}

test('40 trajectories with more workers than slots', async () => {
  expect(await rollOut(4, '40', '8')).toBe('40 trajectories, mean reward 0.50\n');
});

test('200 trajectories through 32 slots, as it runs by default', {
  tags: ['soak'],
  timeout: 600_000,
}, async () => {
  expect(await rollOut(32)).toBe('200 trajectories, mean reward 0.50\n');
});
