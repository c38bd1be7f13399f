/** A machine is gone for good. Another server has the files of its runs, because they are in checkpoints. */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import type { RunCreated } from '@talaria/protocol';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sharedPostgres } from '../../packages/server/src/journal/postgres/testing/start-postgres.ts';
import { Api } from '../support/api.ts';
import { HostedServer } from '../support/hosted-server.ts';
import { script, startModelServer } from '../support/model-server.ts';
import { endsAs, ofKind, terminal } from './server-with-model.ts';

const cleanup = new AsyncDisposableStack();
const session = { session_id: `s-${randomUUID()}` };
let runId: string;
/** The seqs of its completed calls. */
let made: number[];
/** Of the machine that is left. */
let api: Api;

beforeAll(async () => {
  const [postgres, model] = await Promise.all([sharedPostgres(), startModelServer()]);
  cleanup.defer(() => postgres.stop());
  cleanup.use(model);
  const options = { modelUrl: model.url, env: { TALARIA_DATABASE_URL: await postgres.createDatabase() } };
  const gone = cleanup.use(await HostedServer.start(options));
  const before = new Api(gone.url);
  runId = await before.create(
    script([
      { tools: [terminal('echo one > one; mkdir d; echo 1 > d/n')] },
      { tools: [terminal('echo two > two; echo 2 > d/n')] },
      { text: 'done' },
    ]),
  );
  const { frames } = await endsAs(before, runId, 'run.completed');
  made = frames.filter(({ event }) => event.event === 'tool.completed').map(({ id }) => Number(id));
  await printed(before, await before.create(look('mkdir d; echo of the session > d/file'), session));
  await gone.stop();
  rmSync(gone.dataDir, { recursive: true });
  api = new Api(cleanup.use(await HostedServer.start(options)).url);
});
afterAll(() => cleanup.disposeAsync());

const look = (command: string) => script([{ tools: [terminal(command)] }, { text: 'done' }]);

/** What the first command of the run printed. */
async function printed(of: Api, id: string): Promise<string> {
  const { frames } = await endsAs(of, id, 'run.completed');
  return ofKind(frames, 'tool.completed')[0]!.preview;
}

test('a run can be forked, and its files read as they were', async () => {
  const fork = await api.post<RunCreated>(`/v1/runs/${runId}/fork`, {
    input: look('ls; cat d/n'),
    at: made[0],
  });
  expect(fork.status).toBe(202);
  expect(await printed(api, fork.body.run_id)).toBe('d\none\n1\n');
  const { body } = await api.get(`/v1/runs/${runId}/artifacts/content?path=d/n&at=${made[1]}`);
  expect(body).toBe('2\n');
});

test('a session continues with its files', async () => {
  expect(await printed(api, await api.create(look('cat d/file'), session))).toBe('of the session\n');
});
