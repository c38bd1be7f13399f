/** No configured secret is shown anywhere: events, answers, logs, the sandbox. Executed commands are not masked. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Api } from '../support/api.ts';
import { type Step, script } from '../support/model-server.ts';
import { cut } from '../support/model-server-script.ts';
import type { ServerProcess } from '../support/server-process.ts';
import {
  endsAs,
  ofKind,
  ServerWithModel,
  shownText,
  terminal,
  waitForApproval,
} from './server-with-model.ts';

/** No pattern would match them: they are known because they are configured. */
const SERVER_KEY = 'quail9Zebra4Velvet7Harbor';
const OTHER_KEY = 'maple2Quartz8Lantern5Drift';
const PROVIDER_KEY = 'onyx3Thicket6Bramble1Cedar';
const SECRETS = [SERVER_KEY, OTHER_KEY, PROVIDER_KEY];

let world: ServerWithModel<ServerProcess>;
let api: Api;
beforeAll(async () => {
  world = await ServerWithModel.startProcess({
    API_SERVER_KEY: SERVER_KEY,
    API_SERVER_KEYS: `other:${OTHER_KEY}`,
    OPENAI_API_KEY: PROVIDER_KEY,
    TALARIA_LOG_LEVEL: 'trace',
    TALARIA_MODEL_RETRIES: '1',
  });
  api = world.api;
});
afterAll(() => world[Symbol.asyncDispose]());

function expectClean(text: string): void {
  for (const secret of SECRETS) {
    const at = text.indexOf(secret);
    expect(at === -1 ? '' : text.slice(Math.max(0, at - 200), at + 60)).toBe('');
  }
}

/** Plays the steps to their end and checks everything that the API says about the run. */
async function play<N extends 'run.completed' | 'run.failed'>(end: N, ...steps: Step[]) {
  const runId = await api.create(script(steps));
  const result = await endsAs(api, runId, end);
  expectClean(JSON.stringify(result));
  expectClean(JSON.stringify(await api.run(runId)));
  return { ...result, runId };
}

test('only the provider gets its key', async () => {
  await play('run.completed', { text: 'hello' });
  const { headers, body } = world.model.requests.at(-1)!;
  expect(headers.authorization).toBe(`Bearer ${PROVIDER_KEY}`);
  expectClean(JSON.stringify(body));
});

test('an error of the provider that repeats the key is masked', async () => {
  const message = `Incorrect API key provided: ${PROVIDER_KEY}`;
  const refused = await play('run.failed', { error: { status: 401, message } });
  expect(refused.error).toContain('Incorrect API key provided');
  await play('run.failed', { chunks: ['x', 'y'], streamError: { message, type: 'server_error' } });
  await play('run.failed', { error: { status: 503, message: `${SERVER_KEY} ${message}`, retryAfterMs: 1 } });
});

test('the sandbox sees none of them', async () => {
  const look = 'env > seen; cat /proc/*/environ /proc/*/cmdline >> seen 2>/dev/null; env';
  const runId = await api.create(script([{ tools: [terminal(look)] }, { text: 'done' }]));
  // Looking there is suspicious enough to ask for approval.
  await waitForApproval(api, runId);
  await api.approve(runId, 'once');
  const { frames } = await endsAs(api, runId, 'run.completed');
  expectClean(JSON.stringify(frames));
  const seen = readFileSync(world.workspaceFile(runId, 'seen'), 'utf8');
  expect(seen).toContain('PATH=');
  expectClean(seen);
});

test('a command that contains them runs unchanged and is shown without them', async () => {
  const { frames, runId } = await play(
    'run.completed',
    {
      tools: [
        terminal(`printf %s ${PROVIDER_KEY} > key; echo ${PROVIDER_KEY}; echo ${SERVER_KEY} >&2`),
        { name: 'write_file', arguments: { path: 'written', content: `key=${SERVER_KEY}` } },
        { name: SERVER_KEY, arguments: {} },
        { name: 'terminal', arguments: `{"command": "echo ${PROVIDER_KEY}` },
        { name: 'read_file', arguments: { path: PROVIDER_KEY } },
        { name: 'write_file', arguments: { path: 'long', content: `${SERVER_KEY} `.repeat(2000) } },
      ],
    },
    { text: 'done' },
  );
  expect(readFileSync(world.workspaceFile(runId, 'key'), 'utf8')).toBe(PROVIDER_KEY);
  expect(readFileSync(world.workspaceFile(runId, 'written'), 'utf8')).toBe(`key=${SERVER_KEY}`);
  expect(ofKind(frames, 'tool.started')).toHaveLength(6);
  // The model works with what really happened.
  const told = world.model.requests.at(-1)!.body.messages.filter(({ role }) => role === 'tool');
  expect(told[0]!.content).toContain(PROVIDER_KEY);
});

