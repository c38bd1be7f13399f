/** A run works in a directory of the operator itself, and nothing but its commands changes the directory. */
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdtempDisposableSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DirectoryList, RunCreated, RunDiff } from '@talaria/protocol';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { Api } from '../support/api.ts';
import { HostedServer } from '../support/hosted-server.ts';
import { type ModelServer, script, startModelServer } from '../support/model-server.ts';
import { ProjectDirectory } from '../support/project-directory.ts';
import { ServerProcess } from '../support/server-process.ts';
import { waitFor } from '../support/wait-for.ts';
import { endsAs, ofKind, ServerWithModel, terminal } from './server-with-model.ts';

const MOUNT = { workspace: { directory: 'app' } };

const FILES = { 'a.txt': 'one\n', 'src/b.txt': 'two\n' };

/** For tests that do not restart it. Each finds the directory as if it were the first. */
let shared: ServerWithModel;
let path: string;
let project: ProjectDirectory;
let world: ServerWithModel;
let opened: AsyncDisposableStack;
beforeAll(async () => {
  using first = new ProjectDirectory(FILES);
  project = first;
  path = first.path;
  shared = await ServerWithModel.start(settings());
});
afterAll(() => shared[Symbol.asyncDispose]());
beforeEach(() => {
  opened = new AsyncDisposableStack();
  project = opened.use(new ProjectDirectory(FILES, path));
  world = shared;
});
afterEach(() => opened[Symbol.asyncDispose]());

const settings = () => ({ ...project.setting, TALARIA_APPROVALS_ISOLATED: 'skip' });

/** For tests that restart the server. */
async function start(): Promise<HostedServer> {
  const started = opened.use(await ServerWithModel.start(settings()));
  world = started;
  return started.server;
}

/** For tests that kill the server. */
async function startProcess(): Promise<ServerProcess> {
  const started = opened.use(await ServerWithModel.startProcess(settings()));
  world = started;
  return started.server;
}

const commands = (...lines: string[]) =>
  script([...lines.map((line) => ({ tools: [terminal(line)] })), { text: 'done' }]);
const read = (path: string) => readFileSync(join(project.path, path), 'utf8');

async function printed(runId: string): Promise<string> {
  const { frames } = await endsAs(world.api, runId, 'run.completed');
  return ofKind(frames, 'tool.completed')[0]!.preview;
}

test('commands change the directory, and its files can be read, compared and written', async () => {
  const runId = await world.api.create(commands('cat a.txt; echo more >> a.txt; echo new > c.txt'), MOUNT);
  expect(await printed(runId)).toBe('one\n');
  expect(read('a.txt')).toBe('one\nmore\n');
  expect(lstatSync(join(project.path, 'c.txt')).uid).toBe(lstatSync(project.path).uid);
  const { body: diff } = await world.api.get<RunDiff>(`/v1/runs/${runId}/diff`);
  expect(diff.data.map(({ path, status }) => [path, status])).toEqual([
    ['a.txt', 'modified'],
    ['c.txt', 'added'],
  ]);
  const content = `/v1/runs/${runId}/artifacts/content?path=a.txt`;
  expect((await world.api.get(content)).body).toBe('one\nmore\n');
  project.write('a.txt', 'by its owner\n');
  expect((await world.api.get(content)).body).toBe('by its owner\n');
  const { frames } = await endsAs(world.api, runId, 'run.completed');
  const called = frames.find(({ event }) => event.event === 'tool.completed')!.id;
  expect((await world.api.get(`${content}&at=${called}`)).body).toBe('one\nmore\n');
  const put = await world.api.request('PUT', `/v1/runs/${runId}/artifacts/content?path=d/e.txt`, {
    raw: 'from a client',
  });
  expect(put.status).toBe(201);
  expect(read('d/e.txt')).toBe('from a client');
});

test('a killed server leaves what the commands did, and the run continues there', async () => {
  const server = await startProcess();
  const prompt = script([
    { tools: [terminal('echo two >> a.txt')] },
    { gate: 'killed', tools: [terminal('echo three >> a.txt; cat a.txt')] },
    { text: 'done' },
  ]);
  const runId = await world.api.create(prompt, MOUNT);
  await world.model.waitingAt('killed');
  await server.kill();
  expect(read('a.txt')).toBe('one\ntwo\n');
  project.write('a.txt', 'meanwhile\n');
  await server.start();
  world.model.open('killed');
  const { frames } = await endsAs(world.api, runId, 'run.completed');
  expect(ofKind(frames, 'tool.completed').at(-1)!.preview).toBe('meanwhile\nthree\n');
  expect(ofKind(frames, 'run.resumed')).toEqual([
    expect.not.objectContaining({ workspace_lost: true, workspace_restored: true }),
  ]);
});

