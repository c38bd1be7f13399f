/** What the command shows of a run whose events are gone. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ServerWithModel } from '../e2e/server-with-model.ts';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { talaria } from './talaria.ts';

let world: ServerWithModel;
beforeAll(async () => {
  world = await ServerWithModel.start({ TALARIA_RUN_RETENTION_SECONDS: '1' });
});
afterAll(() => world[Symbol.asyncDispose]());

test('a run says until when it is kept, and keep keeps it until that is taken back', async () => {
  await using kept = await ServerWithModel.start();
  const runId = await kept.api.create(script([{ text: 'the answer' }]));
  await kept.api.finish(runId);
  const ours = (argv: string[]) => talaria(kept.server.url, argv);
  const until = /until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n/;
  expect((await ours(['show', runId])).stdout).toMatch(new RegExp(`kept +${until.source}`));
  expect((await ours(['keep', runId.slice(0, 25)])).stdout).toBe(
    `${runId} is kept until that is taken back\n`,
  );
  expect((await ours(['show', runId])).stdout).toMatch(/kept +until that is taken back\n/);
  const undone = await ours(['keep', '--undo', '--json', runId]);
  expect(JSON.parse(undone.stdout)).toEqual(await kept.api.run(runId));
  expect((await ours(['keep', '--undo', runId])).stdout).toMatch(
    new RegExp(`^${runId} is kept ${until.source}$`),
  );
  const unknown = await ours(['keep', runId, 'run_0123456789abcdef0123456789abcdef']);
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('Run not found')]);
});

test('lists mark it, show tells what is left, and other commands find no run', async () => {
  const runId = await world.api.create(script([{ text: 'the answer' }]));
  await world.api.finish(runId);
  await waitFor('the eviction', async () => (await world.api.get(`/v1/runs/${runId}`)).status === 404);
  const ours = (argv: string[]) => talaria(world.server.url, argv);

  expect((await ours(['runs'])).stdout).toMatch(new RegExp(`${runId} +completed .* evicted: `));
  const [listed] = JSON.parse((await ours(['runs', '--json'])).stdout);
  expect(listed).toMatchObject({ run_id: runId, status: 'completed', evicted: true });
  expect(JSON.parse((await ours(['show', '--json', runId])).stdout)).toEqual(listed);
  const shown = await ours(['show', runId.slice(0, 25)]);
  expect(shown.stdout).toContain(`run      ${runId}\n`);
  expect(shown.stdout).toContain('evicted  its answer, events and files are gone\n');
  const watched = await ours(['watch', runId]);
  expect(watched.code).not.toBe(0);
  expect(watched.stderr).toContain(`Run not found: ${runId}`);
  const unknown = await ours(['show', 'run_0123456789abcdef0123456789abcdef']);
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('Run not found')]);
});
