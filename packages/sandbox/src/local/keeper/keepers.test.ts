/** What happens to commands when the keeper or server that started them is killed, and how many processes there are. */
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ExecutionResult, Isolation, Slot } from '../../backend.ts';
import { childrenOf, descendantsOf, kill, readProcesses } from '../../host/process-table.ts';
import { processesWith, uniqueSeconds } from '../../testing/host-processes.ts';
import { entryArchitecture } from '../isolation/entry/entry-program.ts';
import { LocalBackend } from '../local-backend.ts';
import { tagsOf, whyUnavailable } from '../testing/why-unavailable.ts';

const SPARE = 4;

for (const isolation of ['bubblewrap', 'unshare'] as const) {
  const reason = entryArchitecture() ? await whyUnavailable(isolation) : `no program for ${process.arch}`;
  const title = reason === undefined ? isolation : `${isolation} (missing: ${reason})`;
  describe.skipIf(reason !== undefined)(title, { tags: await tagsOf(isolation) }, () =>
    describeKeepers(isolation),
  );
}

function describeKeepers(isolation: Isolation['kind']): void {
  const workspacesDir = mkdtempSync(join(tmpdir(), 'talaria-keepers-test-'));
  const backend = new LocalBackend({ workspacesDir, isolation, environment: { GIVEN: 'by the backend' } });

  const bash = async (slot: Slot, command: string, more: Record<string, unknown> = {}) => {
    const [result] = await backend.executeBatch([[slot, 'bash', { command, ...more }]]);
    return result as ExecutionResult;
  };

  beforeAll(() => backend.start());
  afterAll(async () => {
    await backend.stop({ purge: true });
    rmSync(workspacesDir, { recursive: true, force: true });
  });

  test('the environment, long scripts and exit codes arrive', async () => {
    const slot = await backend.acquire();
    expect((await bash(slot, 'echo $GIVEN $MINE', { env: { MINE: 'of the call' } })).output).toBe(
      'by the backend of the call\n',
    );
    const long = `: ${'x'.repeat(1_000_000)}\necho long`;
    expect((await bash(slot, long)).output).toBe('long\n');
    const codes = [];
    for (const command of ['true', 'exit 125', 'exit 255', 'kill -TERM $$', 'kill -SEGV $$']) {
      codes.push((await bash(slot, command)).metadata.exit_code);
    }
    expect(codes).toEqual([0, 125, 255, 143, 139]);
    await backend.release(slot);
  });

  test('a command whose keeper is killed is gone and not run again, and the next one works', async () => {
    const seconds = uniqueSeconds();
    const [slot, other] = [await backend.acquire(), await backend.acquire()];
    // Each has one for requests and one for reports.
    const pipesOfKeepers = 2 * (2 + SPARE);
    await backend.executeBatch([slot, other].map((each) => [each, 'bash', { command: 'true' }]));
    await expect.poll(pipesInUse).toBe(pipesOfKeepers);
    const elsewhere = bash(other, 'until [ -e go ]; do sleep 0.01; done; echo untouched');
    const running = bash(slot, `echo ran >> runs; setsid sleep ${seconds} & sleep ${seconds}`);
    await expect.poll(() => processesWith(seconds).length).toBe(2);
    kill(keeperOf(processWith(seconds)));
    const result = await running;
    expect(result).toMatchObject({ success: false, metadata: { failure: 'gone' } });
    expect(result.error).toContain('unknown');
    await expect.poll(() => processesWith(seconds)).toEqual([]);
    expect((await bash(slot, 'cat runs')).output).toBe('ran\n');
    // And the output of the command in the other slot.
    await expect.poll(pipesInUse).toBe(pipesOfKeepers + 1);
    await bash(other, 'touch go');
    expect((await elsewhere).output).toBe('untouched\n');
    await Promise.all([backend.release(slot), backend.release(other)]);
  });

  test('a command that is aborted before its keeper reads the request does not run', async () => {
    const seconds = uniqueSeconds();
    const slot = await backend.acquire();
    const background = await bash(slot, `sleep ${seconds}`, { background: true });
    const keeper = keeperOf(processWith(seconds));
    const processes = descendantsOf([keeper]).size;
    kill(keeper, 'SIGSTOP');
    const controller = new AbortController();
    const stopped = backend.executeBatch([[slot, 'bash', { command: 'touch ran' }]], {
      signal: controller.signal,
    });
    controller.abort();
    const [result] = await stopped;
    expect(result?.metadata.failure).toBe('aborted');
    kill(keeper, 'SIGCONT');
    expect((await bash(slot, 'ls')).output).toBe('');
    await expect.poll(() => descendantsOf([keeper]).size).toBe(processes);
    expect(background.success).toBe(true);
    await backend.release(slot);
  });

  test('when the first keeper is killed, everything it ran is gone, and the next commands work', async () => {
    const seconds = uniqueSeconds();
    const slots = await Promise.all([backend.acquire(), backend.acquire()]);
    const running = slots.map((slot) => bash(slot, `setsid sleep ${seconds} & sleep ${seconds}`));
    const background = await bash(slots[0] as Slot, `sleep ${seconds}`, { background: true });
    await expect.poll(() => processesWith(seconds).length).toBe(5);
    kill(parentOf(keeperOf(processWith(seconds))));
    for (const result of await Promise.all(running)) expect(result.metadata.failure).toBe('gone');
    await expect.poll(() => processesWith(seconds)).toEqual([]);
    const after = await backend.executeBatch(slots.map((slot) => [slot, 'bash', { command: 'echo next' }]));
    expect(after.map(({ output }) => output)).toEqual(['next\n', 'next\n']);
    const [waited] = await backend.executeBatch([
      [slots[0] as Slot, 'process', { action: 'wait', id: background.metadata.process?.id }],
    ]);
    expect(waited?.metadata.process?.status).toBe('killed');
    await Promise.all(slots.map((slot) => backend.release(slot)));
  });

  test('a file system that is mounted on the machine after the start is not writable for commands', () => {
    const program = new URL('../testing/mount-later.ts', import.meta.url).pathname;
    const asRoot = process.getuid?.() === 0 ? [] : ['--map-root-user'];
    const server = [
      process.execPath,
      program,
      mkdtempSync(join(workspacesDir, 'later-')),
      isolation,
      '/usr/share',
    ];
    const script = 'mount --make-rshared / && exec "$@"';
    const output = execFileSync('unshare', [...asRoot, '--mount', 'sh', '-c', script, 'sh', ...server]);
    expect(output.toString()).toContain('Read-only file system');
  });

  test('a slot has one process once it has run a command, and none after its release', async () => {
    const slots = await Promise.all(Array.from({ length: 12 }, () => backend.acquire(randomUUID())));
    const count = () => keepersBelow().length;
    await expect.poll(count).toBe(SPARE);
    await backend.executeBatch(slots.map((slot) => [slot, 'bash', { command: 'true' }]));
    await expect.poll(count).toBe(slots.length + SPARE);
    await Promise.all(slots.map((slot) => backend.release(slot)));
    await expect.poll(count).toBe(SPARE);
  });
}

