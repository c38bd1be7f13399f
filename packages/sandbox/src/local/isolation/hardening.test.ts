/** Behind its namespaces a command finds no keyring, no device that it can change, and no path of the host. */
import { execFileSync } from 'node:child_process';
import { lstatSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { ExecutionResult, Slot } from '../../backend.ts';
import { LocalBackend, type LocalBackendOptions } from '../local-backend.ts';
import { tagsOf, whyUnavailable } from '../testing/why-unavailable.ts';
import { callNumber } from './entry/call-numbers.ts';
import { entryArchitecture } from './entry/entry-program.ts';

const MB = 1024 * 1024;
const architecture = entryArchitecture();
const isRoot = process.getuid?.() === 0;

for (const isolation of ['bubblewrap', 'unshare'] as const) {
  for (const users of isRoot ? (['auto', 'shared'] as const) : (['shared'] as const)) {
    const reason = architecture ? await whyUnavailable(isolation) : `no filter for ${process.arch}`;
    const title = reason === undefined ? isolation : `${isolation} (missing: ${reason})`;
    const tags = await tagsOf(isolation);
    describe.skipIf(reason !== undefined)(`${title}, users: ${users}`, { tags }, () =>
      describeHardening({ isolation, users }),
    );
  }
}

const needs = isRoot ? await whyUnavailable('unshare') : 'root';
test.skipIf(needs !== undefined)(
  `if programs cannot be run from the data directory, commands run unfiltered and the backend says so${needs === undefined ? '' : ` (missing: ${needs})`}`,
  () => {
    const workspacesDir = mkdtempSync(join(tmpdir(), 'talaria-hardening-test-'));
    onTestFinished(() => rmSync(workspacesDir, { recursive: true }));
    const module = JSON.stringify(new URL('../local-backend.ts', import.meta.url).href);
    const script = `
      const { LocalBackend } = await import(${module});
      const backend = new LocalBackend({ workspacesDir: ${JSON.stringify(workspacesDir)} });
      await backend.start();
      const slot = await backend.acquire();
      const [{ output }] = await backend.executeBatch([
        [slot, 'bash', { command: 'grep NoNewPrivs /proc/self/status; touch /dev/full 2>/dev/null || echo kept' }],
      ]);
      console.log(JSON.stringify({ output, ...backend.stats().isolation }));
      await backend.stop();`;
    const noexec = 'mount -t tmpfs -o noexec tmpfs "$1" && shift && exec "$@"';
    const node = [process.execPath, '--input-type=module', '--eval', script];
    const told = execFileSync('unshare', ['--mount', 'sh', '-c', noexec, 'sh', workspacesDir, ...node]);
    expect(JSON.parse(told.toString())).toMatchObject({
      output: 'NoNewPrivs:\t1\nkept\n',
      kind: 'unshare',
      hardening: [
        {
          name: 'system calls',
          holds: false,
          description: expect.stringMatching(/Permission denied.*keyrings/),
        },
        { name: 'kernel users', holds: false },
      ],
    });
  },
);

function describeHardening(options: Pick<LocalBackendOptions, 'isolation' | 'users'>): void {
  const workspacesDir = mkdtempSync(join(tmpdir(), 'talaria-hardening-test-'));
  const backend = new LocalBackend({
    ...options,
    workspacesDir,
    preferredLimits: { workspaceBytes: 64 * MB },
  });
  let slot: Slot;
  const on = async (where: Slot, tool: string, args: Record<string, unknown>): Promise<ExecutionResult> => {
    const [result] = await backend.executeBatch([[where, tool, args]]);
    return result as ExecutionResult;
  };
  const bash = (command: string) => on(slot, 'bash', { command });

  beforeAll(async () => {
    await backend.start();
    slot = await backend.acquire('one');
  });
  afterAll(async () => {
    await backend.stop({ purge: true });
    rmSync(workspacesDir, { recursive: true, force: true });
  });

  test('the backend reports what holds', () => {
    const holds = backend.stats().isolation.hardening?.map((each) => [each.name, each.holds]);
    expect(holds).toEqual([
      ['system calls', true],
      ['kernel users', options.users === 'auto'],
    ]);
  });

  test('a command is filtered, and so is every process that it could take over', async () => {
    const { output } = await bash(
      'grep -hE "^(NoNewPrivs|Seccomp):" /proc/self/status; cat /proc/1/environ >/dev/null 2>&1 && grep ^Seccomp: /proc/1/status || echo "Seccomp: 2"',
    );
    expect(
      output
        .replaceAll(/[ \t]+/g, ' ')
        .trim()
        .split('\n'),
    ).toEqual(['NoNewPrivs: 1', 'Seccomp: 2', 'Seccomp: 2']);
  });

  test('keyrings are out of reach', async ({ skip }) => {
    if (!(await bash('perl -e 1')).success) skip('needs perl');
    const [addKey, requestKey, keyctl] = (['add_key', 'request_key', 'keyctl'] as const).map((name) =>
      callNumber(name, architecture ?? 'x64'),
    );
    const { output } = await bash(
      `perl -e '
        my ($type, $name, $secret) = ("user", "name", "secret");
        syscall(${addKey}, $type, $name, $secret, 6, -4); print $!+0, " "; $! = 0;
        syscall(${requestKey}, $type, $name, 0, -4); print $!+0, " "; $! = 0;
        syscall(${keyctl}, 0, -4, 1); print $!+0'; cat /proc/keys /proc/key-users`,
    );
    expect(output).toBe('1 1 1');
  });

  test('the devices of the host can be used and not be changed', async () => {
    const before = lstatSync('/dev/full');
    // To its present permissions: if that works, nothing is changed.
    const rights = (before.mode & 0o777).toString(8);
    const { output } = await bash(
      `chmod ${rights} /dev/full 2>/dev/null && echo changed; ${isRoot ? 'touch -c /dev/null 2>/dev/null && echo touched' : ''}
       echo x > /dev/null && head -c 2 /dev/zero | od -An -tx1; echo x 2>/dev/null > /dev/full || echo full`,
    );
    expect(output.trim().split(/\s*\n\s*/)).toEqual(['00 00', 'full']);
    expect(lstatSync('/dev/full').ctimeMs).toBe(before.ctimeMs);
  });

  test('kernel data that only root may read is hidden', async () => {
    const { output } = await bash(
      'for f in slabinfo vmallocinfo kpagecount kpageflags timer_list pagetypeinfo; do head -c 1 /proc/$f 2>/dev/null; done',
    );
    expect(output).toBe('');
  });

  test('neither the environment nor a command line names a directory of the host', async () => {
    const { output } = await bash('env; cat /proc/*/cmdline /proc/*/environ 2>/dev/null | tr "\\0" "\\n"');
    expect(output).toContain('HOME=/workspace');
    expect(output).not.toContain(workspacesDir);
  });

  test('space cannot be reserved past the limit', async ({ skip }) => {
    if (!(await bash('command -v fallocate')).success) skip('needs fallocate');
    const { output } = await bash(
      'fallocate -l 4G a 2>/dev/null; fallocate -n -l 4G b 2>/dev/null; fallocate -z -l 4G c 2>/dev/null; du -sk . | cut -f1',
    );
    expect(Number(output)).toBeLessThan(1024);
  });

  test('no file is larger than the whole workspace may be', async () => {
    const { output, metadata } = await bash(
      'trap "" XFSZ; truncate -s 65M sparse; head -c 65M /dev/zero > f',
    );
    expect(metadata.exit_code).not.toBe(0);
    const { output: sizes } = await bash('stat -c %s f sparse; rm -f f sparse');
    expect([output, sizes]).toEqual([expect.any(String), `${64 * MB}\n0\n`]);
  });

  test('files that the server writes belong to the command, also in new directories', async () => {
    await on(slot, 'write_file', { path: 'made/by/server', content: 'one\n' });
    const { output, error } = await bash(
      'echo two >> made/by/server && : > made/by/other && cat made/by/server',
    );
    expect([output, error]).toEqual(['one\ntwo\n', '']);
  });

  test("the server can read a command's private files", async () => {
    await bash('umask 077; mkdir private; echo mine > private/note; chmod 700 .');
    expect((await on(slot, 'read_file', { path: 'private/note' })).output).toContain('mine');
    const { content } = await backend.readArtifact(slot, 'private/note');
    expect(content.toString()).toBe('mine\n');
  });

  test.runIf(options.users === 'auto')(
    'two slots have different users, and neither is the server',
    async () => {
      await using other = await holding(backend, 'two');
      const owner = async (where: Slot) => {
        const name = `owned-${where.trajectoryId}`;
        await on(where, 'bash', { command: `echo x > ${name}` });
        return lstatSync(join(workspacesDir, `t-${where.trajectoryId}`, name)).uid;
      };
      const owners = [await owner(slot), await owner(other.slot)];
      expect(new Set([...owners, process.getuid?.()]).size).toBe(3);
    },
  );

  test('a workspace whose owner has changed is given to the user of its slot', async () => {
    const held = await backend.acquire('moved');
    await on(held, 'bash', { command: 'umask 077; mkdir d; echo kept > d/f; ln -s /etc/passwd l' });
    await backend.release(held);
    const other = new LocalBackend({
      ...options,
      workspacesDir,
      users: isRoot && options.users === 'shared' ? 'auto' : 'shared',
    });
    await other.start();
    const again = await other.acquire('moved');
    const [result] = await other.executeBatch([[again, 'bash', { command: 'echo more >> d/f; cat d/f' }]]);
    await other.stop();
    expect(result?.output).toBe('kept\nmore\n');
    expect(lstatSync('/etc/passwd').uid).toBe(0);
    expect(readFileSync(join(workspacesDir, 't-moved/d/f'), 'utf8')).toBe('kept\nmore\n');
  });
}

async function holding(backend: LocalBackend, trajectoryId: string) {
  const slot = await backend.acquire(trajectoryId);
  return { slot, [Symbol.asyncDispose]: () => backend.release(slot) };
}
