/**
 * What every ToolBackend must show under limits. The backend reports what it enforces, and for whom (`stats`). If it reports
 * that it does not enforce a limit, the test of that limit is skipped and gives the reason.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, type TestContext, test } from 'vitest';
import type { BackendUnderTest } from '../backend.contract.ts';
import type { ExecutionResult, Slot, ToolBackend } from '../backend.ts';
import type { LimitName, LimitStatus, SandboxLimits } from '../limits.ts';

const MB = 1024 * 1024;

/** The limits of the backend under test. */
export const CONTRACT_LIMITS = {
  memoryBytes: 128 * MB,
  processes: 64,
  fileSizeBytes: 32 * MB,
  /** More than a backend stores of a long output. */
  workspaceBytes: 80 * MB,
} as const satisfies SandboxLimits;

/** Keeps so many megabytes in the memory of one process until all of them are read. */
const holdMemory = (megabytes: number) => `dd if=/dev/zero bs=${megabytes}M count=1 iflag=fullblock`;
const fillMemory = (megabytes: number) => `${holdMemory(megabytes)} | wc -c`;

export function describeLimitsContract(name: string, setUp: () => Promise<BackendUnderTest>): void {
  describe(`ToolBackend under limits: ${name}`, () => {
    let underTest: BackendUnderTest;
    let backend: ToolBackend;
    let slot: Slot;

    beforeAll(async () => {
      underTest = await setUp();
      backend = underTest.create();
      await backend.start();
    });

    beforeEach(async () => {
      slot = await backend.acquire(randomUUID());
    });

    afterEach(() => backend.release(slot, { resetWorkspace: true }));

    afterAll(async () => {
      await backend.stop({ purge: true });
      await underTest.dispose();
    });

    async function call(tool: string, args: Record<string, unknown>, on = slot): Promise<ExecutionResult> {
      const [result] = await backend.executeBatch([[on, tool, args]]);
      return result as ExecutionResult;
    }

    const bash = (command: string, { on = slot } = {}) => call('bash', { command }, on);

    function statusOf(limit: LimitName): LimitStatus | undefined {
      return backend.stats().limits.find((each) => each.limit === limit);
    }

    /** Skips the test if nothing enforces the limit, or not per what `per` names. */
    function needs({ skip }: TestContext, limit: LimitName, per?: LimitStatus['per'][]): void {
      const status = statusOf(limit);
      if (status === undefined || status.by === 'nothing') skip(`${limit}: ${status?.description}`);
      else if (per && !per.includes(status.per)) skip(`${limit} holds per ${status.per}`);
    }

    test('stats name every limit and what holds commands to it', () => {
      const { limits } = backend.stats();
      const named = Object.fromEntries(limits.map(({ limit, value }) => [limit, value]));
      expect(named).toMatchObject(CONTRACT_LIMITS);
      for (const { description } of limits) expect(description).toMatch(/^\d\S* \S/);
    });

    describe('memory', () => {
      test('a hog is ended, the error says the limit if the kernel ended it, and the next command works', async (context) => {
        needs(context, 'memoryBytes');
        const result = await bash(`set -o pipefail; ${fillMemory(1024)}`);
        expect(result.success).toBe(false);
        expect(await bash('echo next')).toMatchObject({ success: true, output: 'next\n' });
        // A command that is only refused more memory fails in a way of its own.
        if (!['slot', 'container'].includes(statusOf('memoryBytes')?.per ?? '')) return;
        expect(result).toMatchObject({ metadata: { failure: 'oom', signal: 'SIGKILL' } });
        expect(result.error).toContain('128 MB');
      });

      test('files in /dev/shm are memory', async (context) => {
        needs(context, 'memoryBytes', ['slot', 'container']);
        if (backend.stats().isolation.kind === 'none') context.skip('/dev/shm is that of the host');
        const parts = 'for i in 1 2 3 4 5 6 7 8; do head -c 30M /dev/zero > /dev/shm/$i || exit; done';
        expect(await bash(parts)).toMatchObject({ success: false, metadata: { failure: 'oom' } });
        expect(await bash('echo next')).toMatchObject({ success: true, output: 'next\n' });
      });

      test('all commands of a slot share it', async (context) => {
        needs(context, 'memoryBytes', ['slot']);
        // Each holds on to its 80 MB until the other has tried to get as many.
        const hold = (mine: string, theirs: string) =>
          `${holdMemory(80)} | { dd bs=1M count=1 of=/dev/null 2>/dev/null; : > ${mine}; until [ -e ${theirs} ]; do sleep 0.05; done; cat > /dev/null; }`;
        const pair = (one: Slot, other: Slot) =>
          backend.executeBatch([
            [one, 'bash', { command: `set -o pipefail; ${hold('a', 'b')}`, timeout: 10 }],
            [other, 'bash', { command: `set -o pipefail; ${hold('b', 'a')}`, timeout: 10 }],
          ]);
        const results = await pair(slot, slot);
        expect(results.filter(({ metadata }) => metadata.failure === 'oom')).not.toEqual([]);
      });

      test('a command that fails beside one that ran out of memory does not get its failure', async (context) => {
        needs(context, 'memoryBytes', ['slot', 'container']);
        const results = await backend.executeBatch([
          [slot, 'bash', { command: `set -o pipefail; ${fillMemory(1024)}; code=$?; : > over; exit $code` }],
          [slot, 'bash', { command: 'until [ -e over ]; do sleep 0.05; done; exit 3' }],
        ]);
        expect(results.map(({ metadata }) => metadata.failure)).toEqual(['oom', undefined]);
      });
    });

    describe('processes', () => {
      const bomb = 'bomb() { bomb & bomb & wait; }; bomb';

      /** Runs the command until it could not start a process, and then stops it. */
      async function untilFull(command: string, meanwhile = async () => {}): Promise<ExecutionResult> {
        const controller = new AbortController();
        const running = backend.executeBatch([[slot, 'bash', { command: `exec 2> log; ${command}` }]], {
          signal: controller.signal,
        });
        await expect
          .poll(async () => (await read('log')).output)
          .toContain('Resource temporarily unavailable');
        await meanwhile();
        controller.abort();
        return (await running)[0] as ExecutionResult;
      }

      test('a fork bomb is contained, ends with its command, and the next command works', async (context) => {
        needs(context, 'processes');
        expect((await untilFull(bomb)).metadata.failure).toBe('aborted');
        expect(await bash('echo next | cat')).toMatchObject({ success: true, output: 'next\n' });
      });

      test('there are never more than the limit', async (context) => {
        needs(context, 'processes');
        await untilFull('for i in $(seq 1000); do sleep 60 & echo $i >> started; done');
        const started = (await read('started')).output.split('\n').length - 1;
        expect(started).toBeGreaterThan(CONTRACT_LIMITS.processes / 2);
        expect(started).toBeLessThan(CONTRACT_LIMITS.processes);
      });

      test('a bomb in one slot leaves the others alone', async (context) => {
        needs(context, 'processes', ['slot', 'command']);
        const other = await backend.acquire(randomUUID());
        await untilFull(bomb, async () => {
          const result = await bash('for i in 1 2 3 4 5; do echo $i | cat; done', { on: other });
          expect(result).toMatchObject({ success: true, output: '1\n2\n3\n4\n5\n' });
        });
        await backend.release(other, { resetWorkspace: true });
      });

      const read = (path: string) => call('read_file', { path });
    });

    describe('disk', () => {
      const FILL = 'for i in $(seq 100000); do head -c 16M /dev/zero > part$i; done';
      const PART = 'head -c 30M /dev/zero';

      test('a file over the limit ends its command, and the error says the limit', async (context) => {
        needs(context, 'fileSizeBytes');
        const result = await bash('head -c 33M /dev/zero > large');
        expect(result).toMatchObject({
          success: false,
          metadata: { failure: 'disk_full', signal: 'SIGXFSZ' },
        });
        expect(result.error).toContain('32 MB');
        expect((await bash('stat -c %s large')).output).toBe(`${CONTRACT_LIMITS.fileSizeBytes}\n`);
      });

      test('a command that fills the workspace is ended, the error says the limit, and the others are left alone', async (context) => {
        needs(context, 'workspaceBytes', ['workspace']);
        const other = await backend.acquire(randomUUID());
        const [filled, written] = await backend.executeBatch([
          [slot, 'bash', { command: FILL }],
          [other, 'bash', { command: 'for i in 1 2 3 4 5; do echo $i >> file; sleep 0.1; done; cat file' }],
        ]);
        expect(filled).toMatchObject({ success: false, metadata: { failure: 'disk_full' } });
        expect(filled?.error).toContain('80 MB');
        expect(written).toMatchObject({ success: true, output: '1\n2\n3\n4\n5\n' });
        await backend.release(other, { resetWorkspace: true });
      });

      test('in a full workspace files can be read and deleted, and none be written until some are', async (context) => {
        needs(context, 'workspaceBytes');
        const filled = await bash(`echo kept > kept; ${FILL}`);
        expect(filled).toMatchObject({ success: false, metadata: { failure: 'disk_full' } });
        expect(filled.error).toContain('80 MB');
        if (statusOf('workspaceBytes')?.by === 'measurement') await expectNoLongOutput();
        const written = await bash('cat kept; echo more > more');
        expect(written).toMatchObject({ success: false, metadata: { failure: 'disk_full' } });
        expect(written.output).toMatch(/^kept\n/);
        for (const [tool, args] of [
          ['write_file', { path: 'more', content: 'more' }],
          ['patch', { path: 'kept', old_string: 'kept', new_string: 'changed' }],
        ] as const) {
          expect(await call(tool, args)).toMatchObject({
            success: false,
            metadata: { failure: 'disk_full' },
          });
        }
        expect(await bash('cat more; rm -f part*')).toMatchObject({ success: true, output: '' });
        expect(await bash('echo more > more; cat kept more')).toMatchObject({
          success: true,
          output: 'kept\nmore\n',
        });
        expect(await call('write_file', { path: 'more', content: 'x' })).toMatchObject({ success: true });
      });

      /** Expects that the long output is stored neither of a command nor of a background process. */
      async function expectNoLongOutput(): Promise<void> {
        const printed = await bash('yes | head -c 2M');
        expect(printed.output).toContain('the whole output could not be kept: There is no room');
        expect(printed.metadata).not.toHaveProperty('full_output_path');
        const started = await call('bash', { command: 'echo said', background: true });
        const id = started.metadata.process?.id as string;
        const end = await call('process', { action: 'wait', id });
        expect(end.metadata.process).not.toHaveProperty('log_path');
        expect((await bash('find . "$TMPDIR" -name "*.log" | wc -l')).output).toBe('0\n');
      }

      test('a command that fills the disk and ends before a measurement also fails with `disk_full`', async (context) => {
        needs(context, 'workspaceBytes');
        const result = await bash(`${PART} > a; cp a b; cp a c; echo done`);
        expect(result).toMatchObject({ success: false, metadata: { failure: 'disk_full' } });
      });

      test('a call of a file tool that would not fit writes nothing', async (context) => {
        needs(context, 'workspaceBytes');
        expect(await bash(`${PART} > a; cp a b`)).toMatchObject({ success: true });
        const content = 'x'.repeat(25 * MB);
        expect(await call('write_file', { path: 'c', content })).toMatchObject({
          success: false,
          metadata: { failure: 'disk_full' },
        });
        expect((await bash('ls')).output).toBe('a\nb\n');
        expect(await call('write_file', { path: 'c', content: 'x' })).toMatchObject({ success: true });
      });

      test('space counts in the temporary directory, in one without rights, and in files that have no name any more', async () => {
        if (statusOf('workspaceBytes')?.by !== 'measurement') return;
        // Only all three together are over the limit.
        const hidden = [
          `${PART} > "$TMPDIR/part"`,
          `mkdir d; ${PART} > d/part; chmod 0 d`,
          `exec 5> file; rm file; ${PART} >&5`,
        ];
        const result = await bash([...hidden, 'sleep 60'].join('; '));
        expect(result).toMatchObject({ success: false, metadata: { failure: 'disk_full' } });
        await bash('chmod -R u+rwx .');
      });

      test('names and holes take no space', async () => {
        const names = `${PART} > a; for i in $(seq 10); do ln a link$i; done`;
        const holes = 'for i in $(seq 10); do truncate -s 30M hole$i; done';
        expect(await bash(`${names}; ${holes}`)).toMatchObject({ success: true });
        expect(await bash('echo more > more')).toMatchObject({ success: true });
      });

      test('a file written from outside counts, whether or not a slot holds the workspace', async (context) => {
        needs(context, 'workspaceBytes');
        expect(await bash(`${PART} > a; ${PART} > b`)).toMatchObject({
          success: true,
        });
        const trajectory = slot.trajectoryId!;
        const write = async (bytes: number) =>
          (await backend.workspaces.openWriter(trajectory))!.write('c', content(bytes));
        await expect(write(30 * MB)).rejects.toMatchObject({ code: 'workspace_full' });
        await write(1 * MB);
        expect(await bash('stat -c %s c')).toMatchObject({ output: `${MB}\n` });
        if (backend.stats().backend !== 'local') return;
        await backend.release(slot);
        await expect(write(30 * MB)).rejects.toMatchObject({ code: 'workspace_full' });
        slot = await backend.acquire(trajectory);
        expect(await bash('stat -c %s c')).toMatchObject({ output: `${MB}\n` });
      });
    });

    describe('in the background', () => {
      async function endOf(command: string) {
        const started = await call('bash', { command, background: true });
        expect(started.error).toBe('');
        const id = started.metadata.process?.id as string;
        return call('process', { action: 'wait', id });
      }

      test('a hog is out of memory', async (context) => {
        needs(context, 'memoryBytes', ['slot', 'container']);
        const end = await endOf(`set -o pipefail; ${fillMemory(1024)}`);
        expect(end.metadata.process).toMatchObject({ failure: 'oom', signal: 'SIGKILL' });
        expect(end.output).toContain('128 MB');
        expect(await bash('echo next')).toMatchObject({ success: true, output: 'next\n' });
      });

      test('a process that fills the workspace is ended', async (context) => {
        needs(context, 'workspaceBytes');
        const end = await endOf('for i in $(seq 100000); do head -c 16M /dev/zero > part$i; done');
        expect(end.metadata.process).toMatchObject({ failure: 'disk_full' });
        expect(end.output).toContain('80 MB');
      });
    });

    const longOutput = async (megabytes: number): Promise<void> => {
      const result = await bash(`echo first; yes | head -c ${megabytes}M; echo last`);
      expect(result).toMatchObject({ success: true, metadata: { truncated: true } });
      expect(result.metadata.total_bytes).toBe(megabytes * MB + 'first\nlast\n'.length);
      expect(result.output.length).toBeLessThan(MB);
      expect(result.output).toMatch(/^first\ny\n.*y\nlast\n$/s);
    };

    test('long output comes as its head, its tail and its size', () => longOutput(8));

    test('1 GB of output does, too', { timeout: 180_000, tags: ['soak'] }, () => longOutput(1024));
  });
}

async function* content(bytes: number): AsyncGenerator<Buffer, void> {
  for (let left = bytes; left > 0; left -= MB) yield Buffer.alloc(Math.min(left, MB));
}
