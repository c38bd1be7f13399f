/** The contract of read_file and write_file. */
import { describe, expect, test } from 'vitest';
import type { ContractTools } from '../testing/contract-tools.ts';

export function describeFiles({ call, bash, when, slot, sameEverywhere }: ContractTools): void {
  describe('files', when('files'), () => {
    test('a written file is read, by the tools and by commands', async () => {
      const content = 'first\nsecond ünï\n\nlast without end';
      const written = await call('write_file', { path: 'a/b/c.txt', content });
      expect(written).toMatchObject({ success: true, error: '' });
      expect(await call('read_file', { path: 'a/b/c.txt' })).toMatchObject({
        success: true,
        output: content,
      });
      const absolute = `${slot().workspaceDir}/a/../a/./b/c.txt`;
      expect(await call('read_file', { path: absolute })).toMatchObject({ success: true, output: content });
      expect((await bash('cat a/b/c.txt')).output).toBe(content);
    });

    test('a command can change and delete what write_file wrote', async () => {
      await call('write_file', { path: 'd/file', content: 'one\n' });
      expect((await bash('echo two >> d/file && cat d/file && rm -r d')).output).toBe('one\ntwo\n');
    });

    test('overwriting replaces the content and keeps the mode', sameEverywhere, async () => {
      await bash('echo old and longer > run.sh; chmod 750 run.sh');
      await call('write_file', { path: 'run.sh', content: 'echo new\n' });
      expect((await bash('cat run.sh; stat -c %a run.sh; ls -A')).output).toBe('echo new\n750\nrun.sh\n');
    });

    test('a part of a file says which part it is and how much there is', sameEverywhere, async () => {
      await bash('seq 1 100 > numbers');
      const result = await call('read_file', { path: 'numbers', offset: 10, limit: 3 });
      expect(result.success).toBe(true);
      expect(result.output.split('\n').slice(0, 3)).toEqual(['10', '11', '12']);
      expect(result.output).toContain('lines 10 to 12 of 100');
      expect(result.output).toContain('offset 13');
      expect(result.metadata).toMatchObject({ truncated: true, total_bytes: 292 });
    });

    test('a file over the limit is read to its end piece by piece', sameEverywhere, async () => {
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

    test('a binary file is reported as such, and not shown', sameEverywhere, async () => {
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
}
