/** Where the whole output of a command is: at the path of its answer, for its run and its client, and in no copy of the files. */
import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import type { ArtifactList, RunCreated, RunDiff } from '@talaria/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { unpackArchive } from '../../packages/sandbox/src/testing/unpack-archive.ts';
import type { HostedServer } from '../support/hosted-server.ts';
import { script } from '../support/model-server.ts';
import { ProjectDirectory } from '../support/project-directory.ts';
import { waitFor } from '../support/wait-for.ts';
import { call, inTurn, toldOf } from './played-run.ts';
import { endsAs, ofKind, ServerWithModel, terminal } from './server-with-model.ts';

const LONG = 'seq 1 20000';
const LONG_BYTES = 108_894;
const OUTPUT = /\/tmp\/talaria-output\/exec_[0-9a-f-]+\.log/;

let project: ProjectDirectory;
let world: ServerWithModel<HostedServer>;
beforeAll(async () => {
  project = new ProjectDirectory({ 'a.txt': 'one\n' });
  world = await ServerWithModel.start({ ...project.setting, TALARIA_APPROVALS_ISOLATED: 'skip' });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  project[Symbol.dispose]();
});

/** A run that makes a file and prints much. */
async function printMuch(request: Record<string, unknown> = {}) {
  const prompt = script([{ tools: [terminal(`echo made > made; ${LONG}`)] }, { text: 'done' }]);
  const runId = await world.api.create(prompt, request);
  const { frames } = await endsAs(world.api, runId, 'run.completed');
  const [path = ''] = OUTPUT.exec(toldOf(world, prompt)[0]!.content) ?? [];
  expect(path).not.toBe('');
  return { runId, path, at: ofKind(frames, 'tool.completed')[0]!.seq };
}

const get = (runId: string, path: string) => fetch(`${world.server.url}/v1/runs/${runId}/artifacts${path}`);
const content = (runId: string, path: string) => get(runId, `/content?path=${encodeURIComponent(path)}`);

async function listed(runId: string, query = ''): Promise<string[]> {
  const { data } = (await (await get(runId, `?recursive=true${query}`)).json()) as ArtifactList;
  return data.map(({ path }) => path);
}

test('lists, archives, checkpoints and diffs show what the command made, and nothing of the server', async () => {
  const { runId, path, at } = await printMuch();
  expect(await listed(runId)).toEqual(['made']);
  expect(await listed(runId, `&at=${at}`)).toEqual(['made']);
  for (const query of ['', `&at=${at}`]) {
    const archive = await get(runId, `/archive?format=tar${query}`);
    expect((await unpackArchive('tar', Buffer.from(await archive.arrayBuffer()))).names).toEqual(['made']);
  }
  const { body } = await world.api.get<RunDiff>(`/v1/runs/${runId}/diff`);
  expect(body.data.map((file) => file.path)).toEqual(['made']);

  const whole = await content(runId, path);
  expect(whole.status).toBe(200);
  expect(Number(whole.headers.get('content-length'))).toBe(LONG_BYTES);
  await whole.body?.cancel();
  expect((await content(runId, `${path}/../../secret`)).status).toBe(400);
  expect((await get(runId, `?path=${encodeURIComponent(path)}`)).status).toBe(400);
  expect((await get(runId, `/content?path=${encodeURIComponent(path)}&at=${at}`)).status).toBe(400);
  const written = await fetch(`${world.server.url}/v1/runs/${runId}/artifacts/content?path=${path}`, {
    method: 'PUT',
    body: 'x',
  });
  expect(written.status).toBe(400);
  const { runId: other } = await printMuch();
  expect((await content(other, path)).status).toBe(404);
});

test.each([
  [
    'a fork',
    async (runId: string, prompt: string) => {
      const { status, body } = await world.api.post<RunCreated>(`/v1/runs/${runId}/fork`, { input: prompt });
      expect(status).toBe(202);
      return body.run_id;
    },
  ],
  [
    'the next run of a session',
    async (_: string, prompt: string, session: Record<string, unknown>) => world.api.create(prompt, session),
  ],
] as const)('%s has the files without the output, and is told so where it looks', async (_name, begin) => {
  const session = { session_id: `s-${randomUUID()}` };
  const { runId, path } = await printMuch(session);
  const prompt = script(
    inTurn(call('read_file', { path }), terminal(`cat made; ls /tmp; find . -mindepth 1`)),
  );
  const later = await begin(runId, prompt, session);
  await endsAs(world.api, later, 'run.completed');
  const [read, looked] = toldOf(world, prompt).slice(-2);
  expect(read!.content).toMatch(
    /does not exist\. A whole output stays with the workspace .*run the command again/,
  );
  expect(looked!.content).toBe('made\n./made\n');
});

test('a directory of the operator gets nothing of the server', async () => {
  const { runId, path } = await printMuch({ workspace: { directory: 'app' } });
  expect(readdirSync(project.path).sort()).toEqual(['a.txt', 'made']);
  expect(await listed(runId)).toEqual(['a.txt', 'made']);
  expect(Number((await content(runId, path)).headers.get('content-length'))).toBe(LONG_BYTES);
});

test('a run that waited for its client finds the output when it continues, also after a restart', async () => {
  const tool = { type: 'function', function: { name: 'ask_client', parameters: { type: 'object' } } };
  const prompt = script(
    inTurn(terminal(LONG), call('ask_client', {}), terminal('wc -c < /tmp/talaria-output/*')),
  );
  const { body } = await world.api.post<RunCreated>('/v1/runs', { input: prompt, tools: [tool] });
  const { run_id: runId } = body;
  const [asked] = await waitFor('the run to wait for its client', async () => {
    const run = await world.api.run(runId);
    return run.last_event === 'run.waiting' && run.pending_calls;
  });
  await world.server.restart();
  const output = { tool_call_id: asked!.tool_call_id, output: 'go on' };
  await world.api.post(`/v1/runs/${runId}/tool_outputs`, { outputs: [output] });
  await endsAs(world.api, runId, 'run.completed');
  expect(toldOf(world, prompt).at(-1)!.content).toBe(`${LONG_BYTES}\n`);
});
