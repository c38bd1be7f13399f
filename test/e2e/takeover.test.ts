/**
 * With its default settings, a service of several servers continues the runs of a killed server within ten seconds.
 * Both times are read from one clock, that of this machine: when the server was killed, and when the event that shows
 * the continuation was recorded. A slow machine has more than a second to spare: a lease ends at most 7 s after the
 * last heartbeat, and a poll every second finds it.
 */
import { expect, test } from 'vitest';
import { sharedPostgres } from '../../packages/server/src/journal/postgres/testing/start-postgres.ts';
import { Api } from '../support/api.ts';
import { HostedServer } from '../support/hosted-server.ts';
import { script, startModelServer } from '../support/model-server.ts';
import { processorWaits } from '../support/processor-waits.ts';
import { ServerProcess } from '../support/server-process.ts';
import { waitFor } from '../support/wait-for.ts';
import { endsAs, ofKind, shownText } from './server-with-model.ts';

const TAKEOVER_S = 10;
const RUNS = 4;

// postgres.test.ts shows in npm test that they continue, with a shorter lease.
test('the runs of a killed server continue within ten seconds', { tags: ['soak'] }, async () => {
  await using cleanup = new AsyncDisposableStack();
  const [postgres, model] = await Promise.all([sharedPostgres(), startModelServer()]);
  cleanup.defer(() => postgres.stop());
  cleanup.defer(() => model.close());
  const options = {
    modelUrl: model.url,
    env: { TALARIA_DATABASE_URL: await postgres.createDatabase() },
  };
  const dying = cleanup.use(await ServerProcess.start(options));
  const before = new Api(dying.url);
  const steps = [{ hang: 'mid' as const, chunks: ['half of it, ', 'and the rest'], times: 1 }];
  const runIds = await Promise.all(Array.from({ length: RUNS }, () => before.create(script(steps))));
  await waitFor('every run to be under way', () => model.requests.length === RUNS);

  const heir = cleanup.use(await HostedServer.start(options));
  const api = new Api(heir.url);
  const killedAt = Date.now() / 1000;
  const waits = processorWaits();
  await dying.kill();
  for (const runId of runIds) {
    const { frames } = await endsAs(api, runId, 'run.completed');
    const [resumed] = ofKind(frames, 'run.resumed');
    expect(resumed!.timestamp - killedAt).toBeLessThanOrEqual(TAKEOVER_S + waits() / 1000);
    expect(shownText(frames)).toContain('half of it, and the rest');
  }
});
