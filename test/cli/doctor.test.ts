/** What `doctor` finds, with real directories, databases, sockets, and a model that answers or does not. */
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  openTestDaemon,
  TEST_IMAGE,
  type TestDaemon,
  whyNoDocker,
} from '../../packages/sandbox/src/docker/testing/docker-daemon.ts';
import { listContainers } from '../../packages/sandbox/src/docker/testing/docker-fixture.ts';
import { program } from '../../packages/server/src/mcp/testing/running-servers.ts';
import { ServerWithModel } from '../e2e/server-with-model.ts';
import { startHttpMcpServer } from '../support/mcp/http-server.ts';
import { startModelServer } from '../support/model-server.ts';
import { FROM_SOURCE } from '../support/server-process.ts';
import { spawnTalaria, talaria, talariaProcess } from './talaria.ts';

const whyNot = await whyNoDocker();

interface Check {
  name: string;
  status: string;
  detail: string;
  facts: string[];
  fix: string | null;
}

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'talaria-doctor-test-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

async function doctor(env: Record<string, string> = {}, flags: string[] = [], run = talaria) {
  const { code, stdout, stderr } = await run('http://127.0.0.1:1', ['doctor', '--json', ...flags], {
    env: { TALARIA_DATA_DIR: directory, API_SERVER_PORT: '0', ...env },
  });
  expect(stderr).toBe('');
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Check[] };
  return { code, ok, check: Object.fromEntries(checks.map((check) => [check.name, check])) };
}

async function listen(handler: RequestListener) {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

test('on a complete machine it leaves nothing behind and says what to do next', async () => {
  await using model = await startModelServer();
  const env = {
    TALARIA_DATA_DIR: directory,
    API_SERVER_PORT: '0',
    OPENAI_BASE_URL: model.url,
    TALARIA_MODEL: 'scripted',
  };
  const { code, stdout } = await talaria('http://127.0.0.1:1', ['doctor'], { env });
  expect(code).toBe(0);
  for (const name of [
    'node',
    'data',
    'database',
    'disk',
    'docker',
    'modal',
    'sandbox',
    'model',
    'mcp',
    'port',
  ]) {
    expect(stdout).toMatch(new RegExp(`^[✓!] ${name} +\\S`, 'm'));
  }
  expect(stdout).toMatch(/✓ model +\S*scripted answered in [\d.]+s/);
  expect(stdout).toMatch(/next: talaria serve\n$/);
  expect(readdirSync(directory)).toEqual([]);
  expect(model.requests[0]!.body.tools).toHaveLength(1);
});

describe('the data directory', () => {
  test('that does not exist yet will be created, and checking does not create it', async () => {
    const path = join(directory, 'new', 'data');
    const { ok, check } = await doctor({ TALARIA_DATA_DIR: path });
    expect(ok).toBe(true);
    expect(check.data).toMatchObject({
      status: 'ok',
      detail: expect.stringContaining('will be made at the first start'),
    });
    expect(existsSync(join(directory, 'new'))).toBe(false);
  });

  test('that others can read is a warning', async () => {
    chmodSync(directory, 0o755);
    const { check } = await doctor();
    expect(check.data).toMatchObject({ status: 'warning', fix: `chmod 700 ${directory}` });
  });

  test('that is a file, or below one, is a failure', async () => {
    const file = join(directory, 'file');
    writeFileSync(file, '');
    for (const path of [file, join(file, 'data')]) {
      const { code, ok, check } = await doctor({ TALARIA_DATA_DIR: path });
      expect({ code, ok }).toEqual({ code: 1, ok: false });
      expect(check.data).toMatchObject({
        status: 'failed',
        fix: expect.stringContaining('TALARIA_DATA_DIR'),
      });
    }
  });
});

describe('the database', () => {
  test('that is damaged is a failure', async () => {
    writeFileSync(
      join(directory, 'talaria.db'),
      'this is no database, it is long enough to look at though'.repeat(100),
    );
    const { code, check } = await doctor();
    expect(code).toBe(1);
    expect(check.database).toMatchObject({
      status: 'failed',
      detail: expect.stringMatching(/not a database/),
      fix: expect.stringMatching(/Restore a backup/),
    });
  });

  test('of a newer version is a failure', async () => {
    const db = new DatabaseSync(join(directory, 'talaria.db'));
    db.exec('CREATE TABLE t (x); PRAGMA user_version = 9999');
    db.close();
    const { check } = await doctor();
    expect(check.database).toMatchObject({
      status: 'failed',
      detail: expect.stringMatching(/newer version/),
    });
  });
});

describe('Modal', () => {
  test('that is not used needs nothing', async () => {
    const { check } = await doctor({});
    expect(check.modal).toMatchObject({ status: 'ok', detail: 'not used: TALARIA_BACKEND is local' });
  });

  test('that is used needs its SDK, and the check says which', async () => {
    // In a process of its own: vitest looks for packages in its own way.
    const env = { TALARIA_BACKEND: 'modal', MODAL_TOKEN_ID: 'ak-1', MODAL_TOKEN_SECRET: 'as-kept-to-itself' };
    const { code, check } = await doctor(env, [], talariaProcess);
    expect(code).toBe(1);
    expect(check.modal).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('npm install modal@0.11.1'),
      fix: expect.stringContaining('docs/modal.md'),
    });
    expect(JSON.stringify(check)).not.toContain('as-kept-to-itself');
  });
});

