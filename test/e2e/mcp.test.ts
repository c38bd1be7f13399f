/**
 * Tools of MCP servers in runs: offered, called, gated, stopped, interrupted, and never a danger to the server itself.
 */
import { existsSync, mkdtempDisposableSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ToolsetList } from '@talaria/protocol';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { McpServerHealth } from '../../packages/server/src/mcp/mcp-server.ts';
import { talaria } from '../cli/talaria.ts';
import type { Api } from '../support/api.ts';
import { type HttpMcpServer, startHttpMcpServer } from '../support/mcp/http-server.ts';
import { script } from '../support/model-server.ts';
import { processorWaits } from '../support/processor-waits.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { waitFor } from '../support/wait-for.ts';
import { describeRestart } from './one-restart.ts';
import { call, inTurn, play, toldOf } from './played-run.ts';
import {
  endsAs,
  names,
  ofKind,
  processesWith,
  ServerWithModel,
  waitForApproval,
} from './server-with-model.ts';

const STDIO = fileURLToPath(new URL('../support/mcp/stdio-server.ts', import.meta.url));
const BROKEN = fileURLToPath(new URL('../support/mcp/broken-server.ts', import.meta.url));
/** No pattern would match them: they are known because they are configured. */
const ENV_SECRET = 'quail9Zebra4Velvet7Harbor';
const HEADER_SECRET = 'maple2Quartz8Lantern5Drift';

const COMPILED = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE! };
const node = (...args: string[]) => ({ command: process.execPath, args, env: COMPILED });

interface Detailed {
  mcp_servers: McpServerHealth[];
  readiness: object;
}

async function health(api: Api): Promise<McpServerHealth[]> {
  return (await api.get<Detailed>('/health/detailed')).body.mcp_servers;
}

async function allReady(api: Api): Promise<void> {
  await waitFor('the MCP servers', async () => (await health(api)).every(({ status }) => status === 'ready'));
}

/** What the command shows of these settings. */
async function configOf(env: Record<string, string>): Promise<string> {
  return (await talaria('', ['config', '--json'], { env })).stdout;
}

