/** The files of a run are on the server that works on it; any server on the same Postgres serves them. */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRunId } from '@talaria/protocol';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { checkPeers } from '../../packages/server/src/cli/doctor/checks/peers.ts';
import { PostgresJournal } from '../../packages/server/src/journal/postgres/postgres-journal.ts';
import {
  type SharedPostgres,
  sharedPostgres,
} from '../../packages/server/src/journal/postgres/testing/start-postgres.ts';
import { talaria } from '../cli/talaria.ts';
import { Api } from '../support/api.ts';
import { HostedServer } from '../support/hosted-server.ts';
import { type ModelServer, script, startModelServer } from '../support/model-server.ts';
import { ServerProcess } from '../support/server-process.ts';
import type { RunningServer } from '../support/server-settings.ts';
import { waitFor } from '../support/wait-for.ts';
import { endsAs, ofKind, terminal, waitForStatus } from './server-with-model.ts';

const KEY = 'key-of-ada-0123456789';
const KEYS = { API_SERVER_KEYS: `ada:${KEY},eve:key-of-eve-0123456789` };
const HUGE_BYTES = 400_000_000;

let postgres: SharedPostgres;
let model: ModelServer;
const servers: RunningServer[] = [];

beforeAll(async () => {
  [postgres, model] = await Promise.all([sharedPostgres(), startModelServer()]);
});
afterAll(async () => {
  await model?.close();
  await postgres?.stop();
});

async function startServer(url: string, env: Record<string, string> = {}): Promise<ServerProcess> {
  const server = await ServerProcess.start({
    modelUrl: model.url,
    env: { ...KEYS, TALARIA_DATABASE_URL: url, TALARIA_LEASE_SECONDS: '2', ...env },
  });
  servers.push(server);
  return server;
}

/** For a server that is neither killed nor looked into. */
async function startHosted(url: string, env: Record<string, string> = {}): Promise<HostedServer> {
  const server = await HostedServer.start({
    modelUrl: model.url,
    env: { ...KEYS, TALARIA_DATABASE_URL: url, TALARIA_LEASE_SECONDS: '2', ...env },
  });
  servers.push(server);
  return server;
}

async function endServers(): Promise<void> {
  for (const server of servers.splice(0)) await server[Symbol.asyncDispose]();
}

const apiOf = (server: RunningServer, key = KEY) => new Api(server.url, key);

function artifacts(server: RunningServer, runId: string, path = '', init: RequestInit = {}) {
  const headers = { authorization: `Bearer ${KEY}`, ...init.headers };
  return fetch(`${server.url}/v1/runs/${runId}/artifacts${path}`, { ...init, headers });
}

async function listed(server: RunningServer, runId: string): Promise<string[]> {
  const { data } = (await (await artifacts(server, runId)).json()) as { data: { path: string }[] };
  return data.map(({ path }) => path);
}

const workspaceOf = (server: RunningServer, runId: string) =>
  join(server.dataDir, 'workspaces', `t-${runId}`);

async function errorOf(answer: Response): Promise<{ status: number; code: string; message: string }> {
  const { error } = (await answer.json()) as { error: { code: string; message: string } };
  return { status: answer.status, ...error };
}