/** The ends of pipes that keepers and commands have taken: those have no name any more. */
function pipesInUse(): number {
  const links = readdirSync('/proc/self/fd').map((fd) => linkOf(`/proc/self/fd/${fd}`));
  return links.filter((link) => /talaria-pipes.*\(deleted\)$/.test(link)).length;
}

const parentOf = (pid: number) => readProcesses().find((entry) => entry.pid === pid)?.ppid ?? 0;

/** A process of this backend that has this argument. */
function processWith(argument: string): number {
  const below = descendantsOf([process.pid]);
  const found = readProcesses().find(({ pid }) => below.has(pid) && argumentsOf(pid).includes(argument));
  if (!found) throw new Error(`no process has the argument ${argument}`);
  return found.pid;
}

/** The process above the first one of the namespace that a command runs in. */
function keeperOf(pid: number): number {
  let at = pid;
  while (nameOf(at) !== 'keep') at = parentOf(at);
  return parentOf(at);
}

/** The keepers of slots. */
function keepersBelow(): number[] {
  const firsts = [...descendantsOf([process.pid])].filter(
    (pid) => nameOf(pid) === 'keep' && nameOf(parentOf(pid)) !== 'keep',
  );
  return firsts.flatMap(childrenOf);
}

function argumentsOf(pid: number): string[] {
  return readIfThere(`/proc/${pid}/cmdline`).split('\0');
}

function nameOf(pid: number): string {
  return readIfThere(`/proc/${pid}/comm`).trim();
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
