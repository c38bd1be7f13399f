/** The contract of the terminal of a slot: a shell that lives across calls, and ends with its slot. */
import { describe, expect, test } from 'vitest';
import type { ContractTools } from '../testing/contract-tools.ts';
import { processesWith, uniqueSeconds } from '../testing/host-processes.ts';

export function describeTerminal({
  call,
  bash,
  slot,
  backend,
  acquireAgain,
  restart,
  ownKernel,
  when,
  sameEverywhere,
}: ContractTools): void {
  const run = (command: string, more: Record<string, unknown> = {}) =>
    call('bash_stateful', { command, ...more });

  async function outputOf(command: string): Promise<string> {
    const { output, error } = await run(command);
    expect(error).toBe('');
    return output;
  }

  describe('terminal', when('terminal'), () => {
    test('directory, variables, functions and jobs stay', async () => {
      await run('mkdir -p d; cd d; kept="x  y"; greet() { echo "hello $1"; }');
      expect(await outputOf('pwd; echo "$kept"; greet you')).toBe(
        `${slot().workspaceDir}/d\nx  y\nhello you\n`,
      );
      expect(await outputOf('sleep 60 & echo started')).toMatch(/started\n/);
      expect(await outputOf('jobs')).toContain('sleep 60');
      expect((await bash('echo "[$kept]"')).output).toBe('[]\n');
    });

    test('a result says how its command ended, and where it ran', async () => {
      const isIsolated = backend().stats().isolation.kind !== 'none';
      const place = { stateful: true, sandboxed: isIsolated, network_isolated: isIsolated };
      expect(await run('true')).toMatchObject({ success: true, metadata: { exit_code: 0, ...place } });
      const failed = await run('echo before; (exit 7)');
      expect(failed).toMatchObject({
        success: false,
        output: 'before\n',
        metadata: { exit_code: 7, ...place },
      });
      expect(failed.error).toContain('7');
      expect(await outputOf('echo next')).toBe('next\n');
    });

    test('programs have a terminal, and it is that of the slot alone', async () => {
      expect(await outputOf('test -t 0 && test -t 1 && test -t 2 && echo yes')).toBe('yes\n');
      expect(await outputOf('stty size')).toBe('40 120\n');
      if (backend().stats().isolation.kind === 'none' || ownKernel) return;
      expect(await outputOf('ls /dev/pts | grep -c "^[0-9]"')).toBe('1\n');
    });

    test('commands arrive unchanged, whatever a terminal would make of them', async () => {
      const text = `it's "quoted" \\n $HOME \`x\` !! ~ ünïcødé 日本 🙂\ttab ${'long '.repeat(200)}`;
      expect(await outputOf(`cat <<'END'\n${text}\nsecond\nEND\n`)).toBe(`${text}\nsecond\n`);
      expect(await outputOf(`x='${'y'.repeat(100_000)}'`)).toBe('');
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the braces are the shell's
      expect(await outputOf('echo "${#x}"')).toBe('100000\n');
    });

    test('a command with a syntax error is a failed command', async () => {
      const result = await run('if then');
      expect(result).toMatchObject({ success: false });
      expect(result.output).toMatch(/syntax error/i);
      expect(await outputOf('echo next')).toBe('next\n');
    });

    test('what a background process prints comes with the next call', async () => {
      await run('{ until [ -e go ]; do sleep 0.05; done; echo late; : > done; } &');
      await bash('touch go; until [ -e done ]; do sleep 0.05; done');
      expect(await outputOf('echo now')).toMatch(/late\n(.|\n)*now\n/);
    });

    test('colours and lines that are written over are left out', sameEverywhere, async () => {
      const command = `printf '\\033[1;31mred\\033[0m\\n10%%\\r50%%\\r100%%\\n\\033]0;title\\007end\\n'`;
      expect(await outputOf(command)).toBe('red\n100%\nend\n');
    });

    test('of a long output the end is kept, and the rest counted', sameEverywhere, async () => {
      const { success, output, metadata } = await run('seq 1 200000');
      expect(success).toBe(true);
      expect(metadata.truncated).toBe(true);
      expect(output).toMatch(/^\[\d+ bytes before this left out\]\n(.|\n)*\n199999\n200000\n$/);
      expect(output.length).toBeLessThan(60_000);
    });

    test('after a timeout the shell is gone with all it ran, and the next call gets a new one', async () => {
      const seconds = uniqueSeconds();
      await run(`kept=yes; sleep ${seconds} &`);
      const result = await run(`echo before; sleep ${seconds}`, { timeout: 0.5 });
      expect(result).toMatchObject({ success: false, metadata: { timed_out: true, failure: 'timeout' } });
      expect(result.output).toContain('before\n');
      expect(result.error).toContain('timed out after 0.5 s');
      expect(processesWith(seconds)).toEqual([]);
      expect(await outputOf('echo "[$kept]"')).toBe('[]\n');
    });

    test('a shell that exits ends its call, and the next call gets a new one', async () => {
      const result = await run('cd /; echo bye; exit 3');
      expect(result).toMatchObject({ success: false, metadata: { exit_code: 3 } });
      expect(result.output).toContain('bye\n');
      expect(result.output).toContain('[the shell has ended; the next call gets a new one]\n');
      expect(await outputOf('pwd')).toBe(`${slot().workspaceDir}\n`);
      const killed = await run('kill -KILL $$');
      expect(killed).toMatchObject({ success: false, metadata: { exit_code: 137 } });
    });

    test('an aborted call ends its shell', async () => {
      const controller = new AbortController();
      const stopped = call(
        'bash_stateful',
        { command: ': > began; sleep 60' },
        { signal: controller.signal },
      );
      await bash('until [ -e began ]; do sleep 0.05; done');
      controller.abort();
      expect(await stopped).toMatchObject({ success: false, metadata: { failure: 'aborted' } });
      expect((await run('echo new')).output).toBe('new\n');
    });

    test('calls run one after the other, in their order', async () => {
      const results = await Promise.all([
        run('n=1; until [ -e go ]; do sleep 0.05; done; n="$n 1"'),
        run('n="$n 2"'),
        run('echo "$n 3"'),
        bash('touch go'),
      ]);
      expect(results[2]).toMatchObject({ output: '1 1 2 3\n' });
    });

    test('a call whose turn does not come leaves the shell alone, and says so', async () => {
      const first = run('kept=yes; : > begun; until [ -e go ]; do sleep 0.05; done; echo end');
      await bash('until [ -e begun ]; do sleep 0.05; done');
      const late = await run('echo late', { timeout: 0.1 });
      expect(late).toMatchObject({ success: false, output: '', metadata: { failure: 'timeout' } });
      expect(late.error).toContain('did not run');
      await bash('touch go');
      expect(await first).toMatchObject({ success: true, output: 'end\n' });
      expect(await outputOf('echo $kept')).toBe('yes\n');
    });

    test('it ends with its slot, and leaves no file', async () => {
      const seconds = uniqueSeconds();
      await run(`kept=yes; sleep ${seconds} & sleep ${seconds} &`);
      await acquireAgain();
      expect(processesWith(seconds)).toEqual([]);
      expect((await bash('find . "$TMPDIR" -name ".talaria-terminal*"')).output).toBe('');
      expect(await outputOf('echo "[$kept]"')).toBe('[]\n');
      await run('kept=yes');
      await restart();
      expect(await outputOf('echo "[$kept]"')).toBe('[]\n');
    });

    test('a prompt, a name or a builtin of its own does not confuse it', async () => {
      await run('printf() { :; }; PS1="(venv) $PS1"; alias export=false; cd() { builtin cd "$@"; }');
      expect((await run('echo one')).output).toContain('one\n');
      expect((await run('unset -f printf; echo two')).output).toContain('two\n');
    });

    test('a prompt without its marks gets them back, with the exit code of the command', async () => {
      expect(await run('PS1="mine> "; (exit 3)')).toMatchObject({ metadata: { exit_code: 3 } });
      expect((await run('echo next')).output).toContain('next\n');
    });

    test('a trace of commands shows only those of the call', async () => {
      await run('set -x');
      expect((await run('echo next')).output).not.toMatch(/talaria|case|return/i);
    });

    test('a call that ends a shell in the shell is over', async () => {
      await run('sh', { timeout: 30 });
      expect(await run('exit 4', { timeout: 30 })).toMatchObject({ metadata: { exit_code: 4 } });
    });

    describe('tmux', () => {
      const tmux = (action: string, more: Record<string, unknown> = {}) => call('tmux', { action, ...more });
      const screen = async (more: Record<string, unknown> = {}) => (await tmux('capture', more)).output;

      test.each([
        [['echo typed', 'Home']],
        [['echo typed', 'Escape']],
        [['C-v']],
        [["echo 'begun", 'Enter']],
        [['C-z']],
      ])('a line that keys have begun, %j, is given up by the next command', async (keys) => {
        await tmux('start');
        await tmux('send_keys', { keys });
        const next = await run('echo next', { timeout: 30 });
        expect(next).toMatchObject({ success: true });
        expect(next.output).toMatch(/next\n$/);
      });

      test('keys that nothing reads are refused before they fill the memory of the server', async () => {
        await tmux('start');
        await tmux('send_keys', { keys: ['stty raw -echo; sleep 60', 'Enter'] });
        const keys = 'x'.repeat(500_000);
        await tmux('send_keys', { keys });
        const refused = await tmux('send_keys', { keys });
        expect(refused).toMatchObject({ success: false });
        expect(refused.error).toContain('nothing was typed');
      });

      test('keys are typed, and the screen shows what they did', async () => {
        expect(await tmux('start', { pane_width: 60, pane_height: 12 })).toMatchObject({
          success: true,
          output: 'started',
          metadata: { stateful: true, pane_width: 60, pane_height: 12 },
        });
        const typed = await tmux('send_keys', { keys: ['stty size; kept=yes', 'Enter'], block: true });
        expect(typed).toMatchObject({ success: true, output: 'ok' });
        expect(await screen()).toBe('$ stty size; kept=yes\n12 60\n$\n');
        // It is the shell of bash_stateful, whose commands look as if they were typed.
        expect((await run('echo $kept')).output).toContain('yes\n');
        expect(await screen()).toBe('$ stty size; kept=yes\n12 60\n$ echo $kept\nyes\n$\n');
      });

      test('a full-screen program draws, reacts to keys, and gives the screen back', async () => {
        await tmux('start', { pane_width: 40, pane_height: 10 });
        const draw = [
          "printf '\\033[?1049h\\033[2J\\033[5;10Hbox'",
          'read -rsn1 key',
          `printf '\\033[6;10Hgot %s' "$key"`,
          'read -rsn1 key',
          "printf '\\033[?1049l'",
        ];
        await call('write_file', { path: 'draw', content: draw.join('\n') });
        await tmux('send_keys', { keys: ['bash draw', 'Enter'] });
        await expect.poll(() => screen()).toBe(`${'\n'.repeat(4)}${' '.repeat(9)}box\n`);
        await tmux('send_keys', { keys: 'x' });
        await expect.poll(() => screen()).toContain('got x');
        await tmux('send_keys', { keys: 'q' });
        await expect.poll(() => screen()).toBe('$ bash draw\n$\n');
      });

      test('what has scrolled away is there on request', sameEverywhere, async () => {
        await tmux('send_keys', { keys: 'seq 100', block: true });
        expect(await screen()).not.toContain('\n20\n');
        expect(await screen({ capture_entire: true })).toContain('\n20\n');
      });

      test(
        'a terminal may be filled with anything, and its screen is still shown',
        sameEverywhere,
        async () => {
          await tmux('start');
          const noise = `for i in $(seq 20000); do printf '\\033[1m\\001\\002\\033[499Cx\\n'; done; printf '\\033[0m'; echo end`;
          await call('write_file', { path: 'noise', content: noise });
          await tmux('send_keys', { keys: 'bash noise', block: true });
          expect(await screen()).toContain('x\nend\n$\n');
          const all = await tmux('capture', { capture_entire: true });
          expect(all).toMatchObject({ success: true, metadata: { truncated: true } });
          expect(all.output.length).toBeLessThanOrEqual(50_000);
          expect(all.output.endsWith('x\nend\n$\n')).toBe(true);
          const { output } = await tmux('stream', { max_bytes: 200_000, reset: true });
          expect(output.endsWith(']\n')).toBe(true);
        },
      );

      test('a stream has every line once, and whole', async () => {
        await tmux('start');
        await tmux('send_keys', { keys: ["echo 'one ü'", 'Enter'], block: true });
        const first = await tmux('stream');
        const [header, ...events] = first.output
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line));
        expect(header).toMatchObject({ version: 2, width: 120, height: 40 });
        expect(events.map(([, kind]) => kind)).toEqual(events.map(() => 'o'));
        expect(events.map(([, , text]) => text).join('')).toContain('one ü\r\n');
        expect(first.metadata.stream_offset).toBe(Buffer.byteLength(first.output));
        expect((await tmux('stream')).output).toBe('');
        await tmux('send_keys', { keys: 'echo two', block: true });
        expect((await tmux('stream', { max_bytes: 5 })).output).toBe('');
        const second = (await tmux('stream')).output;
        expect(second).toContain('two');
        expect((await tmux('stream', { reset: true })).output).toBe(first.output + second);
      });

      test('keys interrupt a program; keys that wait for a prompt in vain end the terminal', async () => {
        await tmux('send_keys', { keys: ['kept=yes; : > began; sleep 60', 'Enter'] });
        await bash('until [ -e began ]; do sleep 0.05; done');
        await tmux('send_keys', { keys: 'C-c' });
        expect((await run('echo $kept')).output).toContain('yes\n');
        const late = await tmux('send_keys', { keys: 'sleep 60', block: true, max_wait_s: 0.3 });
        expect(late).toMatchObject({ success: false, metadata: { timed_out: true, failure: 'timeout' } });
        expect((await run('echo "[$kept]"')).output).toBe('[]\n');
      });

      test('stop ends it with all it runs', async () => {
        const seconds = uniqueSeconds();
        await run(`sleep ${seconds} & kept=yes`);
        expect(await tmux('stop')).toMatchObject({ success: true, output: 'stopped' });
        expect(processesWith(seconds)).toEqual([]);
        expect((await run('echo "[$kept]"')).output).toBe('[]\n');
        expect(await tmux('stop')).toMatchObject({ success: true });
      });

      test.each([
        [{ action: 'fly' }, 'action'],
        [{ action: 'send_keys' }, 'keys'],
        [{ action: 'send_keys', keys: [1] }, 'keys'],
      ])('%j is refused', async (args, word) => {
        const result = await call('tmux', args);
        expect(result).toMatchObject({ success: false, metadata: { failure: 'invalid_request' } });
        expect(result.error).toContain(word);
      });
    });

    test('it may demand a sandbox, and no network', async () => {
      const isIsolated = backend().stats().isolation.kind !== 'none';
      const demands = { allow_network: false, require_stateful_sandbox: true };
      expect(await run('echo ran', demands)).toMatchObject(
        isIsolated ? { success: true, output: 'ran\n' } : { success: false, output: '' },
      );
    });
  });
}
