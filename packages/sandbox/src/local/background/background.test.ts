import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ExecutionResult, Slot } from '../../backend.ts';
import { processesWith, uniqueSeconds, zombieChildren } from '../../testing/host-processes.ts';
import { LocalBackend, type LocalBackendOptions } from '../local-backend.ts';
import { tagsOf, whyUnavailable } from '../testing/why-unavailable.ts';

const KINDS = ['bubblewrap', 'unshare', 'none'] as const;

for (const isolation of KINDS) {
  const reason = await whyUnavailable(isolation);
  const title = reason === undefined ? isolation : `${isolation} (missing: ${reason})`;
  const tags = await tagsOf(isolation);
  describe.skipIf(reason !== undefined)(`background processes: ${title}`, { tags }, () => {
    let workspacesDir: string;
    let backend: LocalBackend;
    let slot: Slot;

    beforeAll(async () => {
      workspacesDir = await temporaryDirectory();
      backend = new LocalBackend({ workspacesDir, isolation });
    });
    beforeEach(async () => {
      await backend.start();
      slot = await backend.acquire();
    });
    afterEach(() => backend.release(slot));
    afterAll(async () => {
      await backend.stop({ purge: true });
      await rm(workspacesDir, { recursive: true, force: true });
    });

    async function call(tool: string, args: Record<string, unknown>): Promise<ExecutionResult> {
      const [result] = await backend.executeBatch([[slot, tool, args]]);
      return result as ExecutionResult;
    }

    async function start(command: string): Promise<string> {
      const { metadata, error } = await call('bash', { command, background: true });
      expect(error).toBe('');
      return metadata.process?.id as string;
    }

    const ends: [string, (id: string) => Promise<unknown>, string[]?][] = [
      // With isolation the contract shows it (contract/processes.contract.ts).
      ['kill', (id) => call('process', { action: 'kill', id }), isolation === 'none' ? [] : ['soak']],
      ['the release of the slot', () => backend.release(slot)],
      ['the stop of the backend', () => backend.stop()],
    ];
    for (const [what, end, tags = []] of ends)
      test(`nothing is left after ${what}, however it was started`, { tags }, async () => {
        const seconds = uniqueSeconds();
        const id = await start(
          `setsid sleep ${seconds} & nohup sleep ${seconds} >/dev/null & ( ( sleep ${seconds} & ) & ); trap "" TERM; sleep ${seconds}`,
        );
        await expect.poll(() => processesWith(seconds).length).toBeGreaterThanOrEqual(4);
        await end(id);
        expect(processesWith(seconds)).toEqual([]);
      });

    // ../killed-server.test.ts shows the same for a server with several slots.
    test('they die with a server that is killed', { tags: ['soak'] }, async () => {
      const seconds = uniqueSeconds();
      const options = { workspacesDir, isolation };
      const server = startServer(options, `setsid sleep ${seconds} & sleep ${seconds}`);
      expect(await server.answer()).toMatchObject({ success: true });
      await expect.poll(() => processesWith(seconds).length).toBeGreaterThan(1);
      server.child.kill('SIGKILL');
      await once(server.child, 'exit');
      // Without isolation the sweep of the next start does what the kernel does with isolation.
      if (isolation === 'none') await (await startBackend(options)).stop();
      await expect.poll(() => processesWith(seconds)).toEqual([]);
    });

    test('many of them leave no descriptor and no zombie behind', async () => {
      const round = async () => {
        const ids = await Promise.all(Array.from({ length: 8 }, () => start('cat')));
        for (const [index, id] of ids.entries()) {
          if (index % 2) await call('process', { action: 'write', id, data: 'x', eof: true });
          else await call('process', { action: 'kill', id, signal: 'KILL' });
        }
        await Promise.all(ids.map((id) => call('process', { action: 'wait', id })));
      };
      await round();
      const before = openDescriptors();
      await round();
      await round();
      // Pipes are made thirty-two at a time and wait with both ends open.
      await expect.poll(() => openDescriptors() - before).toBeLessThanOrEqual(64);
      await expect.poll(zombieChildren).toEqual([]);
      await backend.stop();
      await expect.poll(() => openDescriptors()).toBeLessThanOrEqual(before);
    });

    test.skipIf(isolation === 'none')('a shared network does not weaken the isolation', async () => {
      const host = createServer((socket) => socket.end('host')).listen(0, '127.0.0.1');
      await once(host, 'listening');
      const { port } = host.address() as { port: number };
      const look = [
        'tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " "',
        'grep -E "^Cap(Prm|Eff)" /proc/self/status',
        'unshare --user true 2>/dev/null || echo no user namespace',
        'ip link add dummy0 type dummy 2>/dev/null || echo no interface',
        `(exec 9<>/dev/tcp/127.0.0.1/${port}) 2>/dev/null || echo no host`,
        // biome-ignore lint/suspicious/noTemplateCurlyInString: the braces are the shell's
        'for fd in /proc/self/fd/*; do [ -e "$fd" ] && echo "${fd##*/}"; done | tr "\\n" " "; echo',
        // Counted by the shell itself: the parts of a pipeline start one after another, and may not see each other yet.
        'set -- /proc/[0-9]*; echo $#',
      ].join('\n');
      const alone = await call('bash', { command: look });
      const id = await start(look);
      const behind = await call('process', { action: 'wait', id });
      const beside = await call('bash', { command: look });
      host.close();
      expect(alone.output).toMatch(
        /^lo\nCapPrm:\s+0{16}\nCapEff:\s+0{16}\nno user namespace\nno interface\nno host\n0 1 2 /,
      );
      expect(beside.output).toBe(alone.output);
      expect((await call('process', { action: 'log', id })).output).toContain(alone.output);
      expect(behind.metadata.process?.status).toBe('exited');
    });

    // Without the right to run programs from the data directory there are no keepers.
    test.runIf(isolation === 'unshare')('without keepers and nsenter the answer says so', async () => {
      const nested = join(workspacesDir, 'nested');
      mkdirSync(nested);
      const options = { workspacesDir: nested, isolation };
      const hide =
        'mount -t tmpfs -o noexec tmpfs "$1" && shift && mount --bind /dev/null "$(command -v nsenter)" && exec "$@"';
      const wrapper = ['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c', hide, 'sh', nested];
      const server = startServer(options, 'sleep 60', wrapper);
      const answer = await server.answer();
      expect(answer).toMatchObject({ success: true, metadata: { process: { status: 'running' } } });
      expect(answer.output).toContain('[other commands cannot reach its ports: nsenter is not installed]');
      server.child.kill('SIGKILL');
      await once(server.child, 'exit');
    });

    // Once: what reads the output is the same under each isolation.
    if (isolation === 'none') {
      test('printing 1 GB takes constant memory, and the log has its maximum length', {
        timeout: 180_000,
        tags: ['soak'],
      }, async () => {
        const id = await start('until [ -e go ]; do sleep 0.01; done; yes | head -c 1G');
        const peak = watchMemory();
        await call('bash', { command: 'touch go' });
        const end = await call('process', { action: 'wait', id, timeout: 120 });
        expect(peak() / 1024 / 1024).toBeLessThan(100);
        expect(end.metadata).toMatchObject({
          truncated: true,
          process: { output_bytes: 1024 ** 3, exit_code: 0 },
        });
        const log = await call('process', { action: 'log', id, limit: 1 });
        expect(log.output).toContain(
          `the log holds only the first ${64 * 1024 * 1024} of ${1024 ** 3} bytes`,
        );
      });
    }
  });
}