function temporaryFile(): string {
  const dir = mkdtempSync(join(tmpdir(), 'talaria-mcp-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return join(dir, 'file');
}

function linesOf(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
}

function marker(): string {
  return `--marker=${process.pid}-${Math.random().toString(36).slice(2)}`;
}

describe('with a child process and an HTTP server', () => {
  let world: ServerWithModel<ServerProcess>;
  let http: HttpMcpServer;
  const mark = marker();
  let startedAt: number;
  beforeAll(async () => {
    http = await startHttpMcpServer('session');
    startedAt = Date.now();
    const servers = {
      local: { ...node(STDIO, mark), env: { ...COMPILED, SERVICE_TOKEN: `\${THE_TOKEN}` } },
      remote: {
        url: http.url,
        headers: { 'X-Api-Key': HEADER_SECRET },
        tools: ['echo', 'add'],
        approval: 'always',
      },
    };
    world = await ServerWithModel.startProcess({
      TALARIA_MCP_SERVERS: JSON.stringify(servers),
      THE_TOKEN: ENV_SECRET,
      TALARIA_LOG_LEVEL: 'trace',
    });
  });
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    await http[Symbol.asyncDispose]();
  });

  // First: the server has just been started.
  test('a run that is claimed right after the start gets the tools of quick servers', async () => {
    await play(world, { text: 'hello' });
    const request = world.model.requests.at(-1)!;
    const offered = request.body.tools!.map((tool) => tool.function.name);
    // On a machine so busy that nothing is quick, the run continues without them, three seconds after the start of the server.
    if (request.at - startedAt < 2_900) expect(offered).toContain('mcp__local__echo');
    await allReady(world.api);
  });

  test('the model gets their tools beside its own, and uses them', async () => {
    const { told, completed, started, runId } = await play(
      world,
      { tools: [call('mcp__local__echo', { text: 'hello' }), call('mcp__local__add', { a: 20, b: 22 })] },
      ...inTurn(call('mcp__local__fail', {}), call('terminal', { command: 'echo beside' })),
    );
    expect(told.map(({ content }) => content)).toEqual([
      'hello',
      '{"sum":42}',
      'that did not work',
      'beside\n',
    ]);
    expect(completed.map(({ tool, error }) => [tool, error])).toEqual([
      ['mcp__local__echo', false],
      ['mcp__local__add', false],
      ['mcp__local__fail', true],
      ['terminal', false],
    ]);
    expect(started[0]).toMatchObject({
      tool: 'mcp__local__echo',
      preview: '{"text":"hello"}',
      arguments: { text: 'hello' },
    });
    const offered = world.model.requests.at(-1)!.body.tools!.map((tool) => tool.function);
    expect(offered.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['terminal', 'todo', 'mcp__local__echo', 'mcp__remote__add']),
    );
    expect(offered.find(({ name }) => name === 'mcp__local__echo')?.parameters).toMatchObject({
      properties: { text: { type: 'string' } },
      required: ['text'],
    });
    for (const { name } of offered) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect((await world.api.run(runId)).status).toBe('completed');
  });

  test('an unknown tool is explained to the model', async () => {
    const { told } = await play(
      world,
      ...inTurn(
        call('mcp__remote__fail', {}),
        call('mcp__other__x', {}),
        call('mcp__local__echo', 'not json' as never),
      ),
    );
    expect(told[0]!.content).toBe(
      "The MCP server 'remote' has no tool 'mcp__remote__fail' now. Its tools: mcp__remote__echo, mcp__remote__add",
    );
    expect(told[1]!.content).toMatch(
      /^There is no tool 'mcp__other__x'\. Tools: terminal, .*mcp__local__echo/,
    );
    expect(told[2]!.content).toMatch(/arguments are not valid JSON/);
  });

  test('/v1/toolsets has a set for each', async () => {
    const { body } = await world.api.get<ToolsetList>('/v1/toolsets');
    expect(body.data.find(({ name }) => name === 'mcp-remote')).toEqual({
      name: 'mcp-remote',
      label: 'MCP: remote',
      description: expect.any(String),
      enabled: true,
      configured: true,
      tools: ['mcp__remote__add', 'mcp__remote__echo'],
    });
  });

  test('/health/detailed shows each with its tools', async () => {
    const [local, remote] = await health(world.api);
    expect(local).toMatchObject({
      name: 'local',
      transport: 'stdio',
      status: 'ready',
      restarts: 0,
      approval: 'never',
    });
    expect(local!.tools).toContain('mcp__local__echo');
    expect(Math.abs(Date.parse(local!.since) - Date.now())).toBeLessThan(600_000);
    expect(remote).toEqual({
      name: 'remote',
      transport: 'http',
      status: 'ready',
      since: expect.any(String),
      restarts: 0,
      approval: 'always',
      tools: ['mcp__remote__echo', 'mcp__remote__add'],
    });
  });

  test('a call to a gated server asks first, and shows what it would do', async () => {
    const api = world.api;
    const prompt = script(inTurn(call('mcp__remote__echo', { text: 'please', password: 'hunter2' })));
    const runId = await api.create(prompt);
    const approval = await waitForApproval(api, runId);
    expect(approval).toMatchObject({
      command: 'mcp__remote__echo {"text":"please","password":"[redacted]"}',
      pattern_key: 'mcp__remote__echo',
      pattern_keys: ['mcp__remote__echo'],
      choices: ['once', 'session', 'always', 'deny'],
    });
    await api.approve(runId, 'once');
    const { frames } = await endsAs(api, runId, 'run.completed');
    expect(names(frames).filter((name) => name !== 'message.delta')).toEqual([
      'step.completed',
      'tool.started',
      'approval.request',
      'approval.responded',
      'tool.completed',
      'step.completed',
      'run.completed',
    ]);
    expect(toldOf(world, prompt)[0]!.content).toBe('please');
  });

  test('is not made when refused; a grant for the session covers only that tool', async () => {
    const api = world.api;
    const echo = call('mcp__remote__echo', { text: 'x' });
    const refused = await api.create(script(inTurn(echo)));
    await waitForApproval(api, refused);
    await api.approve(refused, 'deny');
    const { frames } = await endsAs(api, refused, 'run.completed');
    expect(ofKind(frames, 'tool.completed')[0]).toMatchObject({
      error: true,
      preview: expect.stringContaining('A person refused this call'),
    });

    const session = { session_id: `mcp-${Math.random()}` };
    const first = await api.create(script(inTurn(echo, echo)), session);
    await waitForApproval(api, first);
    await api.approve(first, 'session');
    expect(ofKind((await endsAs(api, first, 'run.completed')).frames, 'approval.request')).toHaveLength(1);
    const second = await api.create(script(inTurn(echo, call('mcp__remote__add', { a: 1, b: 1 }))), session);
    expect(await waitForApproval(api, second)).toMatchObject({ pattern_key: 'mcp__remote__add' });
    await api.approve(second, 'once');
    expect(ofKind((await endsAs(api, second, 'run.completed')).frames, 'approval.request')).toHaveLength(1);
  });

  test('a stop ends a call within five seconds, and the server is told', async () => {
    const file = temporaryFile();
    await allReady(world.api);
    const runId = await world.api.create(script(inTurn(call('mcp__local__wait', { file }))));
    await waitFor('the call to begin', () => linesOf(file).includes('begun'));
    const asked = performance.now();
    const waits = processorWaits();
    await world.api.stop(runId);
    await endsAs(world.api, runId, 'run.cancelled');
    expect(performance.now() - asked - waits()).toBeLessThan(5_000);
    await waitFor('the cancellation', () => linesOf(file).includes('cancelled'));
  });

  test('a server that dies during a call is restarted, and the run continues with it', async () => {
    await allReady(world.api);
    const gate = 'until it is back';
    const prompt = script([
      { tools: [call('mcp__local__exit', { code: 9 })] },
      { gate, tools: [call('mcp__local__echo', { text: 'back' })] },
      { text: 'done' },
    ]);
    const runId = await world.api.create(prompt);
    await world.model.waitingAt(gate);
    await waitFor('the restart', async () => {
      const [server] = await health(world.api);
      return server!.status === 'ready' && server!.restarts === 1;
    });
    world.model.open(gate);
    await endsAs(world.api, runId, 'run.completed');
    const told = toldOf(world, prompt);
    expect(told[0]!.content).toMatch(/'local' ended with exit code 9: Error: I was told to during this call/);
    expect(told[1]!.content).toBe('back');
  });

  // Last: checks what all of the above left behind.
  test('its secrets reach the servers and nobody else', async () => {
    expect(http.requests.every((headers) => headers['x-api-key'] === HEADER_SECRET)).toBe(true);
    const { told, completed } = await play(
      world,
      ...inTurn(
        call('mcp__local__environment', {}),
        call('mcp__local__complain', { text: `I hold ${ENV_SECRET} here` }),
        call('mcp__local__echo', { text: HEADER_SECRET }),
      ),
    );
    const environment = JSON.parse(told[0]!.content) as Record<string, string>;
    expect(environment.SERVICE_TOKEN).toBe(ENV_SECRET);
    expect(
      Object.keys(environment).filter((name) => /TALARIA|API_SERVER|OPENAI|THE_TOKEN/.test(name)),
    ).toEqual([]);
    expect(completed[2]!.preview).toBe('[redacted]');

    await waitFor('the complaint in the log', () => world.server.errors.includes('I hold [redacted] here'));
    const shown = [
      JSON.stringify(completed),
      JSON.stringify((await world.api.get('/health/detailed')).body),
      world.server.errors,
      world.server.output,
      await configOf({
        HOME: world.server.dataDir,
        THE_TOKEN: ENV_SECRET,
        TALARIA_MCP_SERVERS: JSON.stringify({
          local: { command: 'x', args: ['--token', ENV_SECRET], env: { SERVICE_TOKEN: `\${THE_TOKEN}` } },
          remote: { url: 'http://127.0.0.1/', headers: { 'X-Api-Key': HEADER_SECRET } },
        }),
      }),
    ];
    for (const text of shown) {
      expect(text).not.toContain(ENV_SECRET);
      expect(text).not.toContain(HEADER_SECRET);
    }
    expect(shown.at(-1)).toContain('SERVICE_TOKEN');
  });

  test('a stop of the server ends its child process', async () => {
    expect(processesWith(mark)).toHaveLength(1);
    await world.server.kill('SIGTERM');
    expect(processesWith(mark)).toEqual([]);
  });
});

