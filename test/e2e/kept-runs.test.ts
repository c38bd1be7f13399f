/** Until when a finished run is there: its time, a time of its own, keeping, and the room on the disk. */
import { existsSync } from 'node:fs';
import type { Run } from '@talaria/protocol';
import { expect, test } from 'vitest';
import { script } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { ServerWithModel, terminal } from './server-with-model.ts';

const keep = (world: ServerWithModel, runId: string, kept: boolean) =>
  world.api.request<Run>('PATCH', `/v1/runs/${runId}`, { body: { keep: kept } });

const isGone = (world: ServerWithModel, runId: string) =>
  waitFor(`${runId} to be gone`, async () => (await world.api.get(`/v1/runs/${runId}`)).status === 404);

async function finished(world: ServerWithModel, command = 'echo kept > file'): Promise<string> {
  const runId = await world.api.create(script([{ tools: [terminal(command)] }, { text: 'done' }]));
  await world.api.finish(runId);
  return runId;
}

async function check(world: ServerWithModel): Promise<Record<string, unknown>> {
  const { body } = await world.api.get<{ readiness: { checks: Record<string, Record<string, unknown>> } }>(
    '/health/detailed',
  );
  return body.readiness.checks.disk!;
}

test('runs are kept for a week by default, and say so', async () => {
  await using world = await ServerWithModel.start();
  const run = await world.api.run(await finished(world));
  expect(run.expires_at! - run.updated_at).toBeCloseTo(7 * 24 * 3600, 2);
});

test('a kept run outlives its time and a restart, whole; when that is taken back, it goes', async () => {
  await using world = await ServerWithModel.start({ TALARIA_RUN_RETENTION_SECONDS: '2' });
  const unfinished = await world.api.create(script([{ tools: [terminal('rm -rf build')] }, { text: 'no' }]));
  const kept = await world.api.create(
    script([{ tools: [terminal('echo kept > file')] }, { text: 'the answer' }]),
  );
  expect((await keep(world, kept, true)).body).toMatchObject({ keep: true });
  expect(await keep(world, unfinished, true)).toMatchObject({ status: 200 });
  await world.api.finish(kept);
  // One that ends later is gone before.
  await isGone(world, await finished(world));
  await world.server.restart();
  await isGone(world, await finished(world));
  const run = await world.api.run(kept);
  expect(run).toMatchObject({ keep: true, output: 'the answer' });
  expect(run).not.toHaveProperty('expires_at');
  expect((await world.api.stream(kept)).frames.at(-1)!.event.event).toBe('run.completed');
  expect(existsSync(world.workspaceFile(kept, 'file'))).toBe(true);

  const undone = await keep(world, kept, false);
  expect(undone.body).not.toHaveProperty('keep');
  // Its time is long over, but it does not go at once.
  expect(undone.body.expires_at! - run.updated_at).toBeGreaterThan(2);
  await isGone(world, kept);
  await waitFor('its files to be gone', () => !existsSync(world.workspaceFile(kept)));
  expect((await keep(world, kept, true)).status).toBe(404);
});

test('a job says how long its runs are kept', async () => {
  await using world = await ServerWithModel.start({ TALARIA_RUN_RETENTION_SECONDS: '2' });
  const input = { name: 'report', schedule: '0 6 * * *', prompt: script([{ text: 'done' }]) };
  const { body } = await world.api.post<{ job: { id: string } }>('/api/jobs', {
    ...input,
    retention_seconds: 86_400,
  });
  const begun = await world.api.post<{ job: { last_run_id: string } }>(`/api/jobs/${body.job.id}/run`);
  const runId = begun.body.job.last_run_id;
  await world.api.finish(runId);
  await isGone(world, await finished(world));
  const run = await world.api.run(runId);
  expect(run.expires_at! - run.updated_at).toBeCloseTo(86_400, 2);
});

test('runs that take too much of the disk go before their time, the one that ended first first, never a kept one', async () => {
  await using world = await ServerWithModel.start({
    // A sweep every ten seconds.
    TALARIA_RUN_RETENTION_SECONDS: '100',
    TALARIA_RUN_DISK_BYTES: '16000000',
  });
  // Each takes this twice: in its workspace and in its checkpoint.
  const fill = 'head -c 3000000 /dev/urandom > file';
  const [kept, first] = [await finished(world, fill), await finished(world, fill)];
  await keep(world, kept, true);
  const last = await finished(world, fill);
  await isGone(world, first);
  const { body: head } = await world.api.get<Run>(`/v1/runs/${first}?view=head`);
  expect(head).toMatchObject({ evicted: true, evicted_for: 'room', status: 'completed' });
  expect(existsSync(world.workspaceFile(first))).toBe(false);
  expect(await check(world)).toMatchObject({ status: 'ok', max_bytes: 16_000_000 });
  for (const runId of [kept, last]) expect(existsSync(world.workspaceFile(runId, 'file'))).toBe(true);

  // What was measured is known after a restart. Kept runs alone are too much then.
  await world.server.restart();
  await keep(world, last, true);
  const third = await finished(world, fill);
  await keep(world, third, true);
  const full = await waitFor('the disk to be full', async () => {
    const found = await check(world);
    return found.status === 'degraded' && found;
  });
  expect(full.detail).toContain('only kept ones are left');
  expect(full.used_bytes).toBeGreaterThan(18_000_000);
  for (const runId of [kept, last, third]) expect((await world.api.run(runId)).keep).toBe(true);
});

test('files that a client adds after the end count, too', async () => {
  await using world = await ServerWithModel.start({
    TALARIA_RUN_RETENTION_SECONDS: '100',
    TALARIA_RUN_DISK_BYTES: '4000000',
  });
  const runId = await finished(world);
  await waitFor('the run to be measured', async () => Number((await check(world)).used_bytes) > 0);
  const path = `/v1/runs/${runId}/artifacts/content?path=added`;
  const put = await fetch(`${world.server.url}${path}`, {
    method: 'PUT',
    body: Buffer.alloc(5_000_000, 'x'),
  });
  expect(put.status).toBe(201);
  await isGone(world, runId);
  const { body: head } = await world.api.get<Run>(`/v1/runs/${runId}?view=head`);
  expect(head).toMatchObject({ evicted_for: 'room' });
});