async function startBackend(options: LocalBackendOptions): Promise<LocalBackend> {
  const backend = new LocalBackend(options);
  await backend.start();
  return backend;
}

function temporaryDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'talaria-background-test-'));
}

/** A separate process whose backend runs one command in the background. */
function startServer(options: LocalBackendOptions, command: string, wrapper: readonly string[] = []) {
  const program = `
    import { LocalBackend } from ${JSON.stringify(new URL('../local-backend.ts', import.meta.url).pathname)};
    const backend = new LocalBackend(${JSON.stringify(options)});
    await backend.start();
    const slot = await backend.acquire('server');
    const [result] = await backend.executeBatch([[slot, 'bash', ${JSON.stringify({ command, background: true })}]]);
    console.log(JSON.stringify(result));
    setInterval(() => {}, 1000);
  `;
  const [file, ...args] = [...wrapper, process.execPath, '--input-type=module', '--eval', program];
  const child = spawn(file as string, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout });
  return {
    child,
    answer: async (): Promise<ExecutionResult> => JSON.parse((await once(lines, 'line'))[0]),
  };
}

function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length;
}

/** Returns how far resident memory has risen above where it was. */
function watchMemory(): () => number {
  const before = process.memoryUsage.rss();
  let peak = before;
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 10);
  return () => {
    clearInterval(timer);
    return peak - before;
  };
}
