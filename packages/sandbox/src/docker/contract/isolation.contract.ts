/** A command in a container finds nothing of the host, of other slots and of earlier holders. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { homedir } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Slot } from '../../backend.ts';
import type { TestDaemon } from '../testing/docker-daemon.ts';
import { type DockerTest, inspectContainer, newTrajectory, startTest } from '../testing/docker-fixture.ts';

/** The numbers of system calls on x86-64 that no command needs. */
const FORBIDDEN_CALLS = {
  bpf: 321,
  keyctl: 250,
  userfaultfd: 323,
  perf_event_open: 298,
  io_uring_setup: 425,
  open_by_handle_at: 304,
  pidfd_getfd: 438,
  init_module: 175,
};

export function describeIsolation(daemon: () => TestDaemon): void {
  describe('isolation', () => {
    let docker: DockerTest;
    let slot: Slot;
    const bash = (command: string, on = slot) => docker.bash(on, command);

    beforeAll(async () => {
      docker = await startTest(daemon(), {
        slotsPerContainer: 3,
        limits: { memoryBytes: 1e9, processes: 200, cpus: 1 },
      });
      slot = await docker.backend.acquire(newTrajectory());
    });
    afterAll(() => docker[Symbol.asyncDispose]());

    test('the files of the host, the socket of Docker and what is ours in the container are not visible', async () => {
      const paths = [
        ...['/root', '/home', homedir(), process.cwd(), docker.workspacesDir, '/var/log', '/etc/shadow'],
        ...[
          '/sys',
          '/boot',
          '/run',
          '/var/run/docker.sock',
          daemon().host.slice('unix://'.length),
          '/talaria',
        ],
      ];
      for (const path of paths) {
        expect([path, (await bash(`ls -A '${path}' 2>/dev/null`)).output]).toEqual([path, '']);
      }
      const { output } = await bash('cat /proc/self/cgroup /proc/self/environ');
      expect(output).not.toContain(docker.workspacesDir);
    });

    test('only the workspace and temporary directories can be written', async () => {
      const { output } = await bash(
        'for d in / /usr /usr/bin /etc /dev /proc /run /var /workspace /tmp /dev/shm; do (: > $d/probe) 2>/dev/null && echo $d; done; rm -f /tmp/probe probe',
      );
      expect(output).toBe('/workspace\n/tmp\n/dev/shm\n');
    });

    test('the processes of the host, of the container and of another slot are not visible', async () => {
      const other = await docker.backend.acquire(newTrajectory());
      const running = docker.bash(other, 'echo here > here; exec sleep 7654321');
      await expect.poll(async () => (await docker.bash(other, 'cat here')).output).toBe('here\n');
      const { output } = await bash('cat /proc/[0-9]*/cmdline | tr "\\000" " "');
      expect(output).not.toContain('7654321');
      expect(output).not.toContain('/talaria');
      await docker.backend.release(other, { resetWorkspace: true });
      await running;
    });

    test('there is no network, and a loopback of its own', async () => {
      const server = createServer((socket) => socket.end('host')).listen(0, '127.0.0.1');
      await new Promise((resolve) => server.once('listening', resolve));
      const { port } = server.address() as { port: number };
      expect((await bash(`tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '`)).output).toBe('lo\n');
      expect((await bash(`cat < /dev/tcp/127.0.0.1/${port}`)).success).toBe(false);
      expect((await bash('cat < /dev/tcp/1.1.1.1/80')).success).toBe(false);
      server.close();
    });

    test('another slot of the same container has other files, and its temporary ones too', async () => {
      const other = await docker.backend.acquire(newTrajectory());
      expect(other.containerId).toBe(slot.containerId);
      const secret = randomUUID();
      await docker.bash(other, `echo ${secret} | tee note /tmp/note /dev/shm/note`);
      expect((await docker.bash(other, 'cat note /tmp/note')).output).toBe(`${secret}\n${secret}\n`);
      expect((await bash('ls -A . /tmp /dev/shm')).output).toBe('.:\n\n/dev/shm:\n\n/tmp:\n');
      expect((await bash(`grep -r ${secret} / --exclude-dir=proc 2>/dev/null`)).output).toBe('');
      await docker.backend.release(other, { resetWorkspace: true });
    });

    test('a slot that is used again is clean', async () => {
      const before = await docker.backend.acquire(newTrajectory());
      await docker.bash(before, 'echo x | tee note /tmp/note; export LEFT=1; cd /tmp; mkfifo pipe');
      await docker.backend.release(before);
      const after = await docker.backend.acquire(newTrajectory());
      expect(after.containerId).toBe(before.containerId);
      expect((await docker.bash(after, 'ls -A . /tmp; pwd; echo "[$LEFT]"')).output).toBe(
        '.:\n\n/tmp:\n/workspace\n[]\n',
      );
      expect(await docker.bash(before, 'ls')).toMatchObject({ metadata: { failure: 'gone' } });
      await docker.backend.release(after, { resetWorkspace: true });
    });

    test('Docker reports the container as hardened', async () => {
      const details = await inspectContainer(daemon(), slot.containerId);
      expect(details?.Config.User).toMatch(/^[1-9]\d*:[1-9]\d*$/);
      expect(details?.HostConfig).toMatchObject({
        NetworkMode: 'none',
        CapDrop: ['ALL'],
        CapAdd: null,
        Privileged: false,
        ReadonlyRootfs: true,
        PidMode: '',
        RestartPolicy: { Name: 'no' },
      });
      const { Memory, MemorySwap, PidsLimit, NanoCpus, SecurityOpt } = details?.HostConfig ?? {};
      expect(Memory).toBeGreaterThan(0);
      expect(MemorySwap).toBe(Memory);
      expect(PidsLimit).toBeGreaterThan(0);
      expect(NanoCpus).toBeGreaterThan(0);
      expect(SecurityOpt).toContain('no-new-privileges');
    });

    test('a command is not root, and neither has nor gets capabilities or new privileges', async () => {
      const { output } = await bash('grep -E "^(Cap(Prm|Eff)|NoNewPrivs|Seccomp):" /proc/self/status; id -u');
      expect(output).toMatch(/^CapPrm:\s0{16}\nCapEff:\s0{16}\nNoNewPrivs:\s1\nSeccomp:\s2\n[1-9]\d*\n$/);
      for (const command of [
        'unshare --user true',
        'mount -t tmpfs x /tmp',
        'umount -l /',
        'mknod x b 8 0',
      ]) {
        expect([command, (await bash(command)).success]).toEqual([command, false]);
      }
      const { output: writable } = await bash(
        `find /proc -maxdepth 4 -not -path '/proc/pressure/*' -not -path '/proc/[0-9]*' -not -path '/proc/self/*' -not -path '/proc/thread-self/*' -type f -writable 2>/dev/null`,
      );
      expect(writable).toBe('');
    });

    test('the processes of the container itself have no capability either, and are not root on the host', async () => {
      const { State } = (await inspectContainer(daemon(), slot.containerId)) ?? {};
      const status = await readFile(`/proc/${State?.Pid}/status`, 'utf8').catch(() => undefined);
      // A daemon elsewhere has its processes there.
      if (status === undefined) return;
      expect(status).toMatch(/^CapEff:\s0{16}$/m);
      expect(status).toMatch(/^CapBnd:\s0{16}$/m);
      expect(status).toMatch(/^NoNewPrivs:\s1$/m);
      expect(status).not.toMatch(/^Uid:\s0/m);
    });

    test('system calls that no command needs are forbidden', async ({ skip }) => {
      if (!(await bash('perl -e 1')).success || process.arch !== 'x64') skip('needs perl, on x86-64');
      const numbers = Object.values(FORBIDDEN_CALLS).join(', ');
      const say = 'print $!+0, " "; $! = 0';
      const { output } = await bash(
        `LC_ALL=C perl -e 'for (${numbers}) { syscall($_, 0, 0, 0, 0, 0); ${say} } for (38, 40) { socket(S, $_, 1, 0); ${say} }'`,
      );
      const [EPERM, EAFNOSUPPORT] = ['1', '97'];
      expect(output.trim().split(' ')).toEqual([
        ...Object.keys(FORBIDDEN_CALLS).map(() => EPERM),
        ...['AF_ALG', 'AF_VSOCK'].map(() => EAFNOSUPPORT),
      ]);
    });
  });
}
