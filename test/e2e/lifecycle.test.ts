/** Starting fails loudly or works; stopping is bounded and hands every unfinished run over to the next start. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, Api, type Frame } from '../support/api.ts';
import { HostedServer } from '../support/hosted-server.ts';
import { script } from '../support/model-server.ts';
import { processorWaits } from '../support/processor-waits.ts';
import { ServerProcess } from '../support/server-process.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  endsAs,
  markedSleep,
  names,
  ofKind,
  processesWith,
  ServerWithModel,
  terminal,
  waitForApproval,
} from './server-with-model.ts';

/** For what comes after the limit: ending what ignores it, and closing. */
const BOUND_MS = 8_000;
/** Long enough to tell what waits for it from what is handed over at once. */
const LIMIT_S = 60;

async function terminate(server: ServerProcess) {
  const since = performance.now();
  const waits = processorWaits();
  const exit = await server.kill('SIGTERM');
  const tookMs = performance.now() - since;
  return { ...exit, tookMs, atMostMs: BOUND_MS + waits() };
}

// The tests below show the same of the server itself.
test('a server started with `npm start` ends when npm is told to, and leaves no process behind', {
  tags: ['soak'],
}, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'talaria-test-'));
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const env = { ...process.env, API_SERVER_PORT: '0', TALARIA_DATA_DIR: dataDir };
  const npm = spawn('npm', ['start'], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [npm.stdout, npm.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  // A process that still holds the pipe is still running.
  const closed = once(npm, 'close');
  try {
    const url = await waitFor('the server to listen', () => /listens on (\S+)/.exec(output)?.[1]);
    const { body } = await new Api(url).get<{ pid: number }>('/health/detailed');
    npm.kill('SIGTERM');
    await waitFor('the server to hear of it', () => output.includes('SIGTERM'));
    await closed;
    expect(existsSync(`/proc/${body.pid}`)).toBe(false);
  } finally {
    npm.kill('SIGKILL');
    for (const pid of processesWith(dataDir)) process.kill(Number(pid), 'SIGKILL');
    rmSync(dataDir, { recursive: true, force: true });
  }
});

let world: ServerWithModel<ServerProcess>;
beforeAll(async () => {
  world = await ServerWithModel.startProcess({ TALARIA_DRAIN_SECONDS: String(LIMIT_S) });
});
afterAll(() => world[Symbol.asyncDispose]());