test('a restarted server that does not allow it any more ends the run, and shows nothing of it; what ends runs never deletes it', async () => {
  const server = await start();
  const earlier = await world.api.create(commands('echo kept > kept'), MOUNT);
  await endsAs(world.api, earlier, 'run.completed');
  const prompt = script([{ tools: [terminal('echo two >> a.txt')] }, { gate: 'taken', text: 'done' }]);
  const runId = await world.api.create(prompt, MOUNT);
  await world.model.waitingAt('taken');
  await server.restart({ TALARIA_DIRECTORIES: '{}' }, () => world.model.open('taken'));
  const { error, error_code } = await endsAs(world.api, runId, 'run.failed');
  expect([error_code, error]).toEqual(['workspace_setup', expect.stringContaining("'app' any more")]);
  const { status, body } = await world.api.get<{ data: unknown[] }>(`/v1/runs/${runId}/artifacts`);
  expect([status, body.data]).toEqual([200, []]);
  expect(read('a.txt')).toBe('one\ntwo\n');

  // It is allowed again, and both runs are evicted.
  await server.restart({ TALARIA_RUN_RETENTION_SECONDS: '0' });
  for (const id of [earlier, runId]) {
    await waitFor(
      'the run to be evicted',
      async () => (await world.api.get(`/v1/runs/${id}`)).status === 404,
    );
    expect(existsSync(world.workspaceFile(id))).toBe(false);
  }
  expect(readdirSync(project.path).sort()).toEqual(['a.txt', 'kept', 'src']);
  expect(read('a.txt')).toBe('one\ntwo\n');
});

test('one run at a time works in it', async () => {
  const first = await world.api.create(script([{ gate: 'first', text: 'done' }]), MOUNT);
  await world.model.waitingAt('first');
  const second = await world.api.create(commands('ls'), MOUNT);
  const { error, error_code } = await endsAs(world.api, second, 'run.failed');
  expect([error_code, error]).toEqual(['workspace_setup', expect.stringContaining(`${first} works in`)]);
  world.model.open('first');
  await endsAs(world.api, first, 'run.completed');
  expect(await printed(await world.api.create(commands('ls'), MOUNT))).toBe('a.txt\nsrc\n');
});

test('the next run of its session continues in it; forks work on a copy', async () => {
  const session = { session_id: `s-${randomUUID()}` };
  const first = await world.api.create(commands('echo first >> a.txt'), { ...session, ...MOUNT });
  await endsAs(world.api, first, 'run.completed');
  project.write('by-hand', '');
  const second = await world.api.create(commands('ls; cat a.txt; echo second >> a.txt'), session);
  expect(await printed(second)).toBe('a.txt\nby-hand\nsrc\none\nfirst\n');
  const { body: diff } = await world.api.get<RunDiff>(`/v1/runs/${second}/diff`);
  expect(diff.data.map(({ path }) => path)).toEqual(['a.txt']);

  const fork = await world.api.post<RunCreated>(`/v1/runs/${first}/fork`, {
    input: commands('cat a.txt; rm -r *'),
  });
  expect(await printed(fork.body.run_id)).toBe('one\nfirst\n');
  const branch = await world.api.post<{ id: string }>(`/api/sessions/${session.session_id}/fork`, {});
  expect(branch.status).toBe(201);
  const branched = await world.api.create(commands('cat a.txt; rm -r *'), { session_id: branch.body.id });
  expect(await printed(branched)).toBe('one\nfirst\nsecond\n');
  expect(readdirSync(project.path).sort()).toEqual(['a.txt', 'by-hand', 'src']);

  const over = { ...session, workspace: { files: [{ path: 'a.txt', content: 'over' }] } };
  const refused = await endsAs(world.api, await world.api.create(commands('ls'), over), 'run.failed');
  expect(refused.error).toContain("works in the directory 'app'");
  const fresh = { ...session, workspace: { fresh: true } };
  expect(await printed(await world.api.create(commands('ls'), fresh))).toBe('');
  expect(read('a.txt')).toBe('one\nfirst\nsecond\n');
});