describe('Docker', () => {
  const env = { TALARIA_BACKEND: 'docker', TALARIA_DOCKER_IMAGE: 'no-such-image:none' };

  test('that is not used and not there is no failure', async () => {
    const { check } = await doctor({ DOCKER_HOST: 'unix:///nonexistent/docker.sock' });
    expect(check.docker).toMatchObject({
      status: 'ok',
      detail: 'not used: TALARIA_BACKEND is local; no daemon answers at unix:///nonexistent/docker.sock',
    });
  });

  test('that is used and does not answer is a failure', async () => {
    const { code, check } = await doctor({ ...env, DOCKER_HOST: 'unix:///nonexistent/docker.sock' });
    expect(code).toBe(1);
    expect(check.docker).toMatchObject({ status: 'failed', fix: expect.stringContaining('Start Docker') });
    expect(check.sandbox).toMatchObject({ status: 'failed' });
  });

  describe.skipIf(whyNot !== undefined)(
    `that answers${whyNot === undefined ? '' : ` (missing: ${whyNot})`}`,
    () => {
      let daemon: TestDaemon;
      beforeAll(async () => {
        daemon = await openTestDaemon();
      });
      afterAll(() => daemon[Symbol.asyncDispose]());

      test('and has no such image is a failure', { tags: ['soak'] }, async () => {
        const { check } = await doctor({ ...env, DOCKER_HOST: daemon.host });
        expect(check.docker).toMatchObject({ status: 'failed', fix: 'docker pull no-such-image:none' });
      });

      test('and has no such runtime is a failure that says where it belongs', {
        tags: ['soak'],
      }, async () => {
        const { check } = await doctor({
          ...env,
          DOCKER_HOST: daemon.host,
          TALARIA_DOCKER_IMAGE: TEST_IMAGE,
          TALARIA_DOCKER_RUNTIME: 'no-such-runtime',
        });
        expect(check.docker).toMatchObject({
          status: 'failed',
          detail: expect.stringContaining('has no runtime no-such-runtime'),
          fix: expect.stringContaining('/etc/docker/daemon.json'),
        });
        expect(check.sandbox).toMatchObject({ status: 'failed' });
      });

      test('runs a command, and leaves nothing behind', { tags: ['soak'] }, async () => {
        const { code, check } = await doctor({
          ...env,
          DOCKER_HOST: daemon.host,
          TALARIA_DOCKER_IMAGE: TEST_IMAGE,
        });
        expect(check.docker).toMatchObject({ status: 'ok', detail: expect.stringContaining(TEST_IMAGE) });
        expect(check.sandbox).toMatchObject({ detail: expect.stringMatching(/^Docker/) });
        expect(check.sandbox!.status).not.toBe('failed');
        expect(code).toBe(0);
        expect(await listContainers(daemon)).toEqual([]);
        expect(readdirSync(directory)).toEqual([]);
      });
    },
  );
});

