import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ExecutionResult, Isolation, Slot } from '../backend.ts';
import { processesWith, uniqueSeconds, zombieChildren } from '../testing/host-processes.ts';
import { LocalBackend, type LocalBackendOptions } from './local-backend.ts';
import { tagsOf, whyUnavailable } from './testing/why-unavailable.ts';

const KINDS: Isolation['kind'][] = ['bubblewrap', 'unshare', 'none'];

for (const kind of KINDS) {
  const reason = await whyUnavailable(kind);
  const title = reason === undefined ? kind : `${kind} (missing: ${reason})`;
  describe.skipIf(reason !== undefined)(title, { tags: await tagsOf(kind) }, () => {
    describeHost(kind);
    if (kind !== 'none') describeIsolation(kind);
  });
}
describeFiles();

test('two concurrent starts are one, and a stop undoes it completely', async () => {
  const workspacesDir = await temporaryDirectory();
  const backend = new LocalBackend({ workspacesDir, isolation: 'none' });
  const open = () => readdirSync('/proc/self/fd').length;
  await backend.start();
  await backend.stop();
  const before = open();
  await Promise.all([backend.start(), backend.start()]);
  await backend.stop();
  await expect.poll(open).toBeLessThanOrEqual(before);
  void backend.start();
  await backend.stop();
  await expect.poll(open).toBeLessThanOrEqual(before);
  await rm(workspacesDir, { recursive: true });
});

// Once: what reads the output of a command is the same under each isolation.
test('printing 1 GB takes next to no memory', { timeout: 180_000, tags: ['soak'] }, async () => {
  const workspacesDir = await temporaryDirectory();
  const server = await startServer({ workspacesDir }, 'yes | head -c 1G');
  const output = await server.output;
  expect(output).toContain(`of ${1024 ** 3} bytes left out`);
  const peakMb = Number(/^VmHWM:\s+(\d+) kB$/m.exec(output)?.[1]) / 1024;
  // Far below what was printed, far above what a process of Node takes.
  expect(peakMb).toBeLessThan(400);
  await rm(workspacesDir, { recursive: true });
});

describe.skipIf((await whyUnavailable('unshare')) !== undefined)('if namespaces are forbidden', () => {
  const wrapper = [
    ...['unshare', '--user', '--map-root-user', 'sh', '-c'],
    ...['echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"', 'sh'],
  ];

  test('a backend works without isolation and says why', async () => {
    const workspacesDir = await temporaryDirectory();
    const server = await startServer({ workspacesDir }, 'echo works', { wrapper });
    expect(await server.output).toMatch(/^none: .*\(bubblewrap: .+; unshare: .+\)\.\nworks\n/);
    await rm(workspacesDir, { recursive: true });
  });

  test('a backend that must be isolated does not start', async () => {
    const workspacesDir = await temporaryDirectory();
    const server = await startServer({ workspacesDir, isolation: 'unshare' }, 'echo works', { wrapper });
    expect(await server.errors).toContain('No isolation by unshare: ');
    expect(await server.output).toBe('');
    await rm(workspacesDir, { recursive: true });
  });
});

