/** The contract between slots: nothing of one is visible in another, and nothing is left for the next holder. */
import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Slot } from '../backend.ts';
import type { ContractTools } from '../testing/contract-tools.ts';
import { processesWith, uniqueSeconds } from '../testing/host-processes.ts';

export function describeNeighbours({ call, backend, slot, acquireAgain, when }: ContractTools): void {
  const isolated = () => backend().stats().isolation.kind !== 'none';
  const run = async (on: Slot, command: string, more: Record<string, unknown> = {}) =>
    call('bash', { command, ...more }, {}, on);

  /** Leaves a trace of this name wherever a command can leave one, and a process that keeps it alive. */
  async function leaveTraces(mark: string, seconds: string): Promise<void> {
    // Without isolation shared memory is the host's, and stays.
    const shared = isolated() ? `touch /dev/shm/${mark}; ipcmk -M 64; ` : '';
    const started = await run(
      slot(),
      `${shared}mkdir ${mark}; touch "$TMPDIR/${mark}" .${mark} up; exec env ${mark}=1 sleep ${seconds}`,
      { background: true },
    );
    expect(started.success, started.error).toBe(true);
    await expect.poll(async () => (await run(slot(), 'ls up')).success).toBe(true);
    await run(slot(), `export ${mark}=1`, { stateful: true });
  }

  /** Everything that has the name in it, as far as a command can see. The brackets keep it from finding itself. */
  function lookFor(mark: string): string {
    const pattern = `[${mark[0]}]${mark.slice(1)}`;
    return [
      `find / \\( -path /proc -o -path /usr \\) -prune -o -name '*${pattern}*' -print 2>/dev/null`,
      `grep -la '${pattern}' /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null`,
      'tail -n +2 /proc/sysvipc/shm',
      `env | grep '${pattern}'`,
    ].join('; ');
  }

  describe('neighbours', when('neighbours'), () => {
    test('files, processes, variables and shared memory of a slot show in no other', async () => {
      if (!isolated()) return;
      const mark = newMark();
      const seconds = uniqueSeconds();
      await leaveTraces(mark, seconds);
      // Otherwise the check shows nothing.
      const { workspaceDir } = slot();
      const tmpDir = (await run(slot(), 'printf %s "$TMPDIR"')).output;
      const own = (await run(slot(), lookFor(mark))).output.split('\n').filter(Boolean).sort();
      const files = [`${tmpDir}/${mark}`, `${workspaceDir}/.${mark}`, `${workspaceDir}/${mark}`].sort();
      // The commands of a slot that is a whole container also see each other.
      const alone = backend().stats().isolation.kind !== 'container';
      expect(own).toEqual(alone ? files : expect.arrayContaining(files));

      const other = await backend().acquire();
      expect((await run(other, lookFor(mark))).output).toBe('');
      expect((await run(other, lookFor(mark), { stateful: true })).output).toBe('');
      expect((await run(other, 'kill -KILL -1; kill -KILL $$')).success).toBe(false);
      expect(processesWith(seconds)).not.toEqual([]);
      await backend().release(other);
    });

    test('a port of a slot cannot be reached from another, if perl is installed', async () => {
      if (!isolated() || !(await run(slot(), 'perl -e 1')).success) return;
      const name = newMark();
      const port = 20_000 + Math.floor(Math.random() * 10_000);
      // With numbers for the names of Linux, which are in a module that may be missing. A path of a socket has 107 bytes at most.
      const listen = `LC_ALL=C perl -e '
        sub serve { my $s; socket($s, $_[0], 1, 0) && bind($s, $_[1]) && listen($s, 1) or die $!; push @kept, $s }
        serve(2, pack("SnNx8", 2, ${port}, 0));
        serve(1, pack("Sxa*", 1, "${name}"));
        chdir($ENV{TMPDIR}); serve(1, pack("Sa*", 1, "${name}")); chdir($ENV{HOME});
        open(F, ">", "up"); close(F); sleep 600'`;
      const reach = [
        `(exec 3<> /dev/tcp/127.0.0.1/${port}) 2>/dev/null && echo port`,
        `grep -ao '[${name[0]}]${name.slice(1)}' /proc/net/unix`,
        `(cd "$TMPDIR" && ls ${name} 2>/dev/null)`,
      ].join('; ');
      const own = await run(slot(), `${listen} & until [ -e up ]; do sleep 0.05; done; ${reach}`, {
        timeout: 100,
      });
      // The slot reaches its own port, too, unless the backend has no loopback.
      expect(own.output).toMatch(new RegExp(`^(port\n)?(${name}\n){3}$`));
      await run(slot(), 'rm up');
      await run(slot(), `rm "$TMPDIR/${name}"; ${listen}`, { background: true });
      await expect.poll(async () => (await run(slot(), 'ls up')).success).toBe(true);
      const other = await backend().acquire();
      expect((await run(other, reach)).output).toBe('');
      await backend().release(other);
    });

    test.each([
      ['reset', true],
      ['kept', false],
    ])('a slot whose workspace is %s leaves nothing to the next holder', async (_, resetWorkspace) => {
      const mark = newMark();
      const seconds = uniqueSeconds();
      await leaveTraces(mark, seconds);
      expect(processesWith(seconds)).not.toEqual([]);
      const { trajectoryId } = slot();
      await backend().release(slot(), { resetWorkspace });
      expect(processesWith(seconds)).toEqual([]);

      const next = await Promise.all(
        Array.from({ length: 2 }, () => backend().acquire(`next ${randomUUID()}`)),
      );
      const look = 'ls -A . "$TMPDIR" /dev/shm; env';
      for (const each of next) {
        expect((await run(each, look, { stateful: true })).output).not.toContain(mark);
        expect((await call('process', { action: 'list' }, {}, each)).metadata.processes).toEqual([]);
        if (isolated()) expect((await run(each, lookFor(mark))).output).toBe('');
      }
      await Promise.all(next.map((each) => backend().release(each, { resetWorkspace: true })));

      await acquireAgain();
      expect(slot().trajectoryId).toBe(trajectoryId);
      expect((await run(slot(), look, { stateful: true })).output.includes(mark)).toBe(!resetWorkspace);
      expect((await call('process', { action: 'list' })).metadata.processes).toEqual([]);
    });
  });
}

function newMark(): string {
  return `mark_${randomBytes(6).toString('hex')}`;
}
