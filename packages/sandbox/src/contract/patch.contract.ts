/** The contract of the tool `patch`. */
import { describe, expect, test } from 'vitest';
import type { ContractTools } from '../testing/contract-tools.ts';

export function describePatch({ call, bash, slot, when }: ContractTools): void {
  describe('patch', when('patch'), () => {
    const write = (path: string, content: string) => call('write_file', { path, content });
    const patch = (...lines: string[]) =>
      call('patch', { patch: ['*** Begin Patch', ...lines, '*** End Patch'].join('\n') });

    test('replaces a piece of a file and keeps its mode', async () => {
      await bash('printf "one\\ntwo\\n" > run.sh; chmod 750 run.sh');
      const result = await call('patch', { path: 'run.sh', old_string: 'two', new_string: "it's $2" });
      expect(result).toMatchObject({ success: true, error: '' });
      expect(result.output).toContain('line 2');
      expect((await bash('cat run.sh; stat -c %a run.sh; ls -A')).output).toBe("one\nit's $2\n750\nrun.sh\n");
    });

    test('refuses a piece that is missing or occurs more than once', async () => {
      await write('f', 'a\nb\nb\n');
      const several = await call('patch', { path: 'f', old_string: 'b', new_string: 'c' });
      expect(several).toMatchObject({ success: false, output: '' });
      expect(several.error).toContain('lines 2, 3');
      expect(await call('patch', { path: 'f', old_string: 'z', new_string: 'c' })).toMatchObject({
        success: false,
      });
      expect(await call('patch', { path: 'missing', old_string: 'z', new_string: 'c' })).toMatchObject({
        success: false,
        error: 'missing does not exist.',
      });
      expect((await bash('cat f')).output).toBe('a\nb\nb\n');
      await call('patch', { path: 'f', old_string: 'b', new_string: 'c', replace_all: true });
      expect((await bash('cat f')).output).toBe('a\nc\nc\n');
    });

    test('adds, updates, moves and deletes in one call', async () => {
      await bash('printf "1\\n2\\n3\\n" > u; printf "x\\n" > d; printf "#!\\nm\\n" > m; chmod 755 m');
      const result = await patch(
        '*** Add File: new/er/a',
        '+hello',
        '*** Update File: u',
        '@@',
        ' 1',
        '-2',
        '+two',
        '*** Delete File: d',
        '*** Update File: m',
        '*** Move to: moved/m',
        '-m',
        '+n',
      );
      expect(result).toMatchObject({ success: true, error: '' });
      expect((await bash('cat new/er/a u moved/m; stat -c %a moved/m; ls -A . moved')).output).toBe(
        'hello\n1\ntwo\n3\n#!\nn\n755\n.:\nmoved\nnew\nu\n\nmoved:\nm\n',
      );
    });

    test('changes nothing when one of its files does not fit, and names all that do not', async () => {
      await bash('printf "1\\n" > u; printf "x\\n" > d; printf "there\\n" > taken');
      const result = await patch(
        '*** Update File: u',
        '-1',
        '+one',
        '*** Delete File: d',
        '*** Add File: taken',
        '+mine',
        '*** Add File: free',
        '+mine',
        '*** Update File: missing',
        '-1',
        '+2',
        '*** Delete File: nowhere/d',
      );
      expect(result).toMatchObject({ success: false, output: '' });
      for (const words of ['no file was changed', 'taken exists already', 'missing does not', 'nowhere/d']) {
        expect(result.error).toContain(words);
      }
      expect((await bash('cat u d taken; ls -A')).output).toBe('1\nx\nthere\nd\ntaken\nu\n');
    });

    test('changes no file when the changes contradict each other', async () => {
      await write('u', '1\n');
      for (const [first, second] of [
        ['a', 'a/b'],
        ['c/d', 'c'],
      ]) {
        const added = [`*** Add File: ${first}`, '+x', `*** Add File: ${second}`, '+x'];
        const result = await patch('*** Update File: u', '-1', '+2', ...added);
        expect(result).toMatchObject({ success: false, output: '' });
      }
      expect((await bash('cat u; find . -type f')).output).toBe('1\n./u\n');
    });

    test('concurrent edits of one file all happen', async () => {
      const names = Array.from({ length: 20 }, (_, index) => `line ${index};`);
      await write('f', `${names.join('\n')}\n`);
      const results = await Promise.all(
        names.map((name) =>
          call('patch', { path: 'f', old_string: name, new_string: name.replace('line', 'was') }),
        ),
      );
      expect(results.every(({ success }) => success)).toBe(true);
      expect((await bash('grep -c was f')).output).toBe('20\n');
    });

    test.each([
      [{}, 'path'],
      [{ path: 'a', old_string: 'b' }, 'new_string'],
      [{ path: 'a', old_string: 'b', new_string: 1 }, 'new_string'],
      [{ path: 'a', old_string: 'b', new_string: 'c', replace_all: 'yes' }, 'replace_all'],
      [{ path: 'a', old: 'b', new_string: 'c' }, 'old'],
      [{ patch: 5 }, 'patch'],
      [{ patch: 'no patch' }, 'Begin Patch'],
      [{ path: 'a', patch: 'x' }, 'alone'],
      [{ patch: '*** Begin Patch\n*** Delete File: a\n*** Delete File: ./b/../a\n*** End Patch' }, 'twice'],
      [{ patch: '*** Begin Patch\n*** Add File: ../a\n+x\n*** End Patch' }, 'outside the workspace'],
      [
        { patch: '*** Begin Patch\n*** Update File: a\n*** Move to: /etc/a\n*** End Patch' },
        'outside the workspace',
      ],
      [{ path: '/etc/passwd', old_string: 'root', new_string: 'toor' }, 'outside the workspace'],
    ])('%j is an invalid request that names %s', async (args, named) => {
      const result = await call('patch', args);
      expect(result).toMatchObject({ success: false, metadata: { failure: 'invalid_request' } });
      expect(result.error).toContain(named);
    });

    test.each([
      ['a link to a file outside', 'ln -s /etc/passwd target', 'target'],
      ['a link to a directory outside', 'ln -s /etc target', 'target/passwd'],
      ['a link inside the workspace', 'echo root > real; ln -s real target', 'target'],
      ['a dangling link', 'ln -s /tmp/talaria-contract-patched target', 'target'],
      ['a FIFO', 'mkfifo target', 'target'],
      ['a directory', 'mkdir target', 'target'],
      ['bytes that are not text', 'printf "root\\377\\n" > target', 'target'],
    ])('%s is not edited', async (_, prepare, path) => {
      expect((await bash(prepare)).success).toBe(true);
      const before = (await bash('ls -lA --time-style=+')).output;
      const edits = [
        await call('patch', { path, old_string: 'root', new_string: 'toor' }),
        await patch(`*** Update File: ${path}`, '-root', '+toor'),
        await patch(`*** Add File: ${path}`, '+toor'),
      ];
      expect(edits.map(({ success }) => success)).toEqual([false, false, false]);
      expect((await bash('ls -lA --time-style=+')).output).toBe(before);
      expect((await bash('cat /tmp/talaria-contract-patched')).success).toBe(false);
    });

    test('a path as commands see it is the same file', async () => {
      await write('f', 'a\n');
      await call('patch', { path: `${slot().workspaceDir}/f`, old_string: 'a', new_string: 'b' });
      expect((await bash('cat f')).output).toBe('b\n');
    });
  });
}