/** The processes of a command, as the host sees them under every isolation. */
function describeHost(kind: Isolation['kind']): void {
  describe('on the host', () => {
    const { context, bash } = useBackend({ isolation: kind });

    test('no process is left when the result arrives, however it was started', async () => {
      const ways: Record<string, (sleep: string) => string> = {
        setsid: (sleep) => `setsid ${sleep} &`,
        nohup: (sleep) => `nohup ${sleep} >/dev/null 2>&1 &`,
        'a double fork': (sleep) => `( ( ${sleep} & ) & );`,
        'setsid after a double fork': (sleep) => `( ( setsid ${sleep} & ) & );`,
        'the output held open': (sleep) => `( trap "" TERM HUP INT; ${sleep} ) &`,
      };
      const seconds = new Map(Object.keys(ways).map((way) => [way, uniqueSeconds()]));
      const last = uniqueSeconds();
      const alive = () =>
        [...seconds].flatMap(([way, each]) => (processesWith(each).length > 0 ? [way] : []));
      const command = Object.entries(ways)
        .map(([way, start]) => start(`sleep ${seconds.get(way)}`))
        .join(' ');
      const timedOut = await bash(`${command} echo up; sleep ${last}`, { timeout: 0.5 });
      expect(alive()).toEqual([]);
      expect(processesWith(last)).toEqual([]);
      expect(timedOut.metadata.failure).toBe('timeout');
      const ended = await bash(`${command} sleep 0.1`);
      expect(alive()).toEqual([]);
      expect(ended.success).toBe(true);
      const controller = new AbortController();
      const running = context().backend.executeBatch(
        [[context().slot, 'bash', { command: `${command} sleep ${last}` }]],
        { signal: controller.signal },
      );
      await expect.poll(alive).toEqual(Object.keys(ways));
      controller.abort();
      await running;
      expect(alive()).toEqual([]);
      expect(processesWith(last)).toEqual([]);
    });

    test('aborting at any moment of a start leaves no process', async () => {
      const seconds = uniqueSeconds();
      for (let delayMs = 0; delayMs < 30; delayMs += 2) {
        const signal = AbortSignal.timeout(delayMs);
        const [result] = await context().backend.executeBatch(
          [[context().slot, 'bash', { command: `setsid sleep ${seconds} & sleep ${seconds}` }]],
          { signal },
        );
        expect(result?.metadata.failure).toBe('aborted');
        expect(processesWith(seconds)).toEqual([]);
      }
    });

    test('many commands leave no zombie, descriptor or listener behind', async () => {
      const { backend } = context();
      const { signal } = new AbortController();
      const runMany = async () => {
        await backend.start();
        const slot = await backend.acquire('many');
        const results = await backend.executeBatch(
          Array.from({ length: 8 }, (_, index) =>
            index % 2
              ? [slot, 'bash', { command: 'sleep 60 & sleep 60', timeout: 0.2 }]
              : [slot, 'bash', { command: 'sleep 60 & seq 1 30000' }],
          ),
          { signal },
        );
        expect(results.filter((result) => result.success)).toHaveLength(4);
        // One that has just ended is reaped in a moment.
        await expect.poll(zombieChildren).toEqual([]);
        // The stock of pipes, which has no fixed size, is closed with it.
        await backend.stop();
      };
      await runMany();
      const before = openDescriptors();
      await runMany();
      await expect.poll(() => openDescriptors()).toBeLessThanOrEqual(before);
    });

    test('workspaces are private', async () => {
      expect((await bash(`stat -c %a .`)).output).toBe('700\n');
    });

    // killed-server.test.ts shows the same for a server with several slots.
    test('a command dies with a server that is killed', { tags: ['soak'] }, async () => {
      const seconds = uniqueSeconds();
      const command = `setsid sleep ${seconds} & nohup sleep ${seconds} >/dev/null & sleep ${seconds}`;
      const server = await startServer({ workspacesDir: context().workspacesDir, isolation: kind }, command);
      await expect.poll(() => processesWith(seconds).length).toBeGreaterThan(1);
      server.kill('SIGKILL');
      await server.ended;
      await (kind === 'none' ? startAnother() : undefined);
      await expect.poll(() => processesWith(seconds)).toEqual([]);
    });

    test('a missing workspace is a failure of the backend, not of the command', async () => {
      await rm(context().workspacePath, { recursive: true });
      const result = await bash('echo ran');
      expect(result).toMatchObject({ success: false, output: '', metadata: { failure: 'backend_down' } });
    });

    /** Without isolation the sweep of the next start does what the kernel does with isolation. */
    async function startAnother(): Promise<void> {
      const another = new LocalBackend({ workspacesDir: context().workspacesDir, isolation: kind });
      await another.start();
      await another.stop();
    }
  });
}

