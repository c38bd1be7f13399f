/**
 * What every ToolBackend must do, as a suite that each driver runs. It sees a backend only through its contract: what a
 * command did is asked of another command or of the file tools.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ExecuteOptions, ExecutionResult, Slot, ToolBackend } from './backend.ts';
import { describeArtifacts } from './contract/artifacts.contract.ts';
import { describeBatches } from './contract/batch.contract.ts';
import { describeNeighbours } from './contract/neighbours.contract.ts';
import { describePatch } from './contract/patch.contract.ts';
import { describePaths } from './contract/paths.contract.ts';
import { describeProcesses } from './contract/processes.contract.ts';
import { describeSearchFiles } from './contract/search-files.contract.ts';
import { describeSnapshots } from './contract/snapshots.contract.ts';
import { describeStateful } from './contract/stateful.contract.ts';
import { describeTimeouts } from './contract/timeouts.contract.ts';
import type { ContractPart, ContractTools } from './testing/contract-tools.ts';

export { CONTRACT_LIMITS, describeLimitsContract } from './contract/limits.contract.ts';

export interface BackendUnderTest {
  /** A new backend, not started yet. All of them work on the same workspaces: each is the last one, restarted. */
  create(): ToolBackend;
  /** Frees what the tests used; called after the last backend is stopped. */
  dispose(): Promise<void>;
}

export interface ContractSize {
  /** In the soak test; a backend that starts commands slowly needs fewer to show the same in a minute. */
  timedOutCommands?: number;
  /**
   * Which artifacts are tested. The host reads them in the same way under every isolation, and those of containers,
   * too: large ones and many show nothing new there.
   */
  artifacts?: 'all' | 'small' | 'none';
  /**
   * The parts in which this backend does something of its own; all of them by default. Another backend shows the others in
   * `npm test`, with the same code.
   */
  ownParts?: readonly ContractPart[] | undefined;
  /** The parts that look at what this backend does not have, such as its processes on this machine. They never run on it. */
  notParts?: readonly ContractPart[] | undefined;
}

/** In the soak tests, and there only where they are asked for in full. */
const ONLY_IN_FULL = { tags: ['soak'], skip: process.env.SOAK !== 'full' };