describe('a server without workspaces', () => {
  let database: string;
  let worker: ServerProcess;
  let front: ServerProcess;
  let runId: string;

  beforeAll(async () => {
    database = await postgres.createDatabase();
    [worker, front] = await Promise.all([
      startServer(database, { TALARIA_ROLE: 'work' }),
      startServer(database, { TALARIA_ROLE: 'http' }),
    ]);
    const command = `mkdir -p out; printf 'one two three' > 'out/a b'; truncate -s ${HUGE_BYTES} huge; ln -s /etc link`;
    runId = await apiOf(front).create(script([{ tools: [terminal(command)] }, { text: 'done' }]));
    await endsAs(apiOf(front), runId, 'run.completed');
  });
  afterAll(endServers);

  test('lists, reads and archives the files on the other server', async () => {
    expect(await listed(front, runId)).toEqual(['huge', 'link', 'out']);
    expect(existsSync(workspaceOf(front, runId))).toBe(false);
    const file = await artifacts(front, runId, '/content?path=out%2Fa%20b');
    expect(Object.fromEntries(file.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': '13',
      'content-disposition': expect.stringContaining('a b'),
      'accept-ranges': 'bytes',
      'last-modified': expect.any(String),
      'x-content-type-options': 'nosniff',
    });
    expect(file.headers.has('x-talaria-peer')).toBe(false);
    expect(await file.text()).toBe('one two three');
    const tag = file.headers.get('etag')!;
    const content = (init: RequestInit) => artifacts(front, runId, '/content?path=out/a%20b', init);
    const part = await content({ headers: { range: 'bytes=4-6', 'if-range': tag } });
    expect([part.status, part.headers.get('content-range'), await part.text()]).toEqual([
      206,
      'bytes 4-6/13',
      'two',
    ]);
    expect((await content({ headers: { 'if-none-match': tag } })).status).toBe(304);
    const head = await content({ method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), head.headers.get('etag')]).toEqual([
      200,
      '13',
      tag,
    ]);
    const beyond = await content({ headers: { range: 'bytes=99-' } });
    expect(beyond.headers.get('content-range')).toBe('bytes */13');
    expect(await errorOf(beyond)).toMatchObject({ status: 416, code: 'range_not_satisfiable' });
    const archive = await artifacts(front, runId, '/archive?path=out&format=tar');
    expect(archive.headers.get('content-disposition')).toContain('out.tar');
    expect(await archive.text()).toContain('one two three');
    expect((await artifacts(front, runId, '/archive', { method: 'HEAD' })).status).toBe(200);
  });

  test('passes on the reason when there is nothing, and does not ask for another key’s run', async () => {
    const refusals = [
      ['/content?path=nothing', 404, 'artifact_not_found'],
      ['/content?path=link', 400, 'invalid_path'],
      ['/content', 400, 'invalid_path'],
      ['/archive?format=rar', 400, 'invalid_request'],
    ] as const;
    for (const [path, status, code] of refusals) {
      expect(await errorOf(await artifacts(front, runId, path))).toMatchObject({ status, code });
    }
    const eve = apiOf(front, 'key-of-eve-0123456789');
    expect(await eve.get(`/v1/runs/${runId}/artifacts`)).toMatchObject({
      status: 404,
      body: { error: { code: 'run_not_found' } },
    });
  });

  test('serves files that a run makes while it continues', async () => {
    const steps = [
      { tools: [terminal('echo one > first; while [ ! -e go ]; do sleep 0.05; done; echo two > second')] },
      { text: 'done' },
    ];
    const going = await apiOf(front).create(script(steps));
    expect(await listed(front, going)).not.toContain('second');
    await waitFor('the first file', async () => (await listed(front, going)).includes('first'));
    writeFileSync(join(workspaceOf(worker, going), 'go'), '');
    await endsAs(apiOf(front), going, 'run.completed');
    expect(await listed(front, going)).toEqual(['first', 'go', 'second']);
  });

  test('writes and removes files on the other server, with conditions', async () => {
    const at = (path: string, init: RequestInit) => artifacts(front, runId, `/content?path=${path}`, init);
    const put = (path: string, body: string, headers = {}) => at(path, { method: 'PUT', body, headers });
    const made = await put('in/new', 'written', { 'if-none-match': '*' });
    expect([made.status, await made.json()]).toEqual([
      201,
      expect.objectContaining({ run_id: runId, path: 'in/new', size: 7 }),
    ]);
    const tag = made.headers.get('etag')!;
    expect(readFileSync(join(workspaceOf(worker, runId), 'in/new'), 'utf8')).toBe('written');
    expect(existsSync(workspaceOf(front, runId))).toBe(false);
    expect(await errorOf(await put('in/new', 'x', { 'if-none-match': '*' }))).toMatchObject({ status: 412 });
    expect((await put('in/new', 'again', { 'if-match': tag })).status).toBe(200);
    expect(await errorOf(await put('link/x', 'x'))).toMatchObject({ status: 400, code: 'invalid_path' });
    const stale = await at('in/new', { method: 'DELETE', headers: { 'if-match': tag } });
    expect(await errorOf(stale)).toMatchObject({ status: 412, code: 'precondition_failed' });
    expect((await at('in&recursive=true', { method: 'DELETE' })).status).toBe(200);
    expect(existsSync(join(workspaceOf(worker, runId), 'in'))).toBe(false);
    const eve = apiOf(front, 'key-of-eve-0123456789');
    const theirs = await eve.request('PUT', `/v1/runs/${runId}/artifacts/content?path=x`, { body: '{}' });
    expect(theirs).toMatchObject({ status: 404, body: { error: { code: 'run_not_found' } } });
  });

  test('leaves nothing of a file whose sender goes away, on neither server', async () => {
    const abort = new AbortController();
    const body = new ReadableStream({
      async pull(stream) {
        stream.enqueue(Buffer.alloc(100_000));
        if (stagedFiles(worker).length > 0) abort.abort();
        else await new Promise((resolve) => setTimeout(resolve, 5));
      },
    });
    const init = { method: 'PUT', body, duplex: 'half', signal: abort.signal } as RequestInit;
    await expect(artifacts(front, runId, '/content?path=half', init)).rejects.toThrow();
    await waitFor('the staged file to go', () => stagedFiles(worker).length === 0);
    expect(await listed(front, runId)).not.toContain('half');
  });

  test('reads no faster from the other than its client does, and stops when the client leaves', async () => {
    const before = bytesRead(worker);
    const abort = new AbortController();
    const response = await artifacts(front, runId, '/archive?format=tar&path=huge', { signal: abort.signal });
    const reader = response.body!.getReader();
    await reader.read();
    let last = -1;
    await waitFor('the other to stop reading', async () => {
      await new Promise((resolve) => setTimeout(resolve, 200));
      const now = bytesRead(worker);
      const still = now === last;
      last = now;
      return still;
    });
    // What sockets and streams buffer between the two ends, not the size of the file.
    expect(last - before).toBeLessThan(HUGE_BYTES / 4);
    expect(openWorkspaceFiles(worker).length).toBeGreaterThan(0);
    abort.abort();
    await waitFor('the files to be closed', () => openWorkspaceFiles(worker).length === 0);
  });

  test('is the only one for which peers’ routes exist', async () => {
    const path = `/peers/runs/${runId}/artifacts`;
    for (const init of [
      {},
      { headers: { authorization: `Bearer ${KEY}` } },
      {
        headers: { authorization: `Bearer ${KEY}`, 'x-talaria-peer': `${'0'.repeat(32)}.${'0'.repeat(64)}` },
      },
      { headers: { authorization: `Bearer ${KEY}` }, method: 'POST' },
      { headers: { authorization: `Bearer ${KEY}` }, method: 'OPTIONS' },
    ]) {
      for (const server of [worker, front]) {
        const answer = await fetch(server.url + path, init);
        const unknown = await fetch(`${server.url}/nothing`, init);
        expect(answer.headers.has('allow')).toBe(false);
        const { code } = await errorOf(answer);
        expect({ code, status: answer.status }).toEqual({
          code: (await errorOf(unknown)).code,
          status: unknown.status,
        });
      }
    }
    const { body } = await apiOf(front).get<{ paths: object }>('/openapi.json');
    expect(Object.keys(body.paths).filter((known) => known.includes('peers'))).toEqual([]);
  });

  const facts = () => [
    expect.stringMatching(`\\(work\\) at ${worker.url}$`),
    expect.stringMatching(/^server_afar \(all\) at http:\/\/127.0.0.1:2: .*ECONNREFUSED/),
  ];

  test('finds which of the others it cannot reach', () =>
    withUnreachable(async () => {
      const found = await checkPeers(database);
      expect(found).toMatchObject({
        status: 'warning',
        fix: expect.stringContaining('TALARIA_ADVERTISE_URL'),
      });
      expect(found.facts).toEqual(expect.arrayContaining(facts()));
    }));

  test('finds it with doctor, too', { tags: ['soak'] }, () =>
    withUnreachable(async () => {
      const { stdout } = await talaria(front.url, ['doctor', '--json'], {
        env: {
          TALARIA_DATA_DIR: front.dataDir,
          TALARIA_DATABASE_URL: database,
          TALARIA_ROLE: 'http',
          API_SERVER_PORT: '0',
        },
      });
      const { checks } = JSON.parse(stdout) as { checks: { name: string; facts: string[] }[] };
      const found = checks.find(({ name }) => name === 'peers');
      expect(found).toMatchObject({ status: 'warning' });
      expect(found?.facts).toEqual(expect.arrayContaining(facts()));
    }),
  );

  /** While the database knows a server that nobody reaches. */
  async function withUnreachable(look: () => Promise<void>): Promise<void> {
    const journal = await PostgresJournal.open({ url: database });
    const server = {
      serverId: 'server_afar',
      url: 'http://127.0.0.1:2',
      role: 'all',
      version: '1',
      maxRuns: 1,
    };
    const { servers: known } = journal.peers;
    try {
      const startedAt = await known.announce(server);
      let renewed = Promise.resolve(true);
      // A server without signs of life is not looked for, and a busy machine may take long to look.
      const life = setInterval(() => {
        renewed = known.renew(server, startedAt);
      }, 1_000);
      try {
        await look();
      } finally {
        clearInterval(life);
        await renewed;
      }
      await known.leave(server.serverId, startedAt);
    } finally {
      await journal.close();
    }
  }

  test('has its own id: a server on a copy of its data directory does not start', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'talaria-test-'));
    onTestFinished(() => rmSync(dataDir, { recursive: true }));
    copyFileSync(join(front.dataDir, 'server-id'), join(dataDir, 'server-id'));
    const env = { ...KEYS, TALARIA_DATABASE_URL: database, TALARIA_ROLE: 'http' };
    await expect(HostedServer.start({ dataDir, env })).rejects.toThrow(
      `The server at ${front.url} goes by the id of this one`,
    );
  });

  test('names the others, and the one that has the files while it is away', async () => {
    const { body } = await apiOf(front).get<{ readiness: { checks: { peers: { servers: object[] } } } }>(
      '/health/detailed',
    );
    expect(body.readiness.checks.peers.servers).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ url: worker.url, role: 'work', self: false }),
        expect.objectContaining({ url: front.url, role: 'http', self: true }),
      ]),
    );
    const workerUrl = worker.url;
    const reader = (await artifacts(front, runId, '/archive?format=tar')).body!.getReader();
    await reader.read();
    await worker.kill();
    const drain = async () => {
      while (!(await reader.read()).done);
    };
    await expect(drain()).rejects.toThrow();
    for (const path of ['', '/content?path=huge', '/archive']) {
      const refusal = await errorOf(await artifacts(front, runId, path));
      expect(refusal).toMatchObject({ status: 503, code: 'workspace_unavailable' });
      expect(refusal.message).toMatch(
        new RegExp(
          `on the server server_[0-9a-f]{32} at ${workerUrl}, which was last seen at .*Z and does not`,
        ),
      );
    }
    // A server looks for another one with its id: this one starts where it was, at the same address.
    await worker.start({ API_SERVER_PORT: new URL(workerUrl).port });
    expect(await listed(front, runId)).toEqual(['huge', 'link', 'out']);
    await worker.kill('SIGTERM');
    const { message } = await errorOf(await artifacts(front, runId));
    expect(message).toMatch(/which was stopped at .*Z$/);
    const secret = /x-talaria-peer|[0-9a-f]{64}/;
    expect(front.errors + front.output + worker.errors + worker.output).not.toMatch(secret);
  });
});