test('servers that never get ready delay neither the start nor a run', async () => {
  const servers = {
    silent: { ...node(BROKEN, 'silent'), connect_timeout_seconds: 3600 },
    missing: { command: 'no-such-program' },
    nowhere: { url: 'http://127.0.0.1:1/mcp' },
  };
  await using world = await ServerWithModel.start({ TALARIA_MCP_SERVERS: JSON.stringify(servers) });
  const { output } = await play(world, ...inTurn(call('terminal', { command: 'echo fine' })));
  expect(output).toBe('I see');
  const offered = world.model.requests.at(-1)!.body.tools!.map((tool) => tool.function.name);
  expect(offered.filter((name) => name.startsWith('mcp'))).toEqual([]);
  const { told } = await play(world, ...inTurn(call('mcp__silent__x', {}), call('mcp__missing__x', {})));
  expect((await world.api.get<Detailed>('/health/detailed')).body.readiness).toMatchObject({
    status: 'ready',
    checks: { mcp: { status: 'degraded', detail: '0 of 3 MCP servers ready' } },
  });
  expect(told[0]!.content).toMatch(/'silent' is being connected; try again later/);
  expect(told[1]!.content).toMatch(/'missing' is (not available|being connected)/);
  const states = await waitFor('the failures', async () => {
    const found = await health(world.api);
    return found.filter(({ status }) => status === 'failed').length === 2 && found;
  });
  expect(states.map(({ name, status }) => [name, status])).toEqual([
    ['silent', 'connecting'],
    ['missing', 'failed'],
    ['nowhere', 'failed'],
  ]);
  expect(states[2]!.reason).toBe('refuses connections (ECONNREFUSED)');
});