export function describeBackendContract(
  name: string,
  setUp: () => Promise<BackendUnderTest>,
  { timedOutCommands = 200, artifacts = 'all', ownParts, notParts }: ContractSize = {},
): void {
  describe(`ToolBackend contract: ${name}`, () => {
    let underTest: BackendUnderTest;
    /** One for all tests: starting may take long. A test that stops it must start it again. */
    let backend: ToolBackend;
    let slot: Slot;
    let trajectory: string;

    const when = (part: ContractPart) => {
      if (notParts?.includes(part)) return { skip: true };
      return ownParts?.includes(part) === false ? ONLY_IN_FULL : {};
    };

    async function call(tool: string, args: Record<string, unknown>, options?: ExecuteOptions, on = slot) {
      const [result] = await backend.executeBatch([[on, tool, args]], options);
      return result as ExecutionResult;
    }

    const bash = (command: string, more: Record<string, unknown> = {}, options?: ExecuteOptions) =>
      call('bash', { command, ...more }, options);

    beforeAll(async () => {
      underTest = await setUp();
      backend = underTest.create();
    });

    beforeEach(async () => {
      await backend.start();
      trajectory = `trajectory ${randomUUID()}`;
      slot = await backend.acquire(trajectory);
    });

    afterEach(async () => {
      await backend.release(slot, { resetWorkspace: true });
    });

    afterAll(async () => {
      await backend.stop({ purge: true });
      await underTest.dispose();
    });

    describe('results', when('results'), () => {
      test('a command that exits with 0 succeeds with its output', async () => {
        const result = await bash('echo hello');
        expect(result).toMatchObject({ success: true, output: 'hello\n', error: '', slotId: slot.slotId });
        expect(result.metadata).toMatchObject({
          exit_code: 0,
          timed_out: false,
          truncated: false,
          total_bytes: 6,
        });
        expect(result.metadata.failure).toBeUndefined();
      });

      test('a command that exits with another code fails and keeps its output', async () => {
        const result = await bash('echo before; exit 7');
        expect(result).toMatchObject({ success: false, output: 'before\n', metadata: { exit_code: 7 } });
        expect(result.error).toContain('7');
        expect(result.metadata.failure).toBeUndefined();
      });

      test.each([
        ['kill -KILL $$', 137, 'SIGKILL'],
        ['sh -c "kill -TERM \\$\\$"', 143, 'SIGTERM'],
        ['exit 134', 134, 'SIGABRT'],
      ])(
        '%s has the code a shell gives it and the name of its signal',
        async (command, exit_code, signal) => {
          expect(await bash(command)).toMatchObject({ success: false, metadata: { exit_code, signal } });
        },
      );

      test.each(['exit 3', 'exit 128', 'exit 255'])('%s names no signal', async (command) => {
        const { metadata } = await bash(command);
        expect(metadata.exit_code).toBe(Number(command.slice(5)));
        expect(metadata).not.toHaveProperty('signal');
      });

      test('both outputs come in the order in which they were written', async () => {
        const result = await bash('for i in 1 2 3 4 5; do echo out$i; echo err$i >&2; done');
        expect(result.output).toBe([1, 2, 3, 4, 5].map((i) => `out${i}\nerr${i}\n`).join(''));
      });

      test('/dev/stdout and /dev/stderr can be opened', async () => {
        const result = await bash('echo a > /dev/stdout; echo b > /dev/stderr');
        expect(result).toMatchObject({ success: true, output: 'a\nb\n' });
      });

      test('standard input is at its end', async () => {
        expect(await bash('cat; read -r line; echo "[$line]"')).toMatchObject({ output: '[]\n' });
      });

      test('a command may kill every process it can see, and still gets an answer', async () => {
        // Where only a container isolates commands, they see the server in it, and its slot ends with it.
        if (['none', 'container'].includes(backend.stats().isolation.kind)) return;
        expect(await bash('sleep 60 & kill -KILL -1; kill -KILL $$')).toMatchObject({ success: false });
        expect(await bash('echo alive')).toMatchObject({ success: true });
      });

      test('a command with a syntax error is a failed command', async () => {
        const result = await bash('if then');
        expect(result.success).toBe(false);
        expect(result.output).toContain('syntax error');
      });

      test('quotes, backslashes, line ends and other scripts reach the command unchanged', async () => {
        const text = `it's "quoted" \\n $HOME \`x\` ünïcødé 日本 🙂\n  second line\t`;
        const result = await bash(`cat <<'END'\n${text}\nEND\n`);
        expect(result.output).toBe(`${text}\n`);
      });

      test('a batch answers in the order of its requests, and a failure does not affect other results', async () => {
        const other = await backend.acquire('other');
        const results = await backend.executeBatch([
          [slot, 'bash', { command: 'sleep 0.3; echo first' }],
          [other, 'bash', { command: 'exit 3' }],
          [slot, 'no_such_tool', {}],
          [slot, 'bash', { command: 17 }],
          [other, 'bash', { command: 'sleep 60', timeout: 0.2 }],
          [slot, 'read_file', { path: 'missing' }],
          [other, 'bash', { command: 'echo last' }],
        ]);
        expect(results.map((result) => result.success)).toEqual([
          true,
          false,
          false,
          false,
          false,
          false,
          true,
        ]);
        expect(results[0]?.output).toBe('first\n');
        expect(results[1]?.metadata.exit_code).toBe(3);
        expect(results[4]?.metadata.failure).toBe('timeout');
        expect(results[6]?.output).toBe('last\n');
        expect(results.map((result) => result.slotId)).toEqual(
          [slot, other, slot, slot, other, slot, other].map(({ slotId }) => slotId),
        );
        expect(new Set(results.map((result) => result.executionId)).size).toBe(results.length);
      });

      test('requests of one slot run at the same time', async () => {
        // Each waits for the other, so one after the other they would time out.
        const meet = (mine: string, theirs: string) =>
          ({ command: `: > ${mine}; until [ -e ${theirs} ]; do sleep 0.01; done`, timeout: 10 }) as const;
        const results = await backend.executeBatch([
          [slot, 'bash', meet('a', 'b')],
          [slot, 'bash', meet('b', 'a')],
        ]);
        expect(results.map((result) => result.success)).toEqual([true, true]);
      });

      test('an empty batch has no results', async () => {
        expect(await backend.executeBatch([])).toEqual([]);
      });
    });

    describe('arguments', when('arguments'), () => {
      test.each([
        ['no_such_tool', {}, 'no_such_tool'],
        ['bash', {}, 'command'],
        ['bash', null as unknown as Record<string, unknown>, 'object'],
        ['bash', ['ls'] as unknown as Record<string, unknown>, 'object'],
        ['bash', { command: ['ls'] }, 'command'],
        ['bash', { command: '  ' }, 'command'],
        ['bash', { command: 'a\0b' }, 'NUL'],
        ['bash', { command: 'ls', timeout: 'soon' }, 'timeout'],
        ['bash', { command: 'ls', timeout: -1 }, 'timeout'],
        ['bash', { command: 'ls', timeout: Number.NaN }, 'timeout'],
        ['bash', { command: 'ls', env: 'A=1' }, 'env'],
        ['bash', { command: 'ls', env: { 'A-B': '1' } }, 'A-B'],
        ['bash', { command: 'ls', env: { A: 1 } }, 'env.A'],
        ['bash', { command: 'ls', workdir: '../x' }, '../x'],
        ['bash', { command: 'ls', comand: 'ls' }, 'comand'],
        // The operator decides what a command may reach.
        ['bash', { command: 'ls', allow_network: true }, 'allow_network'],
        ['bash', { command: 'ls', network: 'host' }, 'network'],
        ['bash', { command: 'ls', isolation: 'none' }, 'isolation'],
        ['read_file', { path: 'x', allow_network: true }, 'allow_network'],
        ['write_file', { path: 'x', content: 'y', network: 'host' }, 'network'],
        ['read_file', {}, 'path'],
        ['read_file', { path: 'x', offset: 0 }, 'offset'],
        ['read_file', { path: 'x', limit: 1.5 }, 'limit'],
        ['write_file', { path: 'x' }, 'content'],
        ['write_file', { content: 'x' }, 'path'],
        ['write_file', { path: 'x', content: 5 }, 'content'],
      ])('%s with %j is an invalid request that names %s', async (tool, args, named) => {
        const result = await call(tool, args);
        expect(result).toMatchObject({ success: false, metadata: { failure: 'invalid_request' } });
        expect(result.error).toContain(named);
      });

      test('workdir and env apply to the command, and to no other', async () => {
        await bash('mkdir -p deep/er');
        const env = { GREETING: `it's\n"me" $HOME` };
        const result = await bash('pwd; echo "$GREETING"', { workdir: 'deep/er', env });
        expect(result.output).toBe(`${slot.workspaceDir}/deep/er\n${env.GREETING}\n`);
        expect((await bash('pwd; echo "[$GREETING]"')).output).toBe(`${slot.workspaceDir}\n[]\n`);
      });

      test('a workdir that does not exist fails the command and runs nothing', async () => {
        const result = await bash('echo ran', { workdir: 'missing' });
        expect(result.success).toBe(false);
        expect(result.output).not.toContain('ran\n');
      });

      test('a command of 200 KB runs', async () => {
        const long = 'x'.repeat(200_000);
        const result = await bash(`v='${long}'; echo \${#v}`);
        expect(result).toMatchObject({ success: true, output: '200000\n' });
      });
    });

    describe('environment', when('environment'), () => {
      test("nothing of the server's environment reaches a command", async () => {
        process.env.TALARIA_TEST_SECRET = 'f4k3-s3cr3t';
        try {
          const result = await bash('env; cat /proc/self/environ; cat /proc/$PPID/environ 2>/dev/null');
          expect(result.output).toContain('PATH=');
          expect(result.output).not.toContain('f4k3-s3cr3t');
        } finally {
          delete process.env.TALARIA_TEST_SECRET;
        }
      });

      test('a command starts in its workspace, which is its home', async () => {
        expect((await bash('pwd; echo "$HOME"')).output).toBe(`${slot.workspaceDir}\n${slot.workspaceDir}\n`);
      });

      test('a command has the usual three descriptors and no other', async () => {
        // The fourth is the one with which ls reads the directory.
        expect((await bash('ls /proc/self/fd')).output).toBe('0\n1\n2\n3\n');
      });

      test('temporary files outlive a command and are deleted by a reset', async () => {
        await bash('echo kept > "$TMPDIR/note"');
        expect((await bash('cat "$TMPDIR/note"')).output).toBe('kept\n');
        await backend.release(slot, { resetWorkspace: true });
        slot = await backend.acquire(trajectory);
        expect((await bash('ls -A "$TMPDIR"')).output).toBe('');
      });
    });

    describe('ending', when('ending'), () => {
      const beat = 'while :; do date +%s%N >> beat; sleep 0.02; done';

      /** Nothing wrote the file after the result: it is the same after a command that takes a while. */
      async function expectNoBeat(): Promise<void> {
        const { output: before } = await bash('cat beat');
        const { output: after } = await bash('sleep 0.3; cat beat');
        expect(before).not.toBe('');
        expect(after).toBe(before);
      }

      const background: [string, string][] = [
        ['in the background', `(${beat}) &`],
        ['with setsid', `setsid bash -c '${beat}' &`],
        [
          'with setsid and nohup, its outputs closed',
          `setsid nohup bash -c '${beat}' >/dev/null 2>&1 < /dev/null &`,
        ],
        ['after a double fork', `( ( trap "" HUP TERM INT; ${beat} ) & ) &`],
      ];

      test.each(background)('a command that times out leaves nothing that runs %s', async (_, start) => {
        const command = `${start} until [ -s beat ]; do sleep 0.01; done; echo ready; sleep 60`;
        let timeout = 1;
        let result = await bash(command, { timeout });
        // A busy machine may need longer to start it.
        while (result.output === '' && timeout < 16) {
          timeout *= 4;
          result = await bash(command, { timeout });
        }
        expect(result).toMatchObject({ success: false, output: 'ready\n' });
        expect(result.metadata).toMatchObject({ failure: 'timeout', timed_out: true });
        expect(result.error).toContain(`${timeout} s`);
        await expectNoBeat();
      });

      test.each(background)('a command that ends leaves nothing that runs %s', async (_, start) => {
        const result = await bash(`${start} until [ -s beat ]; do sleep 0.01; done; echo ready`);
        expect(result).toMatchObject({ success: true, output: 'ready\n' });
        await expectNoBeat();
      });

      test('an aborted batch ends what runs, and says so', async () => {
        const controller = new AbortController();
        const running = backend.executeBatch(
          [
            [slot, 'bash', { command: `setsid bash -c '${beat}' & sleep 60` }],
            [slot, 'bash', { command: 'until [ -s beat ]; do sleep 0.01; done; echo beating' }],
          ],
          { signal: controller.signal },
        );
        await expect.poll(async () => (await bash('cat beat 2>/dev/null')).output).not.toBe('');
        controller.abort();
        const results = await running;
        expect(results[0]).toMatchObject({
          success: false,
          metadata: { failure: 'aborted', timed_out: false },
        });
        expect(results[1]?.success === true || results[1]?.metadata.failure === 'aborted').toBe(true);
        await expectNoBeat();
      });

      test('a batch whose signal is aborted already runs nothing', async () => {
        const result = await bash('echo ran > trace', {}, { signal: AbortSignal.abort() });
        expect(result).toMatchObject({ success: false, metadata: { failure: 'aborted' } });
        expect((await bash('ls')).output).toBe('');
      });

      test('the timeout of the batch is the limit of its commands', async () => {
        const result = await bash('sleep 60', { timeout: 50 }, { timeoutS: 0.3 });
        expect(result.metadata).toMatchObject({ failure: 'timeout', timed_out: true });
      });

      test('the next command works at once after a timeout', async () => {
        await bash('sleep 60', { timeout: 0.2 });
        expect(await bash('echo alive')).toMatchObject({ success: true, output: 'alive\n' });
      });
    });

    describe('output', when('output'), () => {
      test('an output over the limit comes as head, tail and size, with the whole in the workspace', async () => {
        const result = await bash('seq 1 200000');
        const whole = Array.from({ length: 200_000 }, (_, index) => `${index + 1}\n`).join('');
        expect(result.success).toBe(true);
        expect(result.metadata).toMatchObject({ truncated: true, total_bytes: whole.length });
        expect(result.output.startsWith(whole.slice(0, 1000))).toBe(true);
        expect(result.output.endsWith(whole.slice(-1000))).toBe(true);
        expect(result.output.length).toBeLessThan(whole.length / 4);
        const path = result.metadata.full_output_path as string;
        expect(result.output).toContain(path);
        expect((await bash(`cksum < '${path}'`)).output).toBe((await bash('seq 1 200000 | cksum')).output);
        expect(await call('read_file', { path, offset: 150_000, limit: 1 })).toMatchObject({ success: true });
      });

      test('a character is never cut in half', async () => {
        for (const padding of ['', 'x', 'xx']) {
          const result = await bash(`printf '${padding}'; for i in $(seq 20000); do printf '日本🙂'; done`);
          expect(result.metadata.truncated).toBe(true);
          expect(result.output).not.toContain('\ufffd');
        }
      });

      test('bytes that are not UTF-8 are replaced', async () => {
        expect((await bash(`printf 'a\\377b'`)).output).toBe('a\ufffdb');
      });
    });

    describe('files', when('files'), () => {
      test('a written file is read, by the tools and by commands', async () => {
        const content = 'first\nsecond ünï\n\nlast without end';
        const written = await call('write_file', { path: 'a/b/c.txt', content });
        expect(written).toMatchObject({ success: true, error: '' });
        expect(await call('read_file', { path: 'a/b/c.txt' })).toMatchObject({
          success: true,
          output: content,
        });
        const absolute = `${slot.workspaceDir}/a/../a/./b/c.txt`;
        expect(await call('read_file', { path: absolute })).toMatchObject({ success: true, output: content });
        expect((await bash('cat a/b/c.txt')).output).toBe(content);
      });

      test('a command can change and delete what write_file wrote', async () => {
        await call('write_file', { path: 'd/file', content: 'one\n' });
        expect((await bash('echo two >> d/file && cat d/file && rm -r d')).output).toBe('one\ntwo\n');
      });

      test('overwriting replaces the content and keeps the mode', async () => {
        await bash('echo old and longer > run.sh; chmod 750 run.sh');
        await call('write_file', { path: 'run.sh', content: 'echo new\n' });
        expect((await bash('cat run.sh; stat -c %a run.sh; ls -A')).output).toBe('echo new\n750\nrun.sh\n');
      });

      test('a part of a file says which part it is and how much there is', async () => {
        await bash('seq 1 100 > numbers');
        const result = await call('read_file', { path: 'numbers', offset: 10, limit: 3 });
        expect(result.success).toBe(true);
        expect(result.output.split('\n').slice(0, 3)).toEqual(['10', '11', '12']);
        expect(result.output).toContain('lines 10 to 12 of 100');
        expect(result.output).toContain('offset 13');
        expect(result.metadata).toMatchObject({ truncated: true, total_bytes: 292 });
      });

      test('a file over the limit is read to its end piece by piece', async () => {
        await bash('seq 1 20000 > numbers');
        const lines: string[] = [];
        for (let offset: number | undefined = 1; offset !== undefined; ) {
          const { success, output } = await call('read_file', { path: 'numbers', offset, limit: 1_000_000 });
          expect(success).toBe(true);
          const next: string | undefined = /Continue with offset (\d+)/.exec(output)?.[1];
          lines.push(...output.split('\n').filter((line) => /^\d+$/.test(line)));
          offset = next === undefined ? undefined : Number(next);
        }
        expect(lines).toEqual(Array.from({ length: 20_000 }, (_, index) => String(index + 1)));
      });

      test('a binary file is reported as such, and not shown', async () => {
        await bash('printf "text first\\nthen\\0not\\n" > mixed');
        for (const window of [{}, { offset: 1, limit: 1 }]) {
          const result = await call('read_file', { path: 'mixed', ...window });
          expect(result).toMatchObject({ success: false, output: '', metadata: { total_bytes: 20 } });
          expect(result.error).toContain('binary file of 20 bytes');
        }
        await bash('printf "caf\\351\\n" > latin');
        expect((await call('read_file', { path: 'latin' })).output).toContain('not UTF-8');
      });

      test('a missing file is a failure that names it', async () => {
        const result = await call('read_file', { path: 'no/such.txt' });
        expect(result.success).toBe(false);
        expect(result.error).toContain('does not exist');
        expect(result.metadata.failure).toBeUndefined();
      });
    });

    const tools: ContractTools = {
      call,
      bash,
      when,
      slot: () => slot,
      backend: () => backend,
      async acquireAgain(options) {
        await backend.release(slot, options);
        slot = await backend.acquire(trajectory);
      },
      async restart() {
        await backend.stop();
        backend = underTest.create();
        await backend.start();
        slot = await backend.acquire(trajectory);
      },
    };
    describeBatches(tools);
    describeStateful(tools);
    describeTimeouts(tools, timedOutCommands);
    describeNeighbours(tools);
    describeProcesses(tools);
    describePaths(tools);
    describePatch(tools);
    describeSearchFiles(tools);
    describeSnapshots(tools);

    describe('slots', when('slots'), () => {
      test('a trajectory finds its workspace again after a release and after a restart', async () => {
        await bash('echo mine > note');
        await backend.release(slot);
        slot = await backend.acquire(trajectory);
        expect((await bash('cat note')).output).toBe('mine\n');
        await backend.stop();
        backend = underTest.create();
        await backend.start();
        slot = await backend.acquire(trajectory);
        expect((await bash('cat note')).output).toBe('mine\n');
      });

      test('every trajectory id has its own workspace, whatever its characters', async () => {
        const ids = [
          'a',
          '../a',
          './a',
          'a/b',
          '..',
          '.',
          '.sandbox',
          'A',
          'ä',
          '',
          ' ',
          'a\nb',
          'x'.repeat(5000),
        ];
        const slots = await Promise.all(ids.map((id) => backend.acquire(id)));
        await backend.executeBatch(
          slots.map((each, index) => [each, 'write_file', { path: 'id', content: `${index}` }]),
        );
        const read = await backend.executeBatch(
          slots.map((each) => [each, 'bash', { command: 'cat id; ls -A' }]),
        );
        expect(read.map((result) => result.output)).toEqual(ids.map((_, index) => `${index}id\n`));
        expect(slots.map((each) => each.trajectoryId)).toEqual(ids);
      });

      test.each([null, 5, {}])('%j is not a trajectory id', async (trajectoryId) => {
        await expect(backend.acquire(trajectoryId as never)).rejects.toMatchObject({
          code: 'invalid_request',
        });
      });

      test('acquiring a held trajectory returns the slot that holds it', async () => {
        const again = await Promise.all([backend.acquire(trajectory), backend.acquire(trajectory)]);
        expect(again.map(({ slotId }) => slotId)).toEqual([slot.slotId, slot.slotId]);
      });

      test('a caller that gave up before it got a slot holds none', async () => {
        const reason = new Error('no longer needed');
        const given = backend.acquire('given up', { signal: AbortSignal.abort(reason) });
        await expect(given).rejects.toBe(reason);
        await backend.discard('given up');
      });

      test('slots without a trajectory are different and empty', async () => {
        const [one, two] = [await backend.acquire(), await backend.acquire()];
        expect(one.trajectoryId).toBeUndefined();
        await call('write_file', { path: 'note', content: 'x' }, {}, one);
        expect((await call('bash', { command: 'ls -A' }, {}, two)).output).toBe('');
        await backend.release(one);
        await backend.release(two);
      });

      test('a slot shows its state', async () => {
        expect(slot.state).toBe('acquired');
        const running = bash('until [ -e go ]; do sleep 0.01; done');
        expect(slot.state).toBe('executing');
        expect(backend.stats().slots.executing).toBe(1);
        await call('write_file', { path: 'go', content: '' });
        await running;
        expect(slot.state).toBe('acquired');
        await backend.release(slot);
        expect(slot.state).toBe('available');
      });

      test('releasing ends what runs', async () => {
        const running = bash('echo started > trace; sleep 60');
        await expect.poll(async () => (await bash('ls')).output).toBe('trace\n');
        await backend.release(slot);
        expect(await running).toMatchObject({ success: false, metadata: { failure: 'aborted' } });
      });

      test('releasing at once ends what has just begun', async () => {
        const running = Promise.all(Array.from({ length: 10 }, () => bash('sleep 60')));
        await backend.release(slot);
        expect((await running).map(({ metadata }) => metadata.failure)).toEqual(Array(10).fill('aborted'));
      });

      test('a released slot can do nothing, and releasing it again is harmless', async () => {
        await backend.release(slot);
        const next = await backend.acquire(trajectory);
        await backend.release(slot, { resetWorkspace: true });
        expect(await bash('echo ran')).toMatchObject({ success: false, metadata: { failure: 'gone' } });
        expect(await call('bash', { command: 'echo ran' }, {}, next)).toMatchObject({ success: true });
      });

      test('a reset leaves an empty workspace, whatever was in it', async () => {
        const messy = [
          'mkdir -p d/e; echo x > d/e/f; chmod 0500 d/e; chmod 0000 d',
          'ln -s /etc link; mkfifo pipe; touch -- "-rf" "a b" .hidden',
          'mkdir deep; cd deep; for i in $(seq 30); do n=$(printf "%0200d" $i); mkdir $n; cd $n; done',
        ];
        for (const command of messy) expect(await bash(command)).toMatchObject({ success: true });
        await backend.release(slot, { resetWorkspace: true });
        slot = await backend.acquire(trajectory);
        expect((await bash('ls -A; ls /etc | wc -l')).output).toMatch(/^[1-9]\d*\n$/);
      });

      test('a workspace without permissions can be acquired again', async () => {
        await bash('echo mine > note; chmod 0000 .');
        await backend.release(slot);
        slot = await backend.acquire(trajectory);
        expect((await bash('cat note')).output).toBe('mine\n');
      });

      test('every workspace with a readable id is listed, held or not, until it is discarded', async () => {
        const [kept, held] = [`kept-${randomUUID()}`, `held-${randomUUID()}`];
        await backend.release(await backend.acquire(kept));
        const holding = await backend.acquire(held);
        const listed = await backend.listWorkspaces();
        expect(listed).toEqual(expect.arrayContaining([kept, held]));
        // The slot of every test has an id with a space in it.
        expect(listed).not.toContain(trajectory);
        expect(new Set(listed).size).toBe(listed.length);
        await backend.discard(kept);
        await backend.release(holding, { resetWorkspace: true });
        expect(await backend.listWorkspaces()).not.toEqual(expect.arrayContaining([kept]));
        expect(await backend.listWorkspaces()).not.toEqual(expect.arrayContaining([held]));
      });

      test('discard deletes the workspace of a trajectory', async () => {
        await bash('echo x > note');
        await expect(backend.discard(trajectory)).rejects.toMatchObject({ code: 'slot_held' });
        await backend.release(slot);
        await backend.discard(trajectory);
        await backend.discard(trajectory);
        await backend.discard('never seen');
        slot = await backend.acquire(trajectory);
        expect((await bash('ls -A')).output).toBe('');
      });
    });

    if (artifacts !== 'none') {
      const held = { backend: () => backend, slot: () => slot, trajectory: () => trajectory };
      describeArtifacts({ ...held, large: artifacts === 'all', bash });
    }

    describe('lifecycle', when('lifecycle'), () => {
      test('stop ends what runs and answers its calls', async () => {
        const running = bash('sleep 60');
        await expect.poll(() => slot.state).toBe('executing');
        await backend.stop();
        expect(await running).toMatchObject({ success: false, metadata: { failure: 'aborted' } });
      });

      test('a stopped backend refuses, and starts again', async () => {
        await bash('echo x > note');
        await backend.stop();
        await backend.stop();
        expect(await bash('echo x')).toMatchObject({ success: false, metadata: { failure: 'backend_down' } });
        await expect(backend.acquire(trajectory)).rejects.toMatchObject({ code: 'backend_down' });
        await backend.start();
        slot = await backend.acquire(trajectory);
        expect((await bash('cat note')).output).toBe('x\n');
      });

      test('purge deletes every workspace', async () => {
        await bash('echo x > note');
        await backend.stop({ purge: true });
        await backend.start();
        slot = await backend.acquire(trajectory);
        expect((await bash('ls -A')).output).toBe('');
      });

      test('stats say what isolates a command', () => {
        const { isolation, slots } = backend.stats();
        expect(isolation.description).toMatch(/^\S.*\.$/);
        expect(slots.acquired).toBeGreaterThanOrEqual(1);
      });
    });
  });
}