describe('a run that changed servers', () => {
  afterEach(endServers);

  test('without checkpoints has the files of the last one, and never continues with older ones', async () => {
    const url = await postgres.createDatabase();
    const front = await startHosted(url, { TALARIA_ROLE: 'http' });
    const worker = { TALARIA_ROLE: 'work', TALARIA_CHECKPOINTS: 'false' };
    const first = await startHosted(url, worker);
    const wait = 'touch waiting; while :; do sleep 0.05; done';
    const steps = [
      { tools: [terminal('echo old > of-first')] },
      { tools: [terminal(wait)] },
      { tools: [terminal('echo new > of-second')] },
      { tools: [terminal(wait)] },
      { tools: [terminal('ls; echo last > of-third')] },
      { text: 'done' },
    ];
    const runId = await apiOf(front).create(script(steps));
    await waitFor('the first to wait', async () => (await listed(front, runId)).includes('waiting'));
    expect(await listed(front, runId)).toEqual(['of-first', 'waiting']);
    await first.stop();

    const second = await startHosted(url, worker);
    await waitFor('the second to wait', async () => {
      const answer = await artifacts(front, runId);
      return answer.ok && (await listed(front, runId)).join() === 'of-second,waiting';
    });
    expect(existsSync(join(workspaceOf(first, runId), 'of-first'))).toBe(true);

    await second.stop();
    await first.restart();
    const { frames } = await endsAs(apiOf(front), runId, 'run.completed');
    expect(ofKind(frames, 'run.resumed')).toMatchObject([{ workspace_lost: true }, { workspace_lost: true }]);
    expect(await listed(front, runId)).toEqual(['of-third']);
    expect(ofKind(frames, 'tool.completed').at(-1)?.preview).not.toMatch(/of-(first|second)/);
  });

  test('leaves nothing behind when another server evicts it, and files of no run stay', async () => {
    const url = await postgres.createDatabase();
    // It keeps runs so long that it evicts none itself within this test, and looks for what others evicted.
    const keeping = await startHosted(url, { TALARIA_RUN_RETENTION_SECONDS: '30' });
    const api = apiOf(keeping);
    const made = await api.create(script([{ tools: [terminal('echo x > file')] }, { text: 'done' }]));
    await endsAs(api, made, 'run.completed');
    // Its files came with the data directory: they are not recorded before the next start.
    const moved = await api.create(script([{ text: 'done' }]));
    await waitForStatus(api, moved, 'completed');
    const strange = createRunId();
    for (const runId of [moved, strange]) mkdirSync(workspaceOf(keeping, runId));
    await keeping.restart();
    const evicting = await startHosted(url, { TALARIA_RUN_RETENTION_SECONDS: '1' });
    for (const runId of [made, moved]) {
      const status = async () => (await apiOf(evicting).get(`/v1/runs/${runId}`)).status;
      await waitFor('the eviction', async () => (await status()) === 404);
      await waitFor('the workspace to go', () => !existsSync(workspaceOf(keeping, runId)));
    }
    expect(existsSync(workspaceOf(keeping, strange))).toBe(true);
  });
});

function stagedFiles(server: ServerProcess): string[] {
  return readdirSync(join(server.dataDir, 'workspaces', '.sandbox', 'trash'));
}

function bytesRead(server: ServerProcess): number {
  return Number(/^rchar: (\d+)$/m.exec(readFileSync(`/proc/${server.pid}/io`, 'utf8'))?.[1]);
}

function openWorkspaceFiles(server: ServerProcess): string[] {
  const directory = `/proc/${server.pid}/fd`;
  return readdirSync(directory).filter((fd) => {
    try {
      return readlinkSync(`${directory}/${fd}`).includes('/workspaces/t-');
    } catch {
      return false;
    }
  });
}
