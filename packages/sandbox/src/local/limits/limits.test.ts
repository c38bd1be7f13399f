import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { BackendStats, Slot } from '../../backend.ts';
import { processToken } from '../../host/process-table.ts';
import { readMounts } from '../isolation/mounts.ts';
import { LocalBackend, type LocalBackendOptions } from '../local-backend.ts';
import { removeGroup } from './group-names.ts';
import { findOwnGroups } from './own-groups.ts';

const MB = 1024 * 1024;
const LIMITS = { memoryBytes: 256 * MB, processes: 64, cpus: 2 };
const LIMIT_NAMES = Object.keys(LIMITS);
/** How many groups are made ahead (keeper/seats.ts). */
const SPARE = 4;

const directories: string[] = [];
afterEach(async () => {
  for (const dir of directories.splice(0)) await rm(dir, { recursive: true, force: true });
});

async function temporaryDirectory(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'talaria-limits-test-'));
  directories.push(dir);
  return dir;
}

async function start(options: Partial<LocalBackendOptions>): Promise<LocalBackend> {
  const backend = new LocalBackend({ workspacesDir: await temporaryDirectory(), ...options });
  await backend.start();
  return backend;
}

/** If nothing enforces a limit, the reason is what the backend says about it. */
const found = await (async () => {
  const backend = await start({ preferredLimits: LIMITS });
  const { limits } = backend.stats();
  await backend.stop({ purge: true });
  return limits;
})();
const missing = found.find(({ by }) => !by.startsWith('cgroup'))?.description;
const unlessMissing = (title: string) => (missing === undefined ? title : `${title} (missing: ${missing})`);

test.each([
  { memoryBytes: 0 },
  { processes: -1 },
  { processes: 1.5 },
  { cpus: Number.NaN },
  { fileSizeBytes: Number.POSITIVE_INFINITY },
])('%j is not a limit', async (limits) => {
  await expect(start({ limits })).rejects.toMatchObject({ code: 'invalid_request' });
  await expect(start({ preferredLimits: limits })).rejects.toMatchObject({ code: 'invalid_request' });
});

test('without limits there is nothing to report', async () => {
  const backend = await start({ limits: {}, preferredLimits: { memoryBytes: undefined } });
  expect(backend.stats().limits).toEqual([]);
  await backend.stop();
});

test('a limit on the size of files alone holds without isolation, and is reported as enforced', async () => {
  const backend = await start({ isolation: 'none', limits: { fileSizeBytes: MB } });
  expect(backend.stats().limits).toMatchObject([{ limit: 'fileSizeBytes', by: 'rlimit' }]);
  const slot = await backend.acquire();
  const [result] = await backend.executeBatch([[slot, 'bash', { command: 'head -c 2M /dev/zero > large' }]]);
  expect(result).toMatchObject({ success: false, metadata: { failure: 'disk_full' } });
  await backend.stop({ purge: true });
});

describe.skipIf(missing !== undefined)(unlessMissing('a slot at its limit of processes'), () => {
  test('refuses the next command with the reason', () => saysSo('auto'));
  test('refuses the next command with the reason: unshare', { tags: ['soak'] }, () => saysSo('unshare'));

  async function saysSo(isolation: 'auto' | 'unshare'): Promise<void> {
    const backend = await start({ isolation, limits: { processes: 20 } });
    const slot = await backend.acquire();
    const run = async (tool: string, args: object) =>
      (await backend.executeBatch([[slot, tool, { ...args }]]))[0];
    const command = 'for i in $(seq 40); do sleep 600 & done; wait';
    await run('bash', { command, background: true });
    const refused = { success: false, metadata: { failure: 'process_limit' } };
    await expect.poll(() => run('bash', { command: 'echo never' })).toMatchObject(refused);
    expect((await run('bash', { command: 'echo never' }))?.error).toContain('the limit of 20');
    expect(await run('bash', { command: 'echo never', background: true })).toMatchObject(refused);
    expect(await run('search_files', { pattern: 'never' })).toMatchObject(refused);
    await backend.stop({ purge: true });
  }
});

test('a required limit comes before an optional one', async () => {
  const backend = await start({
    limits: { fileSizeBytes: 10 * MB },
    preferredLimits: { fileSizeBytes: 20 * MB },
  });
  expect(backend.stats().limits).toEqual([
    { limit: 'fileSizeBytes', value: 10 * MB, by: 'rlimit', per: 'file', description: expect.any(String) },
  ]);
  await backend.stop();
});