/** Files on the host. The same code handles them under every isolation, so one is enough. */
function describeFiles(): void {
  describe('files on the host', () => {
    const kept = 4 * 1024 * 1024;
    const { context, bash, call } = useBackend({ spoolLimitBytes: kept });

    test('no more of a long output is stored than allowed', async () => {
      const result = await bash('yes | head -c 8M');
      expect(result.output).toContain(`its first ${kept} bytes are in`);
      const size = await bash(`stat -c %s '${result.metadata.full_output_path}'`);
      expect(size.output).toBe(`${kept}\n`);
    });

    test('an output that cannot be stored is still returned, and nothing is written through a link', async () => {
      const outside = await temporaryDirectory();
      await bash(`ln -s ${outside} "$TMPDIR/talaria-output"`);
      const result = await bash('seq 1 100000');
      expect(result).toMatchObject({ success: true, metadata: { truncated: true } });
      expect(result.metadata.full_output_path).toBeUndefined();
      expect(result.output).toContain('could not be kept');
      expect(await readdir(outside)).toEqual([]);
      await rm(outside, { recursive: true });
    });

    const swapped = 'a link swapped in during the call never leads a file tool outside';
    test(`${swapped}: 40 times`, () => swapDuringCalls(40));
    test(`${swapped}: 200 times`, { tags: ['soak'] }, () => swapDuringCalls(200));

    async function swapDuringCalls(rounds: number): Promise<void> {
      const outside = await temporaryDirectory();
      await writeFile(join(outside, 'file'), 'outside');
      const workspace = context().workspacePath;
      await mkdir(join(workspace, 'real'));
      await writeFile(join(workspace, 'real/file'), 'inside');
      let swapping = true;
      const swap = async () => {
        for (let turn = 0; swapping; turn++) {
          replaceByLink(join(workspace, 'dir'), turn % 2 ? outside : 'real');
          if (turn % 2) replaceByLink(join(workspace, 'leaf'), join(outside, 'file'));
          else replaceByFile(join(workspace, 'leaf'), 'inside');
          await new Promise(setImmediate);
        }
      };
      const swapper = swap();
      const outputs = new Set<string>();
      for (let round = 0; round < rounds; round++) {
        const results = await Promise.all([
          call('read_file', { path: 'dir/file' }),
          call('read_file', { path: 'leaf' }),
          call('write_file', { path: 'dir/new', content: 'escaped' }),
          call('write_file', { path: 'leaf', content: 'inside' }),
        ]);
        for (const result of results.slice(0, 2)) outputs.add(result.output);
        if (round % 20 === 0) {
          const { output } = await call('search_files', { pattern: 'outside', path: 'dir' });
          expect(output).not.toContain(':outside');
        }
        if (round % 5 !== 0) continue;
        await Promise.all([
          call('patch', { path: 'dir/file', old_string: 'outside', new_string: 'escaped' }),
          call('patch', { path: 'leaf', old_string: 'outside', new_string: 'escaped' }),
          call('patch', {
            patch:
              '*** Begin Patch\n*** Delete File: dir/file\n*** Add File: dir/added\n+escaped\n*** End Patch',
          }),
        ]);
      }
      swapping = false;
      await swapper;
      expect([...outputs].sort()).toEqual(['', 'inside']);
      expect(await readFile(join(outside, 'file'), 'utf8')).toBe('outside');
      expect(await readdir(outside)).toEqual(['file']);
      await rm(outside, { recursive: true });
    }

    test('deleting a workspace follows no link', async () => {
      const outside = await temporaryDirectory();
      await writeFile(join(outside, 'file'), 'outside');
      await symlinkInWorkspace('link', outside);
      await context().backend.release(context().slot, { resetWorkspace: true });
      expect(await readdir(outside)).toEqual(['file']);
      await rm(outside, { recursive: true });
    });

    test('purge deletes workspaces and nothing else', async () => {
      await writeFile(join(context().workspacesDir, 'README'), 'not a workspace');
      await context().backend.stop({ purge: true });
      expect(await readdir(context().workspacesDir)).toEqual(['README']);
      await rm(join(context().workspacesDir, 'README'));
    });

    async function symlinkInWorkspace(name: string, target: string): Promise<void> {
      symlinkSync(target, join(context().workspacePath, name));
    }
  });
}

