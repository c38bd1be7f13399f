/** Every program in examples/ runs against a real server and prints what its `//=>` and `#=>` comments say. */
import { execFile, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { Api } from '../support/api.ts';
import { HostedServer } from '../support/hosted-server.ts';
import { waitFor } from '../support/wait-for.ts';

const run = promisify(execFile);
const directory = new URL('../../examples/', import.meta.url);
const cwd = fileURLToPath(directory);
const read = (name: string): string => readFileSync(new URL(name, directory), 'utf8');

/** One runs until it is ended, the others take a number of trajectories: they have their own tests. */
const TESTED_ELSEWHERE = ['webhook-receiver.ts', 'rollouts.ts', 'rollouts.py'];
const programs = readdirSync(directory).filter((name) => /\.(ts|sh|py)$/.test(name));

const { PATH, NODE_COMPILE_CACHE } = process.env;

let server: HostedServer;
beforeAll(async () => {
  server = await HostedServer.start({ env: { TALARIA_WEBHOOK_ALLOW_PRIVATE: 'true' } });
});
afterAll(() => server[Symbol.asyncDispose]());

test('examples/README.md lists every example', () => {
  const listed = [...read('README.md').matchAll(/^\| \[(\S+)\]\(\1\)/gm)].map(([, name]) => name);
  expect(listed.toSorted()).toEqual(programs.toSorted());
});

test.each(programs.filter((name) => !TESTED_ELSEWHERE.includes(name)))(
  '%s prints what it says',
  async (name) => {
    const prints = [...read(name).matchAll(/(?:\/\/|#)=> (.*)$/gm)].map(([, text]) => text);
    expect(prints).not.toEqual([]);
    const program = name.endsWith('.sh') ? 'bash' : process.execPath;
    const env = { PATH, NODE_COMPILE_CACHE, TALARIA_BASE_URL: server.url };
    const { stdout } = await run(program, [name], { cwd, env });
    expect(stdout.split('\n').slice(0, -1)).toEqual(prints);
  },
);

test('webhook-receiver.ts takes signed messages and refuses others', async () => {
  const secret = `whsec_${Buffer.from('a secret of the examples').toString('base64')}`;
  const receiver = spawn(process.execPath, ['webhook-receiver.ts'], {
    cwd,
    env: { PATH, NODE_COMPILE_CACHE, PORT: '0', WEBHOOK_SECRET: secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void receiver.kill());
  let printed = '';
  receiver.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  const url = await waitFor('the receiver', () => /listening on (\S+)/.exec(printed)?.[1]);
  expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(401);
  const body = { input: 'Run `echo hello`', webhook: { url, secret } };
  const created = await new Api(server.url).post('/v1/runs', body);
  const { run_id: runId } = created.body as { run_id: string };
  await waitFor('the message', () => printed.includes(`run.completed ${runId}`));
});
