/** `/health/detailed` tells the truth, also about a store that accepts no writes. */
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { script } from '../support/model-server.ts';
import { endsAs, ServerWithModel } from './server-with-model.ts';

interface Detailed {
  queue: Record<string, number>;
  readiness: {
    status: string;
    checks: { store: { status: string; detail: string; last_error: { message: string; at: string } | null } };
  };
}

const hasPrlimit = spawnSync('prlimit', ['--version']).status === 0;
const why = hasPrlimit ? '' : ' (skipped: no prlimit on this machine, to limit the size of files)';

/** The size that files of the process may have; more is refused like on a full disk. */
function limitFiles(pid: number, bytes: number | 'unlimited'): void {
  const { status, stderr } = spawnSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);
  expect(status, String(stderr)).toBe(0);
}

test.skipIf(!hasPrlimit)(
  `a store that accepts no writes is not ready, and becomes ready again${why}`,
  async () => {
    await using world = await ServerWithModel.startProcess({ TALARIA_LOG_LEVEL: 'silent' });
    const { api, server } = world;
    const detailed = async () => {
      const { status, body } = await api.get<Detailed>('/health/detailed');
      expect(status).toBe(200);
      return body;
    };
    const runId = await api.create(script([{ text: 'before' }]));
    await endsAs(api, runId, 'run.completed');
    expect((await detailed()).readiness).toMatchObject({
      status: 'ready',
      checks: { store: { status: 'ok' } },
    });

    limitFiles(server.pid, 1);
    expect((await api.post('/v1/runs', { input: 'refused' })).status).toBe(503);
    const failing = await detailed();
    expect(failing.readiness.status).toBe('not_ready');
    expect(failing.readiness.checks.store.status).toBe('failed');
    expect(failing.readiness.checks.store.detail).toMatch(/takes no writes$/);
    const { message, at } = failing.readiness.checks.store.last_error!;
    expect(message).toMatch(/disk/);
    expect(Math.abs(Date.parse(at) - Date.now())).toBeLessThan(60_000);
    expect(failing.queue).toMatchObject({ queued: 0, leased: 0, max_queued: 1000, max_concurrent: 10 });
    expect((await api.run(runId)).status).toBe('completed');

    limitFiles(server.pid, 'unlimited');
    const { readiness } = await detailed();
    expect(readiness.status).toBe('ready');
    expect(readiness.checks.store).toMatchObject({ status: 'ok', last_error: { message } });
    await endsAs(api, await api.create(script([{ text: 'after' }])), 'run.completed');
  },
);
