/** Commands that try to use the whole machine get only their share, and the model is told. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ServerProcess } from '../support/server-process.ts';
import { play } from './played-run.ts';
import { ServerWithModel, terminal } from './server-with-model.ts';

interface Detailed {
  readiness: { checks: { sandbox: { limits: Record<string, string> } } };
}

describe('a run that tries to use everything', () => {
  let world: ServerWithModel<ServerProcess>;
  let limits: Record<string, string>;
  beforeAll(async () => {
    world = await ServerWithModel.startProcess({
      TALARIA_SANDBOX_FILE_SIZE_MB: '16',
      TALARIA_SANDBOX_WORKSPACE_MB: '32',
      TALARIA_APPROVALS_ISOLATED: 'skip',
    });
    const { body } = await world.api.get<Detailed>('/health/detailed');
    limits = body.readiness.checks.sandbox.limits;
  });
  afterAll(() => world[Symbol.asyncDispose]());

  test('health and the first log lines name each limit and what enforces it', () => {
    expect(Object.keys(limits)).toEqual(['memory', 'processes', 'file size', 'workspace']);
    expect(limits['file size']).toBe('16 MB for each file, by rlimit');
    expect(limits.workspace).toBe('32 MB for each workspace with its /tmp, by measurement');
    expect(world.server.output).toMatch(/limits +.*16 MB per file, 32 MB per workspace\n/);
  });

  test('the model is told which limit it hit, can clean up, and the server has not grown', async () => {
    const { told, output } = await play(
      world,
      { tools: [terminal('head -c 100M /dev/zero > large')] },
      { tools: [terminal('yes | head -c 1G')] },
      { tools: [terminal('rm -r /tmp/talaria-output')] },
      { tools: [terminal('for i in $(seq 1000); do head -c 8M /dev/zero > part$i; done')] },
      { tools: [terminal('echo x > more')] },
      { tools: [terminal('rm part*')] },
      { tools: [terminal('echo x > more; cat more')] },
      { text: 'I see' },
    );
    expect(output).toBe('I see');
    const [tooLarge, printed, , filled, refused, , written] = told.map(({ content }) => content);
    expect(tooLarge).toMatch(/reached the limit of 16 MB/);
    // The beginning of the output is stored in the workspace, for which it is too large.
    expect(printed).toMatch(/with a limit of 32 MB/);
    expect(filled).toMatch(/with a limit of 32 MB\. Delete files/);
    expect(refused).toMatch(/could delete files but write none/);
    expect(written).toMatch(/^x\n/);
    // Far below the gigabyte that went through it, far above what it needs.
    expect(peakMegabytes(world.server.pid)).toBeLessThan(500);
  });
});

/** Hides the control groups, in a mount namespace of the server's own. */
const wrapper = [
  ...['unshare', '--mount', ...(process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'])],
  ...['sh', '-c', 'mount -t tmpfs -o ro tmpfs /sys/fs/cgroup && exec "$@"', 'sh'],
];
const canHide = spawnSync(wrapper[0]!, [...wrapper.slice(1), 'true']).status === 0;
const why = canHide ? '' : ' (skipped: control groups cannot be hidden from a process here)';

// packages/server/src/start/sandbox-limits.test.ts shows it without a server.
describe.skipIf(!canHide)(`a limit that the machine cannot enforce${why}`, { tags: ['soak'] }, () => {
  test('is refused if it was set', async () => {
    await using server = new ServerProcess({ wrapper });
    expect(await server.startAndExit({ TALARIA_SANDBOX_CPUS: '2' })).toEqual({ code: 2, signal: null });
    expect(server.errors).toMatch(/TALARIA_SANDBOX_CPUS is a limit that this machine cannot enforce: .+/);
    expect(server.output).toBe('');
  });

  test('is ignored if it is only a default', async () => {
    await using server = new ServerProcess({ wrapper });
    await server.start();
    expect(server.output).toMatch(/limits +4096 MB of memory per process, /);
  });
});

/** The most memory the process ever had. */
function peakMegabytes(pid: number): number {
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1024;
}
