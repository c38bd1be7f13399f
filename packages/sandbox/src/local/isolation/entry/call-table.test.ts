import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Architecture } from './call-numbers.ts';
import { callTable, FREE_MEMORY, jump, STATE, type Step, Word, words } from './call-table.ts';
import { entryArchitecture } from './entry-program.ts';
import { CONTENT_ADDRESS, executable } from './executable.ts';
import { machineCode } from './machine-code.ts';

const [child, status, left] = [0, 8, 16].map((at) => new Word(FREE_MEMORY + at)) as [Word, Word, Word];
const SIGCHLD = 17;
const REFUSED = 99;
const refused: Step = ['exit_group', [REFUSED], { label: 'refused' }];

/** Counts down in a child, which ends with 7, and ends with the code of the child. */
const COUNTING: Step[] = [
  ['clone', [SIGCHLD], { to: child, ifZero: 'child' }],
  ['wait4', [child, status.address]],
  ['exit_group', [new Word(status.address + 1)]],
  ['subtract', [3, 0], { label: 'child', to: left }],
  ['write', [1, 'counted ', 8], { label: 'again' }],
  ['subtract', [left, 1], { to: left, ifPositive: 'again' }],
  ['exit_group', [7]],
  refused,
];

/** Says which step failed, and how. */
const FAILING: Step[] = [
  jump('skip'),
  ['exit_group', [1]],
  ['close', [1000], { label: 'skip' }],
  ['write', [1, STATE + 16, 16], { label: 'refused' }],
  ['exit_group', [REFUSED]],
];

function make(
  steps: readonly Step[],
  architecture: Architecture,
): { path: string; addressOf(label: string): number } {
  const dir = mkdtempSync(join(tmpdir(), 'talaria-table-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  const code = machineCode(architecture);
  const { bytes, addressOf } = callTable(steps, CONTENT_ADDRESS + code.length, architecture);
  const path = join(dir, 'program');
  writeFileSync(path, executable(Buffer.concat([code, bytes]), architecture));
  chmodSync(path, 0o755);
  return { path, addressOf };
}

const MACHINES: [string, Architecture, string[]][] = [
  ['this machine', entryArchitecture() ?? 'x64', []],
  ['arm64, if qemu-aarch64 is installed', 'arm64', ['qemu-aarch64']],
];

test.for(MACHINES)('results lead to the next step on %s', ([, architecture, emulator], { skip }) => {
  const { path } = make(COUNTING, architecture);
  const { status: code, stdout, error } = run([...emulator, path]);
  if (error) skip(error.message);
  expect([code, stdout.toString()]).toEqual([7, 'counted counted counted ']);
});

test.for(MACHINES)('a failure leads to the step refused on %s', ([, architecture, emulator], { skip }) => {
  const { path, addressOf } = make(FAILING, architecture);
  const { status: code, stdout, error } = run([...emulator, path]);
  if (error) skip(error.message);
  const EBADF = 9;
  expect([code, stdout]).toEqual([REFUSED, words([addressOf('skip'), -EBADF])]);
});

test('a table without the step that another leads to is refused', () => {
  expect(() => callTable([jump('nowhere'), refused], CONTENT_ADDRESS, 'x64')).toThrow('no step nowhere');
});

function run([program, ...args]: string[]) {
  return spawnSync(program as string, args);
}
