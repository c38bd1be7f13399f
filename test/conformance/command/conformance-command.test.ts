/** `npm run conformance` as users call it: its output, and its exit code. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../../support/free-port.ts';
import { HostedServer } from '../../support/hosted-server.ts';
import { reasonNotToRun } from './preflight.ts';

const COMMAND = fileURLToPath(new URL('conformance.ts', import.meta.url));
const KEY = 'sk-command-0001';

let modelPort: number;
let server: HostedServer;
beforeAll(async () => {
  modelPort = await freePort();
  server = await HostedServer.start({
    modelUrl: `http://127.0.0.1:${modelPort}/v1`,
    env: { API_SERVER_KEY: KEY },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

test('reports an unreachable server instead of testing it', async () => {
  const url = `http://127.0.0.1:${await freePort()}`;
  const { code, errors } = await conformance('--base-url', url);
  expect({ code, errors }).toMatchObject({
    code: 2,
    errors: expect.stringContaining(`Nothing answers at ${url}`),
  });
});

test.each([
  [undefined, 'The server wants a key: give it with --key.'],
  ['wrong', 'The server refuses the key that --key gives.'],
])('with the key %j it says: %s', async (key, message) => {
  const tested = { baseUrl: server.url, key, modelHost: '127.0.0.1', modelPort };
  expect(await reasonNotToRun(tested)).toBe(message);
});

test('a topic that passes is reported with its numbers, and the exit code is 0', {
  tags: ['soak'],
}, async () => {
  const { code, output } = await conformance(...ofServer(), '--topic', 'Tool calls');
  expect(output).toMatch(/✓ Tool calls: (\d+) of \1 hold\n\n\1 hold, 0 differ, 0 were not looked at\n/);
  expect(code).toBe(0);
});

test('differences are reported test by test, also as JSON, and the exit code is 1', async () => {
  // An open server admits everybody, including requests without the key that it is said to have.
  const topic = 'Paths, headers and keys';
  const port = await freePort();
  await using open = await HostedServer.start({ modelUrl: `http://127.0.0.1:${port}/v1` });
  const words = ['--base-url', open.url, '--key', 'any', '--model-port', String(port), '--topic', topic];
  const { code, output } = await conformance(...words, '--json');
  const result = JSON.parse(output);
  expect(result.failed).toBeGreaterThan(0);
  expect(result.topics).toMatchObject([{ topic, failed: result.failed }]);
  const differences = result.topics[0].differences as { test: string; difference: string }[];
  expect(differences).toHaveLength(result.failed);
  expect(differences.every(({ test, difference }) => test !== '' && difference !== '')).toBe(true);
  expect(code).toBe(1);
});

function ofServer(): string[] {
  return ['--base-url', server.url, '--key', KEY, '--model-port', String(modelPort)];
}

function conformance(...words: string[]): Promise<{ code: number; output: string; errors: string }> {
  return new Promise((resolve) => {
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    const env = { PATH, NODE_COMPILE_CACHE };
    execFile(process.execPath, [COMMAND, ...words], { env }, (error, output, errors) =>
      resolve({ code: Number(error?.code ?? 0), output, errors }),
    );
  });
}