test('a fork of a run that has not begun in it works on a copy of it', async () => {
  const first = await world.api.create(script([{ gate: 'forked', text: 'done' }]), MOUNT);
  await world.model.waitingAt('forked');
  const second = await world.api.create(commands('ls'), MOUNT);
  await endsAs(world.api, second, 'run.failed');
  project.write('by-hand', 'later\n');
  const input = commands('cat a.txt by-hand; rm -r *');
  const fork = await world.api.post<RunCreated>(`/v1/runs/${second}/fork`, { input });
  expect(await printed(fork.body.run_id)).toBe('one\nlater\n');
  expect(readdirSync(project.path).sort()).toEqual(['a.txt', 'by-hand', 'src']);
  world.model.open('forked');
  await endsAs(world.api, first, 'run.completed');
});

test('calls of a run whose directory disappears say so, and nothing else of it is lost', async () => {
  const prompt = script([
    { tools: [terminal('echo two >> a.txt')] },
    { gate: 'gone', tools: [terminal('cat a.txt')] },
    { text: 'done' },
  ]);
  const runId = await world.api.create(prompt, MOUNT);
  await world.model.waitingAt('gone');
  rmSync(project.path, { recursive: true });
  world.model.open('gone');
  const { frames } = await endsAs(world.api, runId, 'run.completed');
  expect(ofKind(frames, 'tool.completed').at(-1)).toMatchObject({
    error: true,
    preview: expect.stringContaining('The directory of the workspace was moved or deleted'),
  });
  expect(JSON.stringify(frames)).not.toContain(project.path);
  const { body: diff } = await world.api.get<RunDiff>(`/v1/runs/${runId}/diff`);
  expect(diff.data.map(({ path, status }) => [path, status])).toEqual([['a.txt', 'modified']]);
  const [made] = frames.filter(({ event }) => event.event === 'tool.completed');
  const then = `/v1/runs/${runId}/artifacts/content?path=a.txt&at=${made!.id}`;
  expect((await world.api.get(then)).body).toBe('one\ntwo\n');
  const input = commands('cat a.txt');
  const fork = await world.api.post<RunCreated>(`/v1/runs/${runId}/fork`, { input });
  expect(await printed(fork.body.run_id)).toBe('one\ntwo\n');
});

test('nothing of the host beside it is reached through it', async () => {
  symlinkSync('/etc/hostname', join(project.path, 'out'));
  symlinkSync('..', join(project.path, 'up'));
  const runId = await world.api.create(commands(`ls up/ ${project.path}; ls ${world.server.dataDir}`), MOUNT);
  const { frames } = await endsAs(world.api, runId, 'run.completed');
  const { preview } = ofKind(frames, 'tool.completed')[0]!;
  expect(preview.match(/No such file/g)).toHaveLength(2);
  expect(preview).toContain('\nworkspace\n');
  for (const path of ['out', 'up/x', '../x', '/etc/hostname']) {
    const content = `/v1/runs/${runId}/artifacts/content?path=${encodeURIComponent(path)}`;
    for (const method of ['GET', 'PUT'] as const) {
      const body = method === 'PUT' ? { raw: 'x' } : {};
      expect((await world.api.request(method, content, body)).status).toBe(400);
    }
  }
});

test('a directory that cannot be deleted as a whole is refused, and its place on the host is not told', async () => {
  project.write('locked/inside/file', 'kept');
  project.write('locked/beside', 'goes');
  chmodSync(join(project.path, 'locked/inside'), 0o500);
  // Nothing keeps a server that is root from deleting.
  const dataDir = mkdtempSync(join(tmpdir(), 'talaria-user-'));
  const isRoot = process.getuid?.() === 0;
  const { uid, gid } = lstatSync(project.path);
  if (isRoot) chownSync(dataDir, uid, gid);
  const wrapper = isRoot ? ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'] : [];
  await using model = await startModelServer();
  const options = { modelUrl: model.url, env: project.setting, dataDir, wrapper };
  await using server = await ServerProcess.start(options);
  const api = new Api(server.url);
  const runId = await api.create(script([{ text: 'done' }]), MOUNT);
  await endsAs(api, runId, 'run.completed');
  const path = `/v1/runs/${runId}/artifacts/content?path=locked&recursive=true`;
  for (const owner of isRoot ? [0, uid] : [uid]) {
    chownSync(join(project.path, 'locked'), owner, gid);
    const refused = await api.request<{ error: object }>('DELETE', path);
    expect(refused).toMatchObject({
      status: 409,
      body: { error: { code: 'artifact_not_removed', param: 'path' } },
    });
    expect(JSON.stringify(refused.body)).not.toMatch(/proc|project|rm:/);
    expect(read('locked/inside/file')).toBe('kept');
  }
  chmodSync(join(project.path, 'locked/inside'), 0o700);
  expect((await api.request('DELETE', path)).status).toBe(200);
  expect(existsSync(join(project.path, 'locked'))).toBe(false);
  rmSync(dataDir, { recursive: true });
});