describe('Ctrl-C', () => {
  test('ends it, after the job that it has started is gone', async () => {
    const asked: string[] = [];
    const allocations = (status: string) =>
      JSON.stringify([{ ID: 'a', CreateIndex: 1, ClientStatus: status }]);
    const registered = Promise.withResolvers<void>();
    /** An agent with a node that never gets to run anything. */
    const { server, port } = await listen(({ method = '', url = '' }, response) => {
      const { pathname, searchParams } = new URL(url, 'http://agent');
      asked.push(`${method} ${pathname.replace(/talaria-[^/]+/, 'JOB')} ${searchParams.get('purge') ?? ''}`);
      response.setHeader('x-nomad-index', 7);
      if (method === 'PUT') registered.resolve();
      if (method !== 'GET') response.end('{"EvalID":"one"}');
      else if (pathname === '/v1/status/leader') response.end('"here"');
      else if (pathname === '/v1/jobs') response.end('[]');
      else if (pathname.startsWith('/v1/evaluation')) response.end('{"Status":"complete"}');
      else if (asked.includes('DELETE /v1/job/JOB false')) response.end(allocations('complete'));
      else if (searchParams.get('index') === '0') response.end(allocations('pending'));
    });
    const env = {
      ...{ TALARIA_DATA_DIR: directory, API_SERVER_PORT: '0', TALARIA_BACKEND: 'nomad' },
      ...{ NOMAD_ADDR: `http://127.0.0.1:${port}`, TALARIA_NOMAD_DRIVER: 'raw_exec' },
    };
    try {
      // A task runs the files of the package, which the bundle does not have.
      const { child, ended } = spawnTalaria('http://127.0.0.1:1', ['doctor'], { env, program: FROM_SOURCE });
      const early = await Promise.race([registered.promise, ended]);
      expect(early).toBeUndefined();
      child.kill('SIGINT');
      const { code, stderr } = await ended;
      expect(stderr).toContain('SIGINT: removing what was started');
      expect(code).toBe(130);
      expect(asked).toContain('DELETE /v1/job/JOB true');
      expect(readdirSync(directory)).toEqual([]);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});

describe('the sandbox', () => {
  test('says what is enforced and what is not', async () => {
    const { check } = await doctor({ TALARIA_SANDBOX_ISOLATION: 'none', TALARIA_SANDBOX_FILE_SIZE_MB: '7' });
    expect(check.sandbox).toMatchObject({
      status: 'warning',
      detail: expect.stringMatching(/commands run as this user, every command asks first/),
      fix: expect.stringMatching(/bubblewrap/),
    });
    expect(check.sandbox!.facts).toContainEqual(expect.stringMatching(/^file size: 7 MB .* by rlimit/));
    expect(check.sandbox!.facts).toContainEqual(expect.stringMatching(/^network: reachable/));
  });
});

describe('the model', () => {
  test('without isolation is a warning', async () => {
    const { ok, check } = await doctor();
    expect(ok).toBe(true);
    expect(check.model).toMatchObject({
      status: 'warning',
      fix: expect.stringContaining('OPENAI_BASE_URL'),
    });
  });

  test('that cannot be reached is a failure that names the setting', async () => {
    const { code, check } = await doctor({ OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' });
    expect(code).toBe(1);
    expect(check.model).toMatchObject({ status: 'failed', fix: expect.stringContaining('OPENAI_BASE_URL') });
  });

  test('that refuses the key is a failure, and the key is not shown', async () => {
    const { server, port } = await listen((_, response) => {
      response.writeHead(401, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: 'Incorrect API key: sk-secret-0123456789' } }));
    });
    try {
      const url = `http://127.0.0.1:${port}/v1`;
      const { check } = await doctor({ OPENAI_BASE_URL: url, OPENAI_API_KEY: 'sk-secret-0123456789' });
      expect(check.model).toMatchObject({
        status: 'failed',
        fix: expect.stringContaining('OPENAI_API_KEY'),
      });
      expect(JSON.stringify(check)).not.toContain('sk-secret');
    } finally {
      server.close();
    }
  });

  test('whose URL lacks its /v1 is a failure that asks about the URL', async () => {
    const { server, port } = await listen((_, response) => response.writeHead(404).end('404 page not found'));
    try {
      const { check } = await doctor({ OPENAI_BASE_URL: `http://127.0.0.1:${port}`, TALARIA_MODEL: 'm' });
      expect(check.model).toMatchObject({
        status: 'failed',
        detail: expect.stringContaining(`http://127.0.0.1:${port}/chat/completions; is /v1 missing`),
        fix: expect.stringContaining('OPENAI_BASE_URL'),
      });
    } finally {
      server.close();
    }
  });

  test('without its key is a configuration error', async () => {
    const { check } = await doctor({ TALARIA_MODEL: 'anthropic/claude-sonnet-5' });
    expect(check.model).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('ANTHROPIC_API_KEY'),
    });
  });
});