/** The guarantees that need isolation. */
function describeIsolation(kind: Isolation['kind']): void {
  describe('isolation', () => {
    const { context, bash } = useBackend({ isolation: kind });

    test('the files of the host are not visible', async () => {
      const other = await context().backend.acquire('other');
      const secret = randomUUID();
      await context().backend.executeBatch([[other, 'write_file', { path: 'note', content: secret }]]);
      const paths = [
        '/root',
        '/home',
        homedir(),
        process.cwd(),
        context().workspacesDir,
        '/var/log',
        '/etc/shadow',
      ];
      for (const path of [...paths, '/sys', '/boot', '/run/dbus', '/var/run/docker.sock']) {
        const result = await bash(`ls -A '${path}' 2>/dev/null`);
        expect([path, result.output]).toEqual([path, '']);
      }
      expect((await bash('ls -A /workspace /tmp')).output).toBe('/tmp:\n\n/workspace:\n');
    });

    test('only the workspace and temporary directories can be written', async () => {
      const result = await bash(
        'for d in / /usr /usr/bin /etc /opt /dev /proc /run /var /workspace /tmp /dev/shm; do (: > $d/probe) 2>/dev/null && echo $d; done',
      );
      expect(result.output).toBe('/workspace\n/tmp\n/dev/shm\n');
    });

    test('/dev/shm does not bypass a limit on memory', async () => {
      const { output } = await bash('df -k --output=size /dev/shm | tail -1');
      expect(Number(output)).toBe(256 * 1024);
    });

    test('the settings of the kernel cannot be written', async () => {
      // Anybody may write to /proc/pressure: it only asks to be woken.
      const result = await bash(
        `find /proc -maxdepth 4 -not -path '/proc/pressure/*' -not -path '/proc/[0-9]*' -not -path '/proc/self/*' -not -path '/proc/thread-self/*' -type f -writable 2>/dev/null`,
      );
      expect(result.output).toBe('');
    });

    test('a command has no capability and cannot get one', async () => {
      const result = await bash(
        'grep -E "^Cap(Prm|Eff)" /proc/self/status; unshare --user --map-root-user id -u',
      );
      expect(result.output).toMatch(/^CapPrm:\s+0{16}\nCapEff:\s+0{16}\nunshare: /);
      expect(result.success).toBe(false);
      expect((await bash('mount -t tmpfs tmpfs /tmp || umount /proc/sys || umount -l /')).success).toBe(
        false,
      );
    });

    test('the processes of the host are not visible', async () => {
      const result = await bash('ls /proc | grep -c "^[0-9]"; kill -0 2 2>&1; cat /proc/1/environ');
      expect(Number(result.output.split('\n')[0])).toBeLessThan(10);
    });

    test('there is no network, and a loopback of its own', async () => {
      const server = createServer((socket) => socket.end('host')).listen(0, '127.0.0.1');
      await new Promise((resolve) => server.once('listening', resolve));
      const { port } = server.address() as { port: number };
      const interfaces = await bash(`tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '`);
      expect(interfaces.output).toBe('lo\n');
      expect((await bash(`cat < /dev/tcp/127.0.0.1/${port}`)).success).toBe(false);
      expect((await bash('cat < /dev/tcp/1.1.1.1/80')).success).toBe(false);
      server.close();
    });

    test('variables of a call cannot reach the programs that build the sandbox', async () => {
      const trace = join(context().workspacesDir, 'trace');
      await bash('printf "%s\\n" "echo ran > $TRACE" > rc', { env: { TRACE: trace } });
      const rc = join(context().workspacePath, 'rc');
      const env = {
        ENV: rc,
        BASH_ENV: rc,
        LD_PRELOAD: join(context().workspacePath, 'evil.so'),
        PATH: '/workspace',
      };
      const result = await bash('echo "$BASH_ENV"', { env });
      expect(result.output).toContain(`${rc}\n`);
      expect(result.output).not.toContain('LD_PRELOAD');
      expect(existsSync(trace)).toBe(false);
    });

    test('a hidden path inside a visible one is empty', async () => {
      const hidden = '/usr/share/doc';
      if (!existsSync(hidden) || readdirSync(hidden).length === 0) return;
      const backend = new LocalBackend({
        workspacesDir: join(context().workspacesDir, 'nested'),
        isolation: kind,
        hiddenPaths: [hidden],
      });
      await backend.start();
      const slot = await backend.acquire();
      const [result] = await backend.executeBatch([
        [slot, 'bash', { command: `ls -A ${hidden}; ls -A /usr/share` }],
      ]);
      await backend.stop({ purge: true });
      expect(result?.output).toMatch(/^(?!.*bash\n)/);
      expect(result?.output.split('\n')).toContain('doc');
      expect(result?.output.split('\n')).not.toContain(readdirSync(hidden)[0]);
    });

    test('with the network allowed, a command has the network of the host', async () => {
      const backend = new LocalBackend({
        workspacesDir: join(context().workspacesDir, 'nested'),
        isolation: kind,
        allowNetwork: true,
      });
      await backend.start();
      const server = createServer((socket) => socket.end('host')).listen(0, '127.0.0.1');
      await new Promise((resolve) => server.once('listening', resolve));
      const { port } = server.address() as { port: number };
      const slot = await backend.acquire();
      const command = `cat < /dev/tcp/127.0.0.1/${port}`;
      const [result] = await backend.executeBatch([[slot, 'bash', { command }]]);
      server.close();
      await backend.stop({ purge: true });
      expect(result).toMatchObject({ success: true, output: 'host' });
    });

    test('descriptors that the server inherited do not reach a command', async () => {
      // The server is started by a shell that leaves it an open file at a high descriptor.
      const path = join(context().workspacesDir, 'inherited');
      await writeFile(path, 'inherited');
      const command = 'ls -l /proc/self/fd /proc/1/fd 2>/dev/null | grep -c inherited; echo done';
      const server = await startServer({ workspacesDir: context().workspacesDir, isolation: kind }, command, {
        wrapper: ['bash', '-c', `exec 77< '${path}'; exec "$@"`, 'bash'],
      });
      expect(await server.output).toContain('0\ndone');
    });
  });

  test('the names of its directories may contain any characters', async () => {
    const parent = await temporaryDirectory();
    const workspacesDir = join(parent, `it's a "strange" \\040 näme #1`);
    const backend = new LocalBackend({ workspacesDir, isolation: kind });
    await backend.start();
    const slot = await backend.acquire('x');
    const [result] = await backend.executeBatch([[slot, 'bash', { command: 'pwd; echo x > file; ls' }]]);
    await backend.stop();
    await rm(parent, { recursive: true });
    expect(result).toMatchObject({ success: true, output: '/workspace\nfile\n' });
  });
}

