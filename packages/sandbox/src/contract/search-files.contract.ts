/** The contract of the tool `search_files`. */
import { describe, expect, test } from 'vitest';
import type { ContractTools } from '../testing/contract-tools.ts';

export function describeSearchFiles({ call, bash, slot, when }: ContractTools): void {
  describe('search_files', when('search_files'), () => {
    const search = (pattern: string, more: Record<string, unknown> = {}) =>
      call('search_files', { pattern, ...more });
    const files = (pattern: string, more: Record<string, unknown> = {}) =>
      search(pattern, { target: 'files', ...more });

    test('matching lines are sorted, with path and number, and with the total', async () => {
      await bash('mkdir -p b/c; printf "one\\ntwo 2\\n" > b/c/f; printf "two 22\\nthree\\n" > "a b"');
      expect(await search('two \\d+$')).toMatchObject({
        success: true,
        output: 'a b:1:two 22\nb/c/f:2:two 2\n[2 matches in 2 files]',
        metadata: { truncated: false },
      });
      expect((await search('two', { path: 'b' })).output).toBe('b/c/f:2:two 2\n[1 match in 1 file]');
      expect((await search('two', { path: 'b/c/f' })).output).toBe('b/c/f:2:two 2\n[1 match in 1 file]');
      expect((await search('two', { path: `${slot().workspaceDir}/b/c` })).output).toContain('b/c/f:2:');
      expect(await search('four')).toMatchObject({ success: true, output: '[no matches]' });
      expect((await search('-e', { path: 'b' })).output).toBe('[no matches]');
    });

    test('a glob limits the search, and finds files by name', async () => {
      await bash(
        'mkdir -p src/deep .git node_modules/p; for d in . src src/deep .git node_modules/p; do echo x > $d/f.ts; echo x > $d/f.tsx; echo x > "$d/.hid"; done',
      );
      expect((await search('x', { glob: '*.ts' })).output).toBe(
        'f.ts:1:x\nsrc/deep/f.ts:1:x\nsrc/f.ts:1:x\n[3 matches in 3 files]',
      );
      expect((await files('src/*.{ts,tsx}')).output).toBe('src/f.ts\nsrc/f.tsx\n[2 files]');
      expect((await files('src/**/*.ts')).output).toBe('src/deep/f.ts\nsrc/f.ts\n[2 files]');
      expect((await files('.h?d', { path: 'src/deep' })).output).toBe('src/deep/.hid\n[1 file]');
      expect((await files('*.ts', { path: 'node_modules' })).output).toBe('node_modules/p/f.ts\n[1 file]');
      expect((await files('f.[!t]*')).output).toBe('[no files]');
    });

    test('a window of many results says which part it is, and continuing misses nothing', async () => {
      await bash('for i in $(seq 250); do echo "hit $i"; done > f');
      const seen: string[] = [];
      for (let offset: number | undefined = 0; offset !== undefined; ) {
        const { output, metadata } = await search('hit', { offset });
        seen.push(...output.split('\n').filter((line) => line.startsWith('f:')));
        expect(metadata.truncated).toBe(true);
        expect(output).toContain('of 250 in 1 file');
        const next: string | undefined = /continue with offset (\d+)/.exec(output)?.[1];
        offset = next === undefined ? undefined : Number(next);
      }
      expect(seen).toEqual(Array.from({ length: 250 }, (_, index) => `f:${index + 1}:hit ${index + 1}`));
      expect((await search('hit', { limit: 2 })).output).toContain('[matches 1 to 2 of 250');
      expect((await search('hit', { offset: 900 })).output).toBe(
        '[250 matches in 1 file; none from offset 900 on]',
      );
    });

    test('context surrounds the matches that are shown', async () => {
      await bash('seq 1 30 > f; seq 10 12 > g');
      expect((await search('^(10|12|20)$', { context: 1, path: 'f' })).output).toBe(
        'f-9-9\nf:10:10\nf-11-11\nf:12:12\nf-13-13\n--\nf-19-19\nf:20:20\nf-21-21\n[3 matches in 1 file]',
      );
      expect((await search('^(10|20)$', { context: 1, limit: 1, offset: 1 })).output).toBe(
        'f-19-19\nf:20:20\nf-21-21\n[matches 2 to 2 of 3 in 2 files; continue with offset 2, or narrow the search]',
      );
    });

    test('links, loops, FIFOs, devices, binary files and unreadable places do no harm', async () => {
      await bash(
        [
          'echo "root:x:0:0 here" > f; ln -s . loop; ln -s /etc etc; ln -s /etc/passwd passwd; mkfifo pipe',
          'printf "root:x:0:0\\0binary" > bin; mkdir shut; echo "root:x:0:0" > shut/f; chmod 0 shut',
          'ln -s /dev/zero zero; printf "root:x:0:0\\n" > "$(printf "new\\nline")"',
        ].join('; '),
      );
      const { success, output } = await search('root:x:0:0');
      expect(success).toBe(true);
      expect(output).toContain('f:1:root:x:0:0 here\nnew\nline:1:root:x:0:0\n');
      for (const path of ['passwd', 'etc', 'loop', 'bin:', 'binary']) expect(output).not.toContain(path);
      expect(/^\[not everything could be searched\]$/m.test(output)).toBe(!output.includes('shut/f:1'));
      await bash('chmod 700 shut');
      for (const path of ['etc', 'passwd', 'loop', 'etc/ssl', 'pipe']) {
        expect(await search('root', { path })).toMatchObject({ success: false, output: '' });
      }
      expect((await files('*')).output).toContain('zero');
    });

    test('a huge line is shown by its start', async () => {
      await bash('head -c 5000000 /dev/zero | tr "\\0" x > f; echo " end" >> f');
      const { success, output } = await search('x end$');
      expect(success).toBe(true);
      expect(output).toMatch(/^f:1:x{400}…\n\[1 match in 1 file\]$/);
    });

    test('two thousand files are searched, and the total is honest', async () => {
      await bash('mkdir many; cd many; for i in $(seq 2000); do echo "needle $i" > "f$i"; done');
      expect((await search('needle \\d+')).output).toContain('[matches 1 to 100 of 2000 in 2000 files;');
      expect((await files('f1*', { limit: 3 })).output).toBe(
        'many/f1\nmany/f10\nmany/f100\n[files 1 to 3 of 1111; continue with offset 3, or narrow the search]',
      );
    });

    test('more results than are counted are reported as at least that many', async () => {
      await bash('yes "found $(printf %01000d 0)" | head -n 20000 > f');
      const { success, output, metadata } = await search('found', { limit: 5 });
      expect(success).toBe(true);
      expect(output).toMatch(/\[matches 1 to 5 of at least \d{5} in 1 file; /);
      expect(metadata.truncated).toBe(true);
    });

    test('a pattern made to be slow ends in time', async () => {
      await bash('for i in $(seq 100); do echo "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"; done > f');
      for (const pattern of ['(a+)+$', '(a|aa)+$', '(?:a+){30}c', '^(a?){40}a{40}$']) {
        const { metadata } = await search(pattern);
        expect(metadata.duration_s).toBeLessThan(35);
      }
    });

    test.each([
      [{}, 'pattern'],
      [{ pattern: '' }, 'pattern'],
      [{ pattern: 'a\nb' }, 'one line'],
      [{ pattern: 'a', target: 'names' }, 'names'],
      [{ pattern: 'a', limit: 0 }, 'limit'],
      [{ pattern: 'a', offset: -1 }, 'offset'],
      [{ pattern: 'a', context: 100 }, 'context'],
      [{ pattern: '*.ts', target: 'files', glob: '*' }, 'glob'],
      [{ pattern: 'a', regex: true }, 'regex'],
      [{ pattern: 'a(' }, 'not a valid regular expression'],
      [{ pattern: 'a', path: '../x' }, 'outside the workspace'],
      [{ pattern: 'a', path: '/etc' }, 'outside the workspace'],
    ])('%j is an invalid request that names %s', async (args, named) => {
      const result = await call('search_files', args);
      expect(result).toMatchObject({ success: false, metadata: { failure: 'invalid_request' } });
      expect(result.error).toContain(named);
    });

    test('nothing in a pattern, glob or path is executed', async () => {
      const hostile = `'; touch ran; echo '$(touch ran)\`touch ran\``;
      await bash(`mkdir d; echo x > d/f`);
      await search(hostile);
      await search('x', { glob: hostile });
      await files(hostile);
      await search('x', { path: hostile });
      await call('write_file', { path: `${hostile}/f`, content: 'x\n' });
      expect((await search('x', { path: hostile })).output).toContain('[1 match');
      expect((await bash('find . -name ran')).output).toBe('');
    });
  });
}
