/** Processes of a tool do not outlive the server: not after `kill -9`, and not in the background. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tagsOf } from '../../packages/sandbox/src/local/testing/why-unavailable.ts';
import { markedSleep, processesWith, terminal } from '../e2e/server-with-model.ts';
import { type ModelServer, script, startModelServer } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { KillableServer } from './killable-server.ts';

const SLOW = { timeout: 180_000 };

let model: ModelServer;
beforeAll(async () => {
  model = await startModelServer();
});
afterAll(() => model.close());

for (const isolation of ['bubblewrap', 'unshare'] as const) {
  describe.concurrent(`with ${isolation}`, { tags: await tagsOf(isolation) }, () =>
    describeProcesses(isolation),
  );
}

function describeProcesses(isolation: string): void {
  test(
    'the processes of a running tool and of the background are gone when the server was killed, and the model is told',
    SLOW,
    async ({ skip }) => {
      const env = { TALARIA_SANDBOX_ISOLATION: isolation };
      await using server = new KillableServer({ modelUrl: model.url, env });
      await server.start().catch((error: unknown) => {
        if (!/No isolation by/.test(String(error))) throw error;
        skip(`${isolation} does not work on this machine`);
      });
      const inTool = await sleepInTool(server);
      const { command, marker } = markedSleep();
      const gate = `background ${isolation} ${marker}`;
      const poll = { name: 'process', arguments: { action: 'poll', id: '{{found proc_[0-9a-f]+}}' } };
      const prompt = script([
        { tools: [terminal(`setsid ${command} & exec ${command}`, { background: true })] },
        { gate, tools: [poll] },
        { text: 'I see' },
      ]);
      const runId = await server.create(prompt);
      await model.waitingAt(gate);
      await waitFor('it to run', () => processesWith(marker).length >= 2);
      await server.kill();
      for (const gone of [inTool, marker]) {
        await waitFor('the processes to be gone', () => processesWith(gone).length === 0);
      }
      await server.start();
      model.open(gate);
      expect((await server.follow(runId)).at(-1)?.event).toBe('run.completed');
      const requests = model.requests.filter(({ scriptId }) => prompt.includes(`id=${scriptId} `));
      const last = requests.at(-1)!.body.messages.map(({ role, content }) => `${role}: ${content}`);
      const id = /proc_[0-9a-f]+/.exec(last.join('\n'))![0];
      const notice = last.findIndex((line) => line.startsWith('user: [The run continues in a new sandbox.'));
      expect(last[notice]).toContain(`${id} (setsid ${command}`);
      expect(last[notice - 1]).toMatch(/^tool: /);
      expect(last.at(-1)).toMatch(new RegExp(`^tool: There is no process ${id}\\. There is none.*restart`));
      expect(last.filter((line) => line.includes('in a new sandbox'))).toHaveLength(1);
    },
  );
}

// The test of the local backend shows it without a server: killed-server.test.ts.
test('without isolation they are gone when the server is back', { ...SLOW, tags: ['soak'] }, async () => {
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