/** A started backend, and a slot that is new for every test. */
function useBackend(options: Omit<LocalBackendOptions, 'workspacesDir'>) {
  let workspacesDir: string;
  let backend: LocalBackend;
  let slot: Slot;
  beforeAll(async () => {
    workspacesDir = await temporaryDirectory();
    backend = new LocalBackend({ workspacesDir, ...options });
  });
  beforeEach(async () => {
    await backend.start();
    slot = await backend.acquire(randomUUID());
  });
  afterEach(() => backend.release(slot, { resetWorkspace: true }));
  afterAll(async () => {
    await backend.stop({ purge: true });
    await rm(workspacesDir, { recursive: true, force: true });
  });
  const call = async (tool: string, args: Record<string, unknown>) => {
    const [result] = await backend.executeBatch([[slot, tool, args]]);
    return result as ExecutionResult;
  };
  return {
    context: () => ({
      backend,
      slot,
      workspacesDir,
      workspacePath: join(workspacesDir, `t-${slot.trajectoryId}`),
    }),
    call,
    bash: (command: string, more: Record<string, unknown> = {}) => call('bash', { command, ...more }),
  };
}

function temporaryDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'talaria-sandbox-test-'));
}

function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length;
}

function replaceByLink(path: string, target: string): void {
  symlinkSync(target, `${path}.swap`);
  renameSync(`${path}.swap`, path);
}

function replaceByFile(path: string, content: string): void {
  writeFileSync(`${path}.swap`, content);
  renameSync(`${path}.swap`, path);
}

interface ServerOptions {
  /** Words before the server's own command line. */
  wrapper?: string[];
}

/**
 * A separate process that runs one command in its own backend, and prints what isolates it, its output and data about
 * itself.
 */
async function startServer(
  options: LocalBackendOptions,
  command: string,
  { wrapper = [] }: ServerOptions = {},
) {
  const program = `
    import { readFileSync } from 'node:fs';
    import { LocalBackend } from ${JSON.stringify(new URL('./local-backend.ts', import.meta.url).pathname)};
    const backend = new LocalBackend(${JSON.stringify(options)});
    await backend.start();
    const slot = await backend.acquire('server');
    const [result] = await backend.executeBatch([[slot, 'bash', ${JSON.stringify({ command })}]]);
    console.log(backend.stats().isolation.description + '\\n' + result.output + result.error);
    await backend.stop();
    console.log(readFileSync('/proc/self/status', 'utf8'));
  `;
  const [file, ...args] = [...wrapper, process.execPath, '--input-type=module', '--eval', program];
  const child = spawn(file as string, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const text = (stream: Readable) =>
    stream
      .setEncoding('utf8')
      .toArray()
      .then((parts) => parts.join(''));
  return {
    kill: child.kill.bind(child),
    output: text(child.stdout),
    errors: text(child.stderr),
    /** Its output ends a moment before the process does. */
    ended: once(child, 'exit'),
  };
}
