/** The programs of docs/webhooks.md, unchanged: one starts a run, the others hear how it ended. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { HostedServer } from '../support/hosted-server.ts';
import { waitFor } from '../support/wait-for.ts';

const root = new URL('../../', import.meta.url);
const document = readFileSync(new URL('docs/webhooks.md', root), 'utf8');
const SECRET = `whsec_${Buffer.from('of the documentation').toString('base64')}`;

let directory: string;
let server: HostedServer;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'talaria-webhook-docs-'));
  // In place of an `npm install`.
  symlinkSync(fileURLToPath(new URL('node_modules', root)), join(directory, 'node_modules'));
  for (const [, code, name] of document.matchAll(/```js\n(\/\/ (\S+)\n[\s\S]*?)```/g)) {
    writeFileSync(join(directory, name!), code!);
  }
  server = await HostedServer.start({ env: { TALARIA_WEBHOOK_ALLOW_PRIVATE: 'true' } });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

function run(program: string, env: Record<string, string>): { child: ChildProcess; printed(): string } {
  let printed = '';
  const child = spawn(process.execPath, [join(directory, program)], {
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  }
  onTestFinished(() => void child.kill());
  return { child, printed: () => printed };
}

const TITLE = '%s hears of the run that start.mjs starts';
test.each(['receiver.mjs'])(TITLE, hears);
// webhooks.test.ts reads messages with the same library.
test.each(['openai-receiver.mjs'])(TITLE, { tags: ['soak'] }, hears);

async function hears(name: string): Promise<void> {
  const receiver = run(name, { PORT: '0', WEBHOOK_SECRET: SECRET });
  const url = await waitFor('the receiver', () => /http:\/\/\S+/.exec(receiver.printed())?.[0]);
  expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(401);
  const started = run('start.mjs', {
    TALARIA_BASE_URL: server.url,
    WEBHOOK_URL: url,
    WEBHOOK_SECRET: SECRET,
  });
  const runId = await waitFor('the run', () => /started (run_\w+)/.exec(started.printed())?.[1]);
  await waitFor(`the message, after ${receiver.printed()}`, () =>
    receiver.printed().includes(`run.completed ${runId}`),
  );
}
