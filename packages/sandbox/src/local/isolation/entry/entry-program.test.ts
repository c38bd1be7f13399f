import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type Entry, entryArchitecture, entryProgram } from './entry-program.ts';

const architecture = entryArchitecture();
const here = architecture ?? 'x64';
const REFUSED = 'sandbox: a step into the sandbox was refused.';

/** In a directory that other users can enter. */
function make(entry: Entry, forArchitecture = here): string {
  const dir = mkdtempSync(join(tmpdir(), 'talaria-entry-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  chmodSync(dir, 0o755);
  const path = join(dir, 'enter');
  writeFileSync(path, entryProgram(entry, forArchitecture));
  chmodSync(path, 0o755);
  return path;
}

function run(program: string, args: string[]) {
  const { status, stdout, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, MARK: 'kept' },
    cwd: '/',
  });
  return { status, stdout, stderr: stderr.trim() };
}

test.skipIf(!architecture)(
  'the entry program becomes the program with its arguments and environment, and is filtered',
  () => {
    const script =
      'echo "$0" "$1" "$MARK"; while read -r l; do case $l in Sec*p:*|No*) echo $l ;; esac; done < /proc/self/status';
    const { status, stdout } = run(make({}), ['/bin/sh', '-c', script, 'zero', 'one']);
    expect([status, stdout]).toEqual([0, 'zero one kept\nNoNewPrivs: 1\nSeccomp: 2\n']);
  },
);

test.skipIf(!architecture)('reports a missing program, with code 125', () => {
  expect(run(make({}), ['/does/not/exist'])).toEqual({ status: 125, stdout: '', stderr: REFUSED });
});

test.skipIf(!architecture)('ends before the program begins when a step is refused', () => {
  const mount = { paths: ['/does/not/exist'], options: [] };
  const { status, stdout, stderr } = run(make({ readOnly: mount }), ['/bin/sh', '-c', 'echo began']);
  expect([status, stdout, stderr]).toEqual([125, '', REFUSED]);
});

test.skipIf(!architecture || process.getuid?.() !== 0)('changes its user permanently (needs root)', () => {
  const user = 2_000_000_123;
  const script =
    'id -u; cat /proc/self/uid_map; grep -E "^(CapEff|Groups):" /proc/self/status; ls /proc/self/fd';
  const { status, stdout } = run(make({ user, mappedUser: user }), ['/bin/sh', '-c', script]);
  expect(status).toBe(0);
  const [uid, map, ...rest] = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().replaceAll(/\s+/g, ' '));
  expect([uid, map]).toEqual(['1000', `1000 ${user} 1`]);
  expect(rest).toContain('CapEff: 0000000000000000');
});

test('the program for arm64 takes the same steps (if qemu-aarch64 is installed)', ({ skip }) => {
  const qemu = spawnSync('qemu-aarch64', ['--version']);
  if (qemu.status !== 0) skip('qemu-aarch64 is not installed');
  const { status, stderr } = run('qemu-aarch64', ['-strace', make({}, 'arm64'), '/does/not/exist']);
  // The emulator does not support filters, so it refuses that step.
  expect(status).toBe(125);
  expect(stderr).toMatch(/prctl\(38,1,0,0,0.*\) = 0\n.*seccomp\(1,0,\d+.*\) = -1/);
  expect(stderr).toContain(REFUSED);
});
