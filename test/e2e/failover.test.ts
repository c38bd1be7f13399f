/**
 * The database is lost in the middle of a run, and another one replaces it. Starts two of them, so it may take long.
 */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { startPostgres } from '../../packages/server/src/journal/postgres/testing/start-postgres.ts';
import { Api } from '../support/api.ts';
import { HostedServer } from '../support/hosted-server.ts';
import { script, startModelServer } from '../support/model-server.ts';
import { waitFor } from '../support/wait-for.ts';
import { endsAs, ofKind, terminal } from './server-with-model.ts';

interface Health {
  readiness: { checks: { store: { status: string; last_error: { message: string } | null } } };
}

// The journal's own test (packages/server/src/journal/postgres/failover.test.ts) shows the same without a server.
test('a run continues when a standby replaces the primary, in the same stream', {
  tags: ['soak'],
}, async () => {
  await using resources = new AsyncDisposableStack();
  const model = resources.use(await startModelServer());
  const primary = await startPostgres();
  resources.defer(() => primary.stop());
  const url = await primary.createDatabase();
  const standby = await primary.startStandby({ follows: true });
  resources.defer(() => standby.stop());
  const both = `${url.replace(/\/[^/]*$/, '')},${new URL(standby.urlOf(url)).host}${new URL(url).pathname}`;
  const server = resources.use(
    await HostedServer.start({ modelUrl: model.url, env: { TALARIA_DATABASE_URL: both } }),
  );
  const api = new Api(server.url);
  const store = async () => (await api.get<Health>('/health/detailed')).body.readiness.checks.store;

  const gate = `gate-${randomUUID()}`;
  const steps = [
    { tools: [terminal('echo one >> marks')] },
    { gate, tools: [terminal('echo two >> marks')] },
    { tools: [terminal('cat marks')] },
    { text: 'done' },
  ];
  const runId = await api.create(script(steps));
  const watched = endsAs(api, runId, 'run.completed');
  await model.waitingAt(gate);
  await primary.kill();
  model.open(gate);
  await waitFor('the health to say why', async () => {
    const { status, last_error } = await store();
    return status === 'failed' && /is a standby/.test(last_error?.message ?? '');
  });
  await standby.promote();
  const { frames } = await watched;
  expect(ofKind(frames, 'tool.completed')).toMatchObject([
    { error: false },
    { error: false },
    { error: false, preview: expect.stringMatching(/^one\s+two\s*$/) },
  ]);
  expect(await store()).toMatchObject({ status: 'ok' });
});