const MARK = marker();
const KILLED = { gated: { ...node(STDIO, MARK), approval: 'always' } };

describeRestart('kill -9', { env: { TALARIA_MCP_SERVERS: JSON.stringify(KILLED) } }, (test) => {
  test('in the middle of a call: the call is not repeated', async (world) => {
    using dir = mkdtempDisposableSync(join(tmpdir(), 'talaria-mcp-'));
    const file = join(dir.path, 'file');
    await allReady(world.api);
    const prompt = script(inTurn(call('mcp__gated__wait', { file })));
    const runId = await world.api.create(prompt);
    await waitForApproval(world.api, runId);
    await world.api.approve(runId, 'once');
    await waitFor('the call to begin', () => linesOf(file).includes('begun'));
    await world.restart();
    const { frames } = await endsAs(world.api, runId, 'run.completed');
    expect(ofKind(frames, 'tool.completed').map(({ error }) => error)).toEqual([true]);
    expect(toldOf(world, prompt)[0]!.content).toContain('Its outcome is unknown');
    expect(linesOf(file).filter((line) => line === 'begun')).toHaveLength(1);
  });

  test('leaves a pending approval, and its call is then made', async (world) => {
    using dir = mkdtempDisposableSync(join(tmpdir(), 'talaria-mcp-'));
    const file = join(dir.path, 'file');
    await allReady(world.api);
    const prompt = script(inTurn(call('mcp__gated__wait', { file, ms: 1 })));
    const runId = await world.api.create(prompt);
    const asked = await waitForApproval(world.api, runId);
    await world.restart();
    const { request_id } = await waitForApproval(world.api, runId);
    expect(request_id).toBe(asked.request_id);
    expect(linesOf(file)).toEqual([]);
    await allReady(world.api);
    await world.api.approve(runId, 'once');
    await endsAs(world.api, runId, 'run.completed');
    expect(linesOf(file)).toEqual(['begun', 'done']);
    expect(toldOf(world, prompt)[0]!.content).toBe('waited');
  });

  test('ends the child processes with their server', async (world) => {
    await allReady(world.api);
    expect(processesWith(MARK)).toHaveLength(1);
    await world.restart(async () => {
      await waitFor('the children to be gone', () => processesWith(MARK).length === 0);
    });
  });
});