test('the sandbox does not make a dangerous command harmless there, so it asks', async () => {
  const prompt = commands('rm -rf src');
  const copied = await world.api.create(prompt);
  await endsAs(world.api, copied, 'run.completed');
  const runId = await world.api.create(prompt, MOUNT);
  await waitFor('its question', async () => (await world.api.run(runId)).status === 'waiting_for_approval');
  await world.api.post(`/v1/runs/${runId}/approval`, { choice: 'deny' });
  await endsAs(world.api, runId, 'run.completed');
  expect(read('src/b.txt')).toBe('two\n');
});

test.each([
  ['is gone', () => {}],
  ['leads through a link', (moved: string) => symlinkSync(moved, project.path)],
])('a run fails if the directory %s by then, and does not say where it was', async (_, replace) => {
  const moved = `${project.path}-moved`;
  renameSync(project.path, moved);
  try {
    replace(moved);
    const runId = await world.api.create(commands('ls'), MOUNT);
    const { error, error_code } = await endsAs(world.api, runId, 'run.failed');
    expect([error_code, error]).toEqual([
      'workspace_setup',
      expect.stringContaining("workspace.directory: commands cannot work in the directory 'app'"),
    ]);
    expect(JSON.stringify((await world.api.get(`/v1/runs/${runId}`)).body)).not.toContain(project.path);
  } finally {
    rmSync(moved, { recursive: true });
  }
});

test('requests that cannot work in it are refused', async () => {
  const files = [{ path: 'x', content: 'y' }];
  const refused = await world.api.post('/v1/runs', { input: 'x', workspace: { directory: 'app', files } });
  expect(refused).toMatchObject({ status: 400, body: { error: { code: 'invalid_workspace' } } });
  const { body } = await world.api.get<DirectoryList>('/v1/directories');
  expect(body.data).toEqual([
    { object: 'directory', name: 'app', mode: 'mount', fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/) },
  ]);
  expect(JSON.stringify(body)).not.toContain(project.path);
});

const KEYS = { ada: 'key-of-ada-0123456789', eve: 'key-of-eve-0123456789' };

/** A server with two keys, of which these may work in the directory. */
async function startFor(keys: readonly string[], dataDir: string, model: ModelServer) {
  const env = {
    TALARIA_APPROVALS_ISOLATED: 'skip',
    API_SERVER_KEYS: `ada:${KEYS.ada},eve:${KEYS.eve}`,
    TALARIA_DIRECTORIES: JSON.stringify({ app: { path: project.path, mode: 'mount', keys } }),
  };
  const server = await HostedServer.start({ modelUrl: model.url, env, dataDir });
  return {
    ada: new Api(server.url, KEYS.ada),
    eve: new Api(server.url, KEYS.eve),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

test('a key that may not work in it any more sees nothing of it, also through its earlier runs', async () => {
  using data = mkdtempDisposableSync(join(tmpdir(), 'talaria-test-'));
  await using model = await startModelServer();
  const runIds: string[] = [];
  {
    await using before = await startFor(['ada', 'eve'], data.path, model);
    for (const api of [before.ada, before.eve]) {
      const runId = await api.create(commands('ls'), MOUNT);
      await endsAs(api, runId, 'run.completed');
      runIds.push(runId);
    }
  }
  const [ofAda, ofEve] = runIds as [string, string];
  await using after = await startFor(['ada'], data.path, model);
  const { ada, eve } = after;
  const artifacts = (runId: string) => `/v1/runs/${runId}/artifacts`;
  expect((await ada.get<{ data: unknown[] }>(artifacts(ofAda))).body.data).not.toEqual([]);
  expect((await eve.get<{ data: unknown[] }>(artifacts(ofEve))).body.data).toEqual([]);
  expect((await eve.get(artifacts(ofAda))).status).toBe(404);
  expect((await eve.get<DirectoryList>('/v1/directories')).body.data).toEqual([]);
  expect((await eve.post('/v1/runs', { input: 'x', ...MOUNT })).status).toBe(400);
  const put = `${artifacts(ofEve)}/content?path=a.txt`;
  expect((await eve.request('PUT', put, { raw: 'by eve' })).status).toBe(404);
  expect(read('a.txt')).toBe('one\n');
});

test.skipIf(process.getuid?.() !== 0)(
  'a server that cannot mount it does not start, and says why',
  async () => {
    chownSync(project.path, 0, 0);
    await expect(HostedServer.start({ env: settings() })).rejects.toThrow(
      'TALARIA_DIRECTORIES has the mode mount: Commands cannot work in',
    );
  },
);