describe('MCP servers', () => {
  const mcp = (servers: Record<string, object>) => doctor({ TALARIA_MCP_SERVERS: JSON.stringify(servers) });

  test('that answer are listed with their tools, and none of their processes is left', async () => {
    const pidFile = join(directory, 'pid');
    const wrapped = program('broken-server', 'greeting');
    const command = `echo $$ > ${pidFile}; exec ${[wrapped.command, ...wrapped.args].join(' ')}`;
    const { code, check } = await mcp({
      files: { command: 'sh', args: ['-c', command] },
      unused: { command: 'no-such-program', enabled: false },
    });
    expect(code).toBe(0);
    expect(check.mcp).toMatchObject({
      status: 'ok',
      detail: '1 of 1 connected, 1 switched off',
      facts: ['files: 1 tool (only)'],
      fix: null,
    });
    expect(existsSync(`/proc/${readFileSync(pidFile, 'utf8').trim()}`)).toBe(false);
  });

  test('that speak only the newer protocol are reached, too', { tags: ['soak'] }, async () => {
    await using server = await startHttpMcpServer('modern');
    const { check } = await mcp({ remote: { url: server.url } });
    expect(check.mcp).toMatchObject({ status: 'ok', detail: '1 of 1 connected' });
  });

  test('that do not work are failures, each with how to fix it, and no key is shown', async () => {
    const { server, port } = await listen((request, response) => {
      response.writeHead(401).end(`the key ${request.headers.authorization} is wrong`);
    });
    try {
      const { code, check } = await mcp({
        remote: { url: `http://127.0.0.1:${port}/`, headers: { Authorization: 'Bearer s3cret-token-1' } },
        away: { url: 'http://127.0.0.1:1/mcp' },
        missing: { command: 'no-such-program' },
        silent: { ...program('broken-server', 'silent'), connect_timeout_seconds: 0.5 },
        good: program('broken-server', 'greeting'),
      });
      expect(code).toBe(1);
      expect(check.mcp).toMatchObject({ status: 'failed', detail: '1 of 5 connected' });
      expect(check.mcp!.facts).toEqual([
        expect.stringMatching(/^remote: answers HTTP 401 Unauthorized: the key \[redacted\] is wrong$/),
        'away: refuses connections (ECONNREFUSED)',
        expect.stringMatching(/^missing: .*no-such-program/),
        'silent: did not complete the handshake within 0.5 s',
        'good: 1 tool (only)',
      ]);
      expect(check.mcp!.fix!.split('; ')).toEqual([
        'Check the key in mcp_servers.remote.headers',
        'Check mcp_servers.away.url, and that the server runs',
        'Run the command of mcp_servers.missing by hand to see what it says',
        'Check that mcp_servers.silent is an MCP server, or give it more connect_timeout_seconds',
      ]);
      expect(JSON.stringify(check)).not.toContain('s3cret');
    } finally {
      server.close();
    }
  });

  test('that lack a tool the settings name are a warning', async () => {
    const { ok, check } = await mcp({
      files: { ...program('broken-server', 'greeting'), tools: ['only', 'gone'] },
    });
    expect(ok).toBe(true);
    expect(check.mcp).toMatchObject({
      status: 'warning',
      facts: ['files: 1 tool (only), but not gone'],
      fix: 'Fix mcp_servers.files.tools: the server has only',
    });
  });
});

describe('the port', () => {
  test('that one of our servers has is fine, and its state is shown', async () => {
    await using world = await ServerWithModel.start({ API_SERVER_KEY: 'a-key-of-the-server' });
    const { port } = new URL(world.server.url);
    const env = { API_SERVER_PORT: port, TALARIA_DATA_DIR: world.server.dataDir };
    const { check } = await doctor({ ...env, API_SERVER_KEY: 'a-key-of-the-server' });
    expect(check.port).toMatchObject({
      status: 'ok',
      detail: expect.stringMatching(/listens on .* and is ready$/),
    });
    expect(check.data!.detail).toMatch(/in use by a running server$/);
    expect(check.database).toMatchObject({ status: 'ok' });
    const { stdout } = await talaria('http://127.0.0.1:1', ['doctor'], {
      env: { ...env, API_SERVER_KEY: 'a-key-of-the-server' },
    });
    expect(stdout).toMatch(/next: talaria run '…'\n$/);
    const other = await doctor(env);
    expect(other.check.port).toMatchObject({
      status: 'warning',
      detail: expect.stringContaining('another key'),
    });
  });

  test('that another program has is a failure', async () => {
    const { server, port } = await listen((_, response) => response.end('hello'));
    try {
      const { code, check } = await doctor({ API_SERVER_PORT: String(port) });
      expect(code).toBe(1);
      expect(check.port).toMatchObject({
        status: 'failed',
        detail: `127.0.0.1 port ${port} is in use by another program`,
        fix: expect.stringContaining('--port'),
      });
    } finally {
      server.close();
    }
  });
});

test('invalid settings are reported as everywhere, with exit code 2', async () => {
  const { code, stderr } = await talaria('http://127.0.0.1:1', ['doctor', '--prot', '1']);
  expect(code).toBe(2);
  expect(stderr).toContain('unknown flag --prot; did you mean --port?');
});