describe('a server that is stopped', () => {
  const { command, marker } = markedSleep();
  /** Which run was in which state. */
  let runs: Record<'inTool' | 'inStep' | 'asking' | 'retrying' | 'answering' | 'stopped' | 'denied', string>;
  let request_id: string;
  let whileDraining: { refused: Answer<unknown>; chat: Answer<unknown>; detailed: Answer<unknown> };
  /** The frames of the answer that the server finished while it stopped. */
  let watched: Frame[];

  beforeAll(async () => {
    const { api, model, server } = world;
    const untilTold = 'touch begun; while [ ! -e go ]; do sleep 0.05; done; echo finished';
    const retryPrompt = script([
      { error: { status: 503, message: 'busy', retryAfter: 100 }, times: 1, text: 'second try' },
    ]);
    runs = {
      inTool: await api.create(script([{ tools: [terminal(untilTold)] }, { text: 'after the restart' }])),
      inStep: await api.create(
        script([
          { chunks: ['a moment', { gate: 'step' }], tools: [terminal(command, { timeout: 1 })] },
          { text: 'that took too long' },
        ]),
      ),
      asking: await api.create(
        script([{ tools: [terminal('rm -rf build; touch ran')] }, { text: 'approved' }]),
      ),
      retrying: await api.create(retryPrompt),
      answering: await api.create(script([{ gate: 'answer', text: 'done' }])),
      stopped: await api.create(script([{ gate: 'never', text: 'unsaid' }])),
      denied: await api.create(
        script([{ tools: [terminal('rm -rf build'), terminal(untilTold)] }, { text: 'done' }]),
      ),
    };
    await waitFor('the command to run', () => existsSync(world.workspaceFile(runs.inTool, 'begun')));
    for (const gate of ['step', 'answer', 'never']) await model.waitingAt(gate);
    ({ request_id } = await waitForApproval(api, runs.asking));
    await waitForApproval(api, runs.denied);
    await model.waitForRequest(({ scriptId, ended }) => ended && retryPrompt.includes(`id=${scriptId} `));
    const open = api.stream(runs.answering);

    const exited = server.kill('SIGTERM');
    const refused = await waitFor('the drain to begin', async () => {
      const answer = await api.post('/v1/runs', { input: 'too late' });
      return answer.status === 503 && answer;
    });
    const chat = await api.post('/v1/chat/completions', { messages: [{ role: 'user', content: 'x' }] });
    expect((await api.get('/health')).status).toBe(200);
    whileDraining = { refused, chat, detailed: await api.get('/health/detailed') };
    expect((await api.run(runs.answering)).status).toBe('running');
    expect((await api.approve(runs.denied, 'deny')).status).toBe(200);
    expect((await api.stop(runs.stopped)).status).toBe(200);
    await endsAs(api, runs.stopped, 'run.cancelled');

    for (const runId of [runs.inTool, runs.denied]) writeFileSync(world.workspaceFile(runId, 'go'), '');
    for (const gate of ['step', 'answer']) model.open(gate);
    const since = performance.now();
    const waits = processorWaits();
    expect((await exited).code).toBe(0);
    expect(performance.now() - since).toBeLessThan(BOUND_MS + waits());
    watched = (await open).frames;
    await server.start();
  });

  test('accepts no run meanwhile, and everything else works', () => {
    const { refused, chat, detailed } = whileDraining;
    expect(refused.body).toMatchObject({ error: { code: 'gateway_draining' } });
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(chat).toMatchObject({ status: 503, body: { error: { code: 'gateway_draining' } } });
    expect(detailed.body).toMatchObject({ gateway_state: 'draining' });
    expect(names(watched).at(-1)).toBe('run.completed');
  });

  test('lets a running tool finish, and records it as finished, not as interrupted', async () => {
    const { frames } = await endsAs(world.api, runs.inTool, 'run.completed');
    expect(ofKind(frames, 'tool.completed')).toMatchObject([{ error: false, preview: 'finished\n' }]);
  });

  test('leaves calls that have not begun for the next start', async () => {
    const { frames } = await endsAs(world.api, runs.inStep, 'run.completed');
    // It ran there, once: it was ended by its timeout, not because of an unknown outcome.
    expect(names(frames).filter((name) => name !== 'message.delta')).toEqual([
      'step.completed',
      'run.resumed',
      'tool.started',
      'tool.completed',
      'step.completed',
      'run.completed',
    ]);
    expect(ofKind(frames, 'tool.completed')[0]!.preview).toContain('timed out after 1 s');
    expect(processesWith(marker)).toEqual([]);
  });

  test('hands over at once what waits for an approval or a retry; the approval can still be answered', async () => {
    expect(await world.api.run(runs.asking)).toMatchObject({
      status: 'waiting_for_approval',
      approval: { request_id },
    });
    expect((await world.api.approve(runs.asking, 'once', { request_id })).status).toBe(200);
    const { frames } = await endsAs(world.api, runs.asking, 'run.completed');
    expect(ofKind(frames, 'approval.request')).toHaveLength(1);
    expect(existsSync(world.workspaceFile(runs.asking, 'ran'))).toBe(true);
    expect((await endsAs(world.api, runs.retrying, 'run.completed')).output).toBe('second try');
  });
});

// Its last start is the first one of the next tests, which need a short limit.
test('a second signal ends the server at once, and nothing is lost', async () => {
  const prompt = script([{ hang: 'before', times: 1, text: 'done' }]);
  const runId = await world.api.create(prompt);
  await world.model.waitForRequest(({ scriptId }) => prompt.includes(`id=${scriptId} `));
  process.kill(world.server.pid, 'SIGINT');
  await waitFor('the first signal to be taken', () => world.server.errors.includes('second signal'));
  const { code, tookMs, atMostMs } = await terminate(world.server);
  expect(code).toBe(143);
  expect(tookMs).toBeLessThan(atMostMs);
  await world.server.start({ TALARIA_DRAIN_SECONDS: '1' });
  expect((await endsAs(world.api, runId, 'run.completed')).output).toBe('done');
});

describe('at the limit', () => {
  let answering: { runId: string; before: Frame[] };
  let inTool: string;

  beforeAll(async () => {
    const { command, marker } = markedSleep();
    const runId = await world.api.create(
      script([{ hang: 'mid', chunks: ['false ', 'start'], times: 1 }, { text: 'unsaid' }]),
    );
    inTool = await world.api.create(script([{ tools: [terminal(command)] }, { text: 'I shall check' }]));
    const { frames: before } = await world.api.stream(runId, { until: () => true });
    answering = { runId, before };
    await waitFor('the command to run', () => processesWith(marker).length > 0);
    const { code, tookMs, atMostMs } = await terminate(world.server);
    expect(code).toBe(0);
    expect(tookMs).toBeGreaterThanOrEqual(990);
    expect(tookMs).toBeLessThan(1_000 + atMostMs);
    expect(processesWith(marker)).toEqual([]);
    await world.server.start();
  });

  test('a stuck run is handed over, and continues after the restart', async () => {
    const { output, frames } = await endsAs(world.api, answering.runId, 'run.completed');
    expect(output).toBe('false start');
    const from = Number(answering.before[0]!.id);
    expect(ofKind(frames, 'run.resumed')).toMatchObject([{ discard_from_seq: from }]);
  });

  test('a running tool is ended, and its outcome is reported as unknown', async () => {
    const { frames } = await endsAs(world.api, inTool, 'run.completed');
    expect(ofKind(frames, 'tool.started')).toHaveLength(1);
    expect(ofKind(frames, 'tool.completed')).toMatchObject([
      { error: true, preview: expect.stringContaining('outcome is unknown') },
    ]);
  });
});