test('one at the cut of a preview is not shown in part', async () => {
  const half = PROVIDER_KEY.slice(0, PROVIDER_KEY.length / 2);
  for (const before of [155, 175, 180]) {
    const command = `echo ${'a'.repeat(before)} ${PROVIDER_KEY}; printf '%s %s\\n' "$(head -c ${before + 300} /dev/zero | tr '\\0' b)" ${PROVIDER_KEY}`;
    const { frames } = await play('run.completed', { tools: [terminal(command)] }, { text: 'done' });
    const [started] = ofKind(frames, 'tool.started');
    const [completed] = ofKind(frames, 'tool.completed');
    for (const { preview } of [started!, completed!]) expect(preview).not.toContain(half);
    expect(started!.preview).toMatch(/^echo aaa.*…$/);
  }
});

test('a question about a command that contains them is masked', async () => {
  const runId = await api.create(
    script([{ tools: [terminal(`rm -rf build; printf %s ${PROVIDER_KEY} > key`)] }, { text: 'done' }]),
  );
  const approval = await waitForApproval(api, runId);
  expect(approval.command).toContain('rm -rf build');
  expectClean(JSON.stringify(approval));
  expectClean(JSON.stringify(await api.list()));
  await api.approve(runId, 'once');
  expectClean(JSON.stringify(await endsAs(api, runId, 'run.completed')));
  expect(readFileSync(world.workspaceFile(runId, 'key'), 'utf8')).toBe(PROVIDER_KEY);
});

test('a model that says them is masked, however they are cut into pieces', async () => {
  const text = `It is ${PROVIDER_KEY}, or else ${SERVER_KEY}${OTHER_KEY}. ${PROVIDER_KEY.slice(0, 8)} is no key.`;
  for (const pieces of [1, 3, 10, text.length]) {
    const { frames, output } = await play('run.completed', {
      chunks: cut(text, pieces),
      delayMs: pieces > 20 ? 2 : 25,
      reasoning: `They want ${PROVIDER_KEY}`,
    });
    expect(shownText(frames)).toBe(output);
    expect(output).toContain(`${PROVIDER_KEY.slice(0, 8)} is no key.`);
  }
});

test('a model that is interrupted while it says one shows nothing of it', async () => {
  const { frames } = await play('run.failed', {
    chunks: [`It is ${PROVIDER_KEY.slice(0, 20)}`, 'x'],
    disconnect: 'mid',
  });
  expect(shownText(frames)).toMatch(/^It is /);
});

test('text that is steered into a run is masked', async () => {
  const runId = await api.create(script([{ chunks: ['a ', { gate: 'steer' }, 'b'] }, { text: 'done' }]));
  await world.model.waitingAt('steer');
  const steered = await api.post(`/v1/runs/${runId}/steer`, { input: `the key is ${SERVER_KEY}` });
  expect(steered.status).toBe(200);
  world.model.open('steer');
  const { frames } = await endsAs(api, runId, 'run.completed');
  expect(ofKind(frames, 'run.steered')).toHaveLength(1);
  expectClean(JSON.stringify(frames));
  expect(JSON.stringify(world.model.requests.at(-1)!.body.messages)).toContain(SERVER_KEY);
});

test('answers to requests that carry them are masked', async () => {
  for (const answer of [
    await new Api(world.server.url, `${SERVER_KEY}x`).get('/v1/runs'),
    await api.get('/health/detailed'),
    await api.get('/v1/capabilities'),
    await api.get('/openapi.json'),
    await api.post('/v1/runs', { input: '' }),
  ]) {
    expectClean(JSON.stringify([answer.body, [...answer.headers]]));
  }
});

// Last: checks what all of the above left behind.
test('none of them is in the log or in the stored data that is shown', async () => {
  await world.server.kill('SIGTERM');
  expect(world.server.errors).not.toBe('');
  expectClean(world.server.errors);
  expectClean(world.server.output);
  const db = new DatabaseSync(join(world.server.dataDir, 'talaria.db'), { readOnly: true });
  try {
    const shown = db.prepare('SELECT public FROM records WHERE public IS NOT NULL').all();
    expect(shown.length).toBeGreaterThan(20);
    expectClean(JSON.stringify(shown));
    expectClean(JSON.stringify(db.prepare('SELECT state FROM runs').all()));
  } finally {
    db.close();
  }
});
