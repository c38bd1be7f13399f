/** What a tool started does not outlive the server: neither `kill -9` nor a background process changes that. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { markedSleep, processesWith, terminal } from '../e2e/server-with-model.ts';
import { type ModelServer, script, startModelServer } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { KillableServer } from './killable-server.ts';

const SLOW = { timeout: 60_000 };

let model: ModelServer;
beforeAll(async () => {
  model = await startModelServer();
});
afterAll(() => model.close());

describe.concurrent.each(['bubblewrap', 'unshare'])('with %s', (isolation) => {
  test('the processes of a running tool are gone when the server was killed', SLOW, async ({ skip }) => {
    const env = { TALARIA_SANDBOX_ISOLATION: isolation };
    await using server = new KillableServer({ modelUrl: model.url, env });
    await server.start().catch((error: unknown) => {
      if (!/No isolation by/.test(String(error))) throw error;
      skip(`${isolation} does not work on this machine`);
    });
    const marker = await sleepInTool(server);
    await server.kill();
    await waitFor('the processes to be gone', () => processesWith(marker).length === 0);
    await server.start();
  });
});

test('without isolation they are gone when the server is back', SLOW, async () => {
  await using server = new KillableServer({
    modelUrl: model.url,
    env: { TALARIA_SANDBOX_ISOLATION: 'none' },
  });
  await server.start();
  const marker = await sleepInTool(server);
  await server.killAndStart();
  expect(processesWith(marker)).toEqual([]);
});

/** Three processes: of the tool, in its background, and in a session of its own. */
async function sleepInTool(server: KillableServer): Promise<string> {
  const { command, marker } = markedSleep();
  await server.create(script([{ tools: [terminal(`setsid ${command} & ${command} & ${command}`)] }]));
  await waitFor('the tool to run', () => processesWith(marker).length >= 3);
  return marker;
}
