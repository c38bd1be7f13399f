/** The contract of results: what a call answers, alone and in a batch. */
import { describe, expect, test } from 'vitest';
import type { ContractTools } from '../testing/contract-tools.ts';

export function describeResults({ bash, when, slot, backend, sameEverywhere }: ContractTools): void {
  describe('results', when('results'), () => {
    test('a command that exits with 0 succeeds with its output', async () => {
      const result = await bash('echo hello');
      expect(result).toMatchObject({ success: true, output: 'hello\n', error: '', slotId: slot().slotId });
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
    ])('%s has the code a shell gives it and the name of its signal', async (command, exit_code, signal) => {
      expect(await bash(command)).toMatchObject({ success: false, metadata: { exit_code, signal } });
    });

    test.each(['exit 3', 'exit 128', 'exit 255'])('%s names no signal', sameEverywhere, async (command) => {
      const { metadata } = await bash(command);
      expect(metadata.exit_code).toBe(Number(command.slice(5)));
      expect(metadata).not.toHaveProperty('signal');
    });

    test('both outputs come in the order in which they were written', async () => {
      const result = await bash('for i in 1 2 3 4 5; do echo out$i; echo err$i >&2; done');
      expect(result.output).toBe([1, 2, 3, 4, 5].map((i) => `out${i}\nerr${i}\n`).join(''));
    });

    test('/dev/stdout and /dev/stderr can be opened', sameEverywhere, async () => {
      const result = await bash('echo a > /dev/stdout; echo b > /dev/stderr');
      expect(result).toMatchObject({ success: true, output: 'a\nb\n' });
    });

    test('standard input is at its end', sameEverywhere, async () => {
      expect(await bash('cat; read -r line; echo "[$line]"')).toMatchObject({ output: '[]\n' });
    });

    test(
      'a command may kill every process it can see, and still gets an answer',
      sameEverywhere,
      async () => {
        // If only a container isolates commands, they see the server in it, and the slot ends with that server.
        if (['none', 'container'].includes(backend().stats().isolation.kind)) return;
        expect(await bash('sleep 60 & kill -KILL -1; kill -KILL $$')).toMatchObject({ success: false });
        expect(await bash('echo alive')).toMatchObject({ success: true });
      },
    );

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
      const other = await backend().acquire('other');
      const results = await backend().executeBatch([
        [slot(), 'bash', { command: 'sleep 0.3; echo first' }],
        [other, 'bash', { command: 'exit 3' }],
        [slot(), 'no_such_tool', {}],
        [slot(), 'bash', { command: 17 }],
        [other, 'bash', { command: 'sleep 60', timeout: 0.2 }],
        [slot(), 'read_file', { path: 'missing' }],
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
        [slot(), other, slot(), slot(), other, slot(), other].map(({ slotId }) => slotId),
      );
      expect(new Set(results.map((result) => result.executionId)).size).toBe(results.length);
    });

    test('requests of one slot run at the same time', async () => {
      // Each waits for the other, so one after the other they would time out.
      const meet = (mine: string, theirs: string) =>
        ({ command: `: > ${mine}; until [ -e ${theirs} ]; do sleep 0.05; done`, timeout: 10 }) as const;
      const results = await backend().executeBatch([
        [slot(), 'bash', meet('a', 'b')],
        [slot(), 'bash', meet('b', 'a')],
      ]);
      expect(results.map((result) => result.success)).toEqual([true, true]);
    });

    test('an empty batch has no results', async () => {
      expect(await backend().executeBatch([])).toEqual([]);
    });
  });
}
