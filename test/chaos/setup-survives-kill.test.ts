/**
 * A run that begins with files survives `kill -9` while they are put in place: the next owner begins again, the first step
 * finds everything, and nothing of the first attempt.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sharedPostgres } from '../../packages/server/src/journal/postgres/testing/start-postgres.ts';
import { type ModelServer, script, startModelServer } from '../support/model-server.ts';
import { KillableServer, type Moment } from './killable-server.ts';

const ARCHIVE = execFileSync('sh', [
  '-c',
  'd=$(mktemp -d); cd $d; mkdir tree; for i in $(seq 50); do echo $i > tree/$i; done; tar cz tree; rm -r $d',
]).toString('base64');

/** Between two parts. The soak tests have more. */
const MOMENTS: Moment[] = ['setup.after-part@2'];
const MORE_MOMENTS: Moment[] = [
  'setup.after-clear',
  'setup.after-part',
  'setup.before-record',
  'setup.after-record',
];

let model: ModelServer;
beforeAll(async () => {
  model = await startModelServer();
});
afterAll(() => model.close());

test.each(MOMENTS)('%s', survives);
test.each(MORE_MOMENTS)('%s', { tags: ['soak'] }, survives);

async function survives(moment: Moment): Promise<void> {
  await using server = new KillableServer({ modelUrl: model.url });
  await server.start(moment);
  const command = 'find . -type f | wc -l; cat notes.md tree/7; ls';
  const steps = [{ tools: [{ name: 'terminal', arguments: { command } }] }, { text: 'done' }];
  const workspace = {
    archives: [{ content: ARCHIVE, encoding: 'base64' }],
    files: [
      { path: 'notes.md', content: 'hello\n' },
      { path: 'deep/er/file', content: 'AAE=', encoding: 'base64' },
    ],
  };
  const creating = server.create(script(steps), { workspace });
  await server.diesByItself(moment);
  await server.start();
  const runId = await creating;
  const events = await server.follow(runId);
  const [call] = events.flatMap((event) => (event.event === 'tool.completed' ? [event] : []));
  expect(call?.preview).toBe('52\nhello\n7\ndeep\nnotes.md\ntree\n');
  expect(events.at(-1)).toMatchObject({ event: 'run.completed' });
  // Nothing is left on its way.
  expect(readdirSync(join(server.process.dataDir, 'workspaces', '.sandbox', 'trash'))).toEqual([]);
}

test('what was in place on a machine that is gone is put in place again, also if the next server is killed meanwhile', async () => {
  const postgres = await sharedPostgres();
  const store = { TALARIA_DATABASE_URL: await postgres.createDatabase() };
  const env = { TALARIA_LEASE_SECONDS: '2' };
  await using gone = new KillableServer({ modelUrl: model.url, store, env });
  await using next = new KillableServer({ modelUrl: model.url, store, env });
  try {
    await gone.start('setup.after-record');
    const workspace = {
      archives: [{ content: ARCHIVE, encoding: 'base64' }],
      files: [{ path: 'notes.md', content: 'hello' }],
    };
    const steps = [
      { tools: [{ name: 'terminal', arguments: { command: 'cat notes.md' } }] },
      { text: 'done' },
    ];
    // The server may die before it has answered.
    void gone.api.post('/v1/runs', { input: script(steps), workspace }).catch(() => {});
    await gone.diesByItself('setup.after-record');
    await next.start('setup.after-part');
    await next.diesByItself('setup.after-part');
    await next.start();
    const [run] = (await next.api.list()).data;
    const events = await next.follow(run!.run_id);
    expect(events.flatMap((event) => (event.event === 'tool.completed' ? [event.preview] : []))).toEqual([
      'hello',
    ]);
  } finally {
    await next[Symbol.asyncDispose]();
    await postgres.stop();
  }
});