/** In a mount namespace of its own, which root has and others get with a user namespace. */
const hidden = [
  ...['unshare', '--mount', ...(process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'])],
  ...['sh', '-c', 'mount -t tmpfs -o ro tmpfs /sys/fs/cgroup && exec "$@"', 'sh'],
];
const canHide = spawnSync(hidden[0] as string, [...hidden.slice(1), 'true']).status === 0;
const whyNotHidden = canHide ? '' : ' (missing: a namespace in which they can be hidden)';

describe.skipIf(!canHide)(`without access to control groups${whyNotHidden}`, () => {
  test('a limit that only they can enforce is refused, with what is missing', async () => {
    const server = startServer({ workspacesDir: await temporaryDirectory(), limits: LIMITS }, hidden);
    expect(await server.line()).toEqual({
      code: 'limit_unenforceable',
      message: expect.stringMatching(/processor time: 2 processors, not enforced \(no control group: .+\)/),
    });
    await server.ended;
  });

  test('an optional limit is reported as not enforced, and commands run', async () => {
    const server = startServer(
      { workspacesDir: await temporaryDirectory(), preferredLimits: LIMITS },
      hidden,
    );
    const { stats, output } = await server.line<Line>();
    const byLimit = Object.fromEntries(stats.limits.map((each) => [each.limit, each]));
    expect(byLimit.cpus).toMatchObject({ value: 2, by: 'nothing' });
    expect(byLimit.memoryBytes).toMatchObject({ by: 'rlimit', per: 'process' });
    expect(output).toBe('ran\n');
    server.kill('SIGKILL');
    await server.ended;
  });
});

describe.skipIf(missing !== undefined)(unlessMissing('control groups'), () => {
  test('a slot has its own from its first command until it is released', async () => {
    const backend = await start({ limits: LIMITS });
    const [slot, other] = [await backend.acquire('x'), await backend.acquire('y')];
    const groupOf = async (on: Slot) => {
      const [result] = await backend.executeBatch([[on, 'bash', { command: 'cat /proc/self/cgroup' }]]);
      return /talaria-\S+/.exec(result?.output ?? '')?.[0];
    };
    const group = await groupOf(slot);
    expect(await groupsOf(processToken())).toContain(group);
    expect(await groupOf(slot)).toBe(group);
    expect(await groupOf(other)).not.toBe(group);
    await backend.release(slot);
    expect(await groupsOf(processToken())).not.toContain(group);
    await backend.stop({ purge: true });
  });

  test('they go with a backend that stops', async () => {
    const before = await groupsOf(processToken());
    const backend = await start({ limits: LIMITS });
    const slot = await backend.acquire('x');
    const running = backend.executeBatch([[slot, 'bash', { command: 'sleep 60' }]]);
    await expect.poll(() => groupsOf(processToken())).not.toEqual(before);
    await backend.stop({ purge: true });
    await running;
    expect(await groupsOf(processToken())).toEqual(before);
  });

  test('a start removes those of a killed server, and none of a living one', async () => {
    const [killed, living] = await Promise.all([startHolding(), startHolding()]);
    for (const { token } of [killed, living]) {
      await expect.poll(async () => (await groupsOf(token)).length).toBe(1 + SPARE);
    }
    killed.kill('SIGKILL');
    await killed.ended;
    const backend = await start({ limits: LIMITS });
    await backend.stop({ purge: true });
    expect(await groupsOf(killed.token)).toEqual([]);
    expect(await groupsOf(living.token)).toHaveLength(1 + SPARE);
    living.kill('SIGKILL');
    await living.ended;
    await (await start({ limits: LIMITS })).stop({ purge: true });
  });

  async function startHolding() {
    const server = startServer({ workspacesDir: await temporaryDirectory(), limits: LIMITS }, []);
    const { token } = await server.line<Line>();
    return { ...server, token };
  }
});

const unified = await delegatedRoot();

/** A place for a group for a server alone, with the controllers it needs. */
async function delegatedRoot(): Promise<{ dir?: string; missing?: string }> {
  const mount = (await readMounts()).findLast(({ type, root }) => type === 'cgroup2' && root === '/');
  if (!mount) return { missing: 'a cgroup v2' };
  const enabled = readFileSync(join(mount.path, 'cgroup.subtree_control'), 'utf8').trim().split(' ');
  const controllers = ['memory', 'pids', 'cpu'].filter((controller) => !enabled.includes(controller));
  if (controllers.length > 0) return { missing: `${controllers.join(', ')} of cgroup v2` };
  if (process.getuid?.() !== 0) return { missing: 'the right to make one' };
  return { dir: mount.path };
}

const whyNotUnified = unified.missing === undefined ? '' : ` (missing: ${unified.missing})`;

describe.skipIf(unified.dir === undefined)(`a control group of version 2${whyNotUnified}`, () => {
  let dir: string;
  beforeEach(() => {
    dir = join(unified.dir as string, `test-${randomUUID()}`);
    mkdirSync(dir);
  });
  afterEach(async () => {
    for (const name of readdirSync(dir)) if (name.startsWith('talaria-')) await removeGroup(join(dir, name));
    await removeGroup(dir);
  });
  const inGroup = () => ['sh', '-c', `echo $$ > '${join(dir, 'cgroup.procs')}' && exec "$@"`, 'sh'];

  test('holds the limits of a server that is alone in it', async () => {
    const server = startServer({ workspacesDir: await temporaryDirectory(), limits: LIMITS }, inGroup());
    const { stats, token, output } = await server.line<Line>();
    expect(stats.limits.map(({ by, per }) => [by, per])).toEqual(
      LIMIT_NAMES.map(() => ['cgroup v2', 'slot']),
    );
    expect(output).toBe('ran\n');
    const [slot = '', ...others] = readdirSync(dir)
      .filter((name) => name.startsWith(`talaria-${token}-`))
      .sort();
    expect(others).toEqual([`talaria-${token}-server`]);
    const set = (file: string) => readFileSync(join(dir, slot, file), 'utf8').trim();
    expect(['memory.max', 'pids.max', 'cpu.max'].map(set)).toEqual([
      String(LIMITS.memoryBytes),
      String(LIMITS.processes),
      '200000 100000',
    ]);
    server.kill('SIGKILL');
    await server.ended;
  });

  test('is left unchanged if others are in it', async () => {
    const stranger = spawn('sh', [...inGroup().slice(1), 'sleep', '600']);
    const members = () => readFileSync(join(dir, 'cgroup.procs'), 'utf8').trim().split('\n').map(Number);
    await expect.poll(members).toEqual([stranger.pid]);
    const server = startServer({ workspacesDir: await temporaryDirectory(), limits: LIMITS }, inGroup());
    expect(await server.line()).toMatchObject({
      code: 'limit_unenforceable',
      message: expect.stringContaining(`other processes are in the server's control group ${dir}`),
    });
    await server.ended;
    expect(readdirSync(dir).filter((name) => name.startsWith('talaria-'))).toEqual([]);
    stranger.kill('SIGKILL');
    await once(stranger, 'exit');
  });
});

/** The names of a process's slot groups, in whatever hierarchies they are. */
async function groupsOf(token: string): Promise<string[]> {
  const { v1, v2 } = await findOwnGroups();
  const dirs = [...v1.values(), ...(v2 === undefined ? [] : [v2, join(v2, '..')])];
  const names = dirs
    .flatMap((dir) => readdirSync(dir))
    .filter((name) => name.startsWith(`talaria-${token}-`));
  return [...new Set(names)].filter((name) => !name.endsWith('-server')).sort();
}

/** The line that a server prints about itself when it has run a command. */
interface Line {
  token: string;
  stats: BackendStats;
  output: string;
}

/** A process of its own that holds a slot in which it has run a command; it prints a line about itself. */
function startServer(options: LocalBackendOptions, wrapper: readonly string[]) {
  const module = (path: string) => JSON.stringify(new URL(path, import.meta.url).pathname);
  const program = `
    import { LocalBackend } from ${module('../local-backend.ts')};
    import { processToken } from ${module('../../host/process-table.ts')};
    const backend = new LocalBackend(${JSON.stringify(options)});
    try {
      await backend.start();
      const slot = await backend.acquire('server');
      const [{ output }] = await backend.executeBatch([[slot, 'bash', { command: 'echo ran' }]]);
      console.log(JSON.stringify({ token: processToken(), stats: backend.stats(), output }));
      setInterval(() => {}, 1000);
    } catch ({ code, message }) {
      console.log(JSON.stringify({ code, message }));
    }
  `;
  const [file = '', ...args] = [...wrapper, process.execPath, '--input-type=module', '--eval', program];
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout });
  return {
    kill: child.kill.bind(child),
    ended: once(child, 'exit'),
    line: async <T = unknown>(): Promise<T> => {
      const [line] = await once(lines, 'line');
      return JSON.parse(line) as T;
    },
  };
}
