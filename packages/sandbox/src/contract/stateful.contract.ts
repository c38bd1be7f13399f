/** The contract of stateful commands: the next shell has what the last one left. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { ContractTools } from '../testing/contract-tools.ts';
import { processesWith, uniqueSeconds } from '../testing/host-processes.ts';

export function describeStateful({
  call,
  bash,
  slot,
  backend,
  acquireAgain,
  restart,
  when,
}: ContractTools): void {
  const stateful = (command: string, more: Record<string, unknown> = {}) =>
    bash(command, { stateful: true, ...more });

  async function outputOf(command: string, more: Record<string, unknown> = {}): Promise<string> {
    const { output, error } = await stateful(command, more);
    expect(error).toBe('');
    return output;
  }

  describe('stateful commands', when('stateful commands'), () => {
    /** Functions, arrays and options are bash's; without it, only what sh has carries over. */
    let isBash: boolean | undefined;
    beforeEach(async () => {
      isBash ??= (await bash('echo "$BASH_VERSION"')).output !== '\n';
    });

    test('directory, exported variables and umask carry over', async () => {
      await stateful(`mkdir -p "d e/it's"; cd "d e/it's"; export A="x  y" B=; umask 027`);
      expect(await outputOf('pwd; echo "[$A][$B]"; umask')).toBe(
        `${slot().workspaceDir}/d e/it's\n[x  y][]\n0027\n`,
      );
      expect(await outputOf('cd ..; unset A')).toBe('');
      expect(await outputOf('pwd; echo "[$A]"; cd - >/dev/null; pwd')).toBe(
        `${slot().workspaceDir}/d e\n[]\n${slot().workspaceDir}/d e/it's\n`,
      );
    });

    test('functions, plain variables, arrays, aliases and options of shopt carry over', async () => {
      if (!isBash) return;
      await stateful(
        [
          'shopt -s extglob expand_aliases; plain=1; list=(a "b c"); declare -A map=([k k]=v); declare -i n=4',
          'greet() { local name=$1; cat <<EOF',
          "hello $name, it's me",
          'EOF',
          '}; is_a() { case $1 in +(a)) echo yes ;; esac; }',
          'alias shout="echo LOUD"; export -f greet',
        ].join('\n'),
      );
      const command =
        // biome-ignore lint/suspicious/noTemplateCurlyInString: the braces are the shell's
        'greet you; is_a aaa; bash -c "greet child"; echo "$plain" "${#list[*]}" "${map[*]}"; n+=1; echo $n; shout';
      expect(await outputOf(command)).toBe("hello you, it's me\nyes\nhello child, it's me\n1 2 v\n5\nLOUD\n");
    });

    test('values of any bytes and size carry over', async () => {
      if (!isBash) return;
      const values = [
        `export BYTES=$(printf '\\001\\377\\n\\t\\n'; printf 'x')`,
        "export QUOTES='it\"s'\"'\"'$(false) `false` \\n !'",
        'export LONG=$(head -c 100000 /dev/zero | tr "\\0" "a")',
        'data=$(head -c 300000 /dev/zero | tr "\\0" "b")',
      ];
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the braces are the shell's
      const show = 'printf "%s" "$BYTES" | od -An -tx1; printf "%s\\n" "$QUOTES" "${#LONG}" "${#data}"';
      const expected = (await bash(`${values.join('\n')}\n${show}`)).output;
      expect(expected).toContain('300000');
      await stateful(values.join('\n'));
      expect(await outputOf(show)).toBe(expected);
      expect(await outputOf(show)).toBe(expected);
    });

    test('read-only variables stay read-only, and functions may have any name', async () => {
      if (!isBash) return;
      await stateful(
        'readonly FIXED=1; my-fn() { echo dash; }; a.b() { echo dot; }; function x=y { :; }; function ! { :; }; 日本() { echo far; }',
      );
      expect(await outputOf('(FIXED=2) 2>/dev/null; echo "$FIXED"; my-fn; a.b; 日本')).toBe(
        '1\ndash\ndot\nfar\n',
      );
    });

    test('a function or alias with the name of a builtin breaks nothing', async () => {
      if (!isBash) return;
      await stateful(
        'cd() { builtin cd "$@" && echo "now in $PWD"; }; eval() { false; }; printf() { false; }; trap() { false; }; unset() { false; }; shopt -s expand_aliases; alias exit=false set=false; cd /tmp',
      );
      expect(await outputOf('pwd; cd /usr')).toBe('/tmp\nnow in /usr\n');
      expect(await outputOf('pwd')).toBe('/usr\n');
    });

    test.each([
      ['exit', 'exit 3', 3],
      ['a failed command under set -e', 'set -e; false; echo unreached', 1],
      ['exit in a function', 'leave() { exit 4; }; leave', 4],
      ['a signal to itself that it catches', 'trap "exit 5" TERM; kill -TERM $$; sleep 1', 5],
      ['the last command', 'sh -c "exit 6"', 6],
    ])('what was set before %s is kept, and so is the exit code', async (_, ending, code) => {
      const result = await stateful(`cd /usr; export KEPT=yes; ${ending}`);
      expect(result).toMatchObject({ success: false, output: '', metadata: { exit_code: code } });
      expect(await outputOf('echo "$PWD $KEPT"')).toBe('/usr yes\n');
    });

    test('a command with its own EXIT trap leaves its state if it returns, or says that it does not', async () => {
      expect(await outputOf('trap "echo bye" EXIT; export KEPT=one')).toBe('bye\n');
      expect(await outputOf('echo "$KEPT"')).toBe('one\n');
      const result = await stateful('trap "echo bye" EXIT; export KEPT=two; exit 0');
      expect(result.success).toBe(true);
      expect(result.output).toMatch(
        /^bye\n\[the next stateful command does not see what this one left: .+\]\n$/,
      );
      expect(await outputOf('echo "$KEPT"')).toBe('one\n');
      expect((await stateful('exec echo replaced')).output).toMatch(/^replaced\n\[.+ does not see .+\]\n$/);
    });

    test('options of set apply to their own call, and nothing of ours shows in a trace', async () => {
      const { output } = await stateful('set -eux; echo one');
      expect(output.split('\n').filter((line) => !/^\++ /.test(line))).toEqual(['one', '']);
      expect(output).not.toContain('talaria');
      expect(await outputOf('false; echo "on $UNSET"')).toBe('on \n');
    });

    test('a line of the command has its own number in a message', async () => {
      await stateful('export A="one\ntwo\nthree"');
      const plain = await bash('\n\nno_such_command');
      expect((await stateful('\n\nno_such_command')).output).toBe(plain.output);
      expect((await stateful('if then')).output).toContain('syntax error'.slice(1));
    });

    test('a command that is ended leaves the state unchanged', async () => {
      await stateful('export KEPT=before; cd /usr');
      const timedOut = await stateful('export KEPT=after; cd /; sleep 60', { timeout: 0.5 });
      expect(timedOut.metadata.failure).toBe('timeout');
      expect((await stateful('export KEPT=after; kill -KILL $$')).output).toContain('does not see');
      expect(await outputOf('echo "$KEPT $PWD"')).toBe('before /usr\n');
    });

    test('a command without state neither sees nor changes it', async () => {
      await stateful('cd /usr; export KEPT=yes; echo x > "$TMPDIR/mine"');
      expect((await bash('echo "$KEPT $PWD"; export KEPT=no; cd /; ls -A "$TMPDIR"')).output).toBe(
        ` ${slot().workspaceDir}\nmine\n`,
      );
      await bash('find "$TMPDIR" . -mindepth 1 -delete');
      expect(await outputOf('echo "$KEPT $PWD"')).toBe('yes /usr\n');
      expect((await call('search_files', { pattern: 'KEPT' })).output).toBe('[no matches]');
    });

    test('a missing directory is replaced by the workspace, with a note', async () => {
      await stateful('mkdir -p a/b; cd a/b; export KEPT=yes');
      await bash('rm -r a');
      expect(await outputOf('echo "$PWD $KEPT"')).toBe(
        `[${slot().workspaceDir}/a/b, where the last stateful command ended, is gone; this one starts in ${slot().workspaceDir}]\n${slot().workspaceDir} yes\n`,
      );
      expect(await outputOf('pwd')).toBe(`${slot().workspaceDir}\n`);
    });

    test('workdir and env of a call come before the state', async () => {
      await bash('mkdir d');
      await stateful('cd /usr; export A=state');
      expect(await outputOf('echo "$PWD $A"', { workdir: 'd', env: { A: 'call' } })).toBe(
        `${slot().workspaceDir}/d call\n`,
      );
      expect(await outputOf('pwd')).toBe(`${slot().workspaceDir}/d\n`);
      expect(await stateful('echo ran', { workdir: 'missing' })).toMatchObject({ success: false });
      expect(await outputOf('pwd')).toBe(`${slot().workspaceDir}/d\n`);
    });

    test('stateful commands run one after the other, in the order of their calls; others do not wait', async () => {
      const first = stateful('export N=1; until [ -e go ]; do sleep 0.05; done; N="$N 1"');
      const second = stateful('N="$N 2"');
      const third = stateful('echo "$N 3"');
      expect((await bash('echo at once')).output).toBe('at once\n');
      await bash('touch go');
      expect((await third).output).toBe('1 1 2 3\n');
      expect([await first, await second].map(({ success }) => success)).toEqual([true, true]);
    });

    test('waiting for its turn counts towards the timeout of a call, and can be aborted', async () => {
      const first = stateful('export N=1; until [ -e go ]; do sleep 0.05; done');
      const controller = new AbortController();
      const late = stateful('touch ran', { timeout: 0.2 });
      const stopped = bash('touch ran', { stateful: true }, { signal: controller.signal });
      const last = stateful('echo "$N"; ls');
      expect(await late).toMatchObject({ success: false, metadata: { failure: 'timeout', timed_out: true } });
      controller.abort();
      expect(await stopped).toMatchObject({ success: false, metadata: { failure: 'aborted' } });
      await bash('touch go');
      expect((await first).success).toBe(true);
      expect((await last).output).toBe('1\ngo\n');
    });

    test('a state over the limit is not stored, and the last one stays', async () => {
      if (!isBash) return;
      await stateful('export KEPT=yes');
      const result = await stateful('KEPT=no; data=$(head -c 5000000 /dev/zero | tr "\\0" "b")');
      expect(result.output).toMatch(/^\[the next stateful command does not see .+ bytes.+\]\n$/);
      expect(await outputOf('echo "$KEPT"')).toBe('yes\n');
    });

    test('the state lives as long as the workspace: over a release and a restart, not over a reset', async () => {
      await stateful('export KEPT=yes; cd /usr');
      await acquireAgain();
      // If only a container isolates commands, they could have forged the state: so it ends with the container.
      const trusted = backend().stats().isolation.kind !== 'container';
      const kept = () => (trusted ? 'yes /usr\n' : ` ${slot().workspaceDir}\n`);
      expect(await outputOf('echo "$KEPT $PWD"')).toBe(kept());
      await restart();
      expect(await outputOf('echo "$KEPT $PWD"')).toBe(kept());
      await acquireAgain({ resetWorkspace: true });
      expect((await stateful('echo "$KEPT $PWD"')).output).toContain(` ${slot().workspaceDir}\n`);
    });

    test('a forged state harms nobody', async () => {
      if (!isBash) return;
      await stateful('export KEPT=yes');
      const left = '$(trap -p EXIT | grep -o "[^\' ]*/.talaria-shell-[^\' ]*" | head -n 1)';
      for (const tampering of [
        'ln -s /etc/passwd "$f"',
        'mkfifo "$f"',
        'mkdir "$f"',
        'printf "no state" > "$f"',
        'printf "a\\0b\\n# the end of a shell state\\n" > "$f"',
      ]) {
        const result = await stateful(`f=${left}; ${tampering}; exec true`);
        expect([tampering, result.output]).toEqual([tampering, expect.stringContaining('does not see')]);
        expect(await outputOf('echo "$KEPT"')).toBe('yes\n');
      }
      await stateful(`f=${left}; printf 'if then\\n# the end of a shell state\\n' > "$f"; exec true`);
      expect(await outputOf('echo ran')).toBe(
        '[not all that the last stateful command left could be restored]\nran\n',
      );
      // Only the directory that the command itself made in place of its state is left.
      expect(await outputOf('ls -A "$TMPDIR" | wc -l')).toBe('1\n');
    });

    test("a command's leftover processes end with it, also after an earlier one", async () => {
      const seconds = uniqueSeconds();
      await stateful('export A=1');
      const daemon = `setsid sleep ${seconds} > /dev/null 2>&1 < /dev/null`;
      expect(await outputOf(`(${daemon} &); echo up`)).toBe('up\n');
      expect(processesWith(seconds)).toEqual([]);
    });

    test.each([['yes'], [1]])('stateful %j is an invalid request', async (value) => {
      const result = await stateful('echo ran', { stateful: value });
      expect(result).toMatchObject({ success: false, output: '', metadata: { failure: 'invalid_request' } });
      expect(result.error).toContain('stateful');
    });
  });
}