test('an idle server ends at once, with exit code 0', async () => {
  const { code, tookMs, atMostMs } = await terminate(world.server);
  expect(code).toBe(0);
  expect(tookMs).toBeLessThan(atMostMs);
});

// How the command ends and what it prints is in packages/server/src/cli/serve.test.ts.
describe('starting', () => {
  const cleanups: (() => void)[] = [];
  afterEach(() => {
    for (const cleanup of cleanups.splice(0)) cleanup();
  });

  test('on a taken port fails loudly and leaves the runs of its data untouched', async () => {
    await using world = await ServerWithModel.start();
    const runId = await world.api.create(script([{ hang: 'before' }]));
    await world.model.waitForRequest(() => true);

    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    cleanups.push(() => taken.close());
    const { port } = taken.address() as { port: number };
    await world.server.stop();
    const requests = world.model.requests.length;
    const refused = world.server.restart({ API_SERVER_PORT: String(port) });
    await expect(refused).rejects.toThrow(`address already in use 127.0.0.1:${port}`);
    expect(world.model.requests).toHaveLength(requests);

    await world.server.restart();
    const resumed = await world.api.stream(runId, { until: ({ event }) => event.event === 'run.resumed' });
    expect(names(resumed.frames)).toEqual(['run.resumed']);
  });

  test('on a data directory in use fails loudly, and the server that uses it keeps working', async () => {
    await using world = await ServerWithModel.start();
    const runId = await world.api.create(script([{ gate: 'owner', text: 'still mine' }]));
    await world.model.waitingAt('owner');
    await using second = new ServerProcess({ dataDir: world.server.dataDir, modelUrl: world.model.url });
    expect((await second.startAndExit()).code).toBe(1);
    const lines = second.errors.trimEnd().split('\n');
    expect(lines).toEqual([expect.stringMatching(/in use by another server.*TALARIA_DATA_DIR/)]);
    expect(second.output).not.toContain('listens on');
    world.model.open('owner');
    const { frames } = await endsAs(world.api, runId, 'run.completed');
    expect(names(frames)).not.toContain('run.resumed');
  });

  test('on an unusable data directory fails loudly', async () => {
    const dir = temporaryDirectory();
    writeFileSync(join(dir, 'file'), '');
    // Permissions do not stop root, which the tests may run as; a file in the way stops everybody.
    const inTheWay = join(dir, 'file');
    const dataDir = join(inTheWay, 'data');
    await expect(HostedServer.start({ dataDir })).rejects.toThrow(`${inTheWay} is not a directory`);
  });

  test('with a file that is not a database fails loudly', async () => {
    const dataDir = temporaryDirectory();
    const file = join(dataDir, 'talaria.db');
    writeFileSync(file, 'this is no database, but a letter to its finder'.repeat(100));
    const before = readFileSync(file);
    await expect(HostedServer.start({ dataDir })).rejects.toThrow('not a database');
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test('with a model of no known provider is a configuration error, and creates nothing', async () => {
    const dataDir = join(temporaryDirectory(), 'data');
    await using server = new ServerProcess({ dataDir });
    expect((await server.startAndExit({ TALARIA_MODEL: 'mistral/large' })).code).toBe(2);
    expect(server.errors).toMatch(/^The configuration has a problem:\n {2}- /);
    expect(server.errors).toMatch(/TALARIA_MODEL is 'mistral\/large'/);
    expect(existsSync(dataDir)).toBe(false);
  });

  test('with a model without its key names the key, and creates nothing', async () => {
    const dataDir = join(temporaryDirectory(), 'data');
    const started = HostedServer.start({ dataDir, env: { TALARIA_MODEL: 'anthropic/claude' } });
    await expect(started).rejects.toThrow(/set ANTHROPIC_API_KEY/);
    expect(existsSync(dataDir)).toBe(false);
  });

  test('on an address others can reach is refused without a key, and works with one', async () => {
    const open = { API_SERVER_HOST: '0.0.0.0' };
    await expect(HostedServer.start({ dataDir: temporaryDirectory(), env: open })).rejects.toThrow(
      'API_SERVER_KEY',
    );
    const key = 'a-key-that-is-long-enough';
    await using server = await HostedServer.start({ env: { ...open, API_SERVER_KEY: key } });
    const url = server.url.replace('0.0.0.0', '127.0.0.1');
    expect((await new Api(url).get('/v1/runs')).status).toBe(401);
    expect((await new Api(url, key).get('/v1/runs')).status).toBe(200);
  });

  function temporaryDirectory(): string {
    const dir = mkdtempSync(join(tmpdir(), 'talaria-test-'));
    cleanups.push(() => rmSync(dir, { recursive: true }));
    return dir;
  }
});
