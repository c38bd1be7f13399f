/** The examples of docs/openai.md, unchanged, with the demo model. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readExamples } from '../installed/doc-examples.ts';
import { HostedServer } from '../support/hosted-server.ts';

const run = promisify(execFile);
const cwd = fileURLToPath(new URL('../../', import.meta.url));

let server: HostedServer;
beforeAll(async () => {
  server = await HostedServer.start();
});
afterAll(() => server[Symbol.asyncDispose]());

test.each(readExamples('docs/openai.md'))('$title prints what it says', async ({ code, prints }) => {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, OPENAI_BASE_URL: `${server.url}/v1`, OPENAI_API_KEY: 'none' };
  const words = ['--input-type=module-typescript', '--eval', code];
  const { stdout } = await run(process.execPath, words, { cwd, env });
  expect(stdout.split('\n').slice(0, -1)).toEqual(prints);
});
