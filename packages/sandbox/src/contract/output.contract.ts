/** The contract of output that is long or not UTF-8, and of the files with whole outputs. */
import { randomUUID } from 'node:crypto';
import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ContractTools } from '../testing/contract-tools.ts';
import { unpackArchive } from '../testing/unpack-archive.ts';

export function describeOutput({
  call,
  bash,
  when,
  sameEverywhere,
  backend,
  slot,
  trajectory,
  acquireAgain,
  restart,
}: ContractTools): void {
  const printMuch = async () => (await bash('seq 1 20000')).metadata.full_output_path as string;
  const size = async (path: string) => (await bash(`wc -c < '${path}'`)).output;

  describe('output', when('output'), () => {
    test('an output over the limit comes as head, tail and size, with the whole in a file', async () => {
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

    test('a whole output is found by every tool that reads, and by the holder of the slot, at the path of the answer', async () => {
      const path = await printMuch();
      expect((await bash(`tail -n 1 '${path}'`)).output).toBe('20000\n');
      expect((await call('read_file', { path, offset: 12_345, limit: 1 })).output).toMatch(/^12345\n/);
      for (const within of [path, posix.dirname(path)]) {
        const found = await call('search_files', { pattern: '^12345$', path: within });
        expect(found.output).toMatch(new RegExp(`^${path}:12345:12345\n`));
      }
      const named = await call('search_files', {
        target: 'files',
        pattern: '*.log',
        path: posix.dirname(path),
      });
      expect(named.output).toBe(`${path}\n[1 file]`);
      const artifact = await backend().readArtifact(slot(), path, { includeSha256: true });
      const whole = Array.from({ length: 20_000 }, (_, index) => `${index + 1}\n`).join('');
      expect(artifact).toMatchObject({ path, content: whole, size: whole.length, truncated: false });
    });

    test('a whole output that is binary is named by its path, which a command can be given', async () => {
      const { metadata } = await bash('head -c 200000 /dev/zero');
      const path = metadata.full_output_path as string;
      const { error } = await call('read_file', { path });
      expect(error).toMatch(new RegExp(`^${path} is a binary file of 200000 bytes`));
    });

    test('whole outputs and logs are no files of the workspace', async () => {
      expect((await bash('echo mine > own; mkdir .talaria; echo mine > .talaria/own')).success).toBe(true);
      const { workspaces } = backend();
      const before = await workspaces.capture(trajectory());
      const path = await printMuch();
      const started = await call('bash', { command: 'echo said', background: true });
      await call('process', { action: 'wait', id: started.metadata.process?.id as string });
      expect(path.startsWith(`${slot().workspaceDir}/`)).toBe(false);

      const own = ['.talaria', '.talaria/own', 'own'];
      expect((await bash('find . -mindepth 1 | sort')).output).toBe(
        own.map((name) => `./${name}\n`).join(''),
      );
      const { entries } = await backend().listArtifacts(slot(), '.', { recursive: true });
      expect(entries.map((entry) => entry.path).sort()).toEqual(own);
      const { content } = await backend().archiveArtifacts(slot(), '.', { archiveFormat: 'tar' });
      expect((await unpackArchive('tar', content)).names.sort()).toEqual(own);
      const since = await workspaces.capture(trajectory(), { since: before?.captureId });
      expect(since).toMatchObject({ isWhole: false, changed: [], removed: [] });
      const whole = await workspaces.capture(trajectory());
      expect(whole?.changed.map((entry) => entry.path).sort()).toEqual(own);

      const copy = `copy ${randomUUID()}`;
      try {
        const snapshot = await workspaces.snapshot(trajectory());
        expect(await workspaces.restore(copy, snapshot!)).toMatchObject({ entries: own.length, omitted: 0 });
        const reader = await workspaces.open(copy);
        expect(
          (await reader!.list('.', { recursive: true })).entries.map((entry) => entry.path).sort(),
        ).toEqual(own);
        await expect(reader!.open(path)).rejects.toThrow();
      } finally {
        await workspaces.discard(copy);
      }
    });

    test('a whole output stays with its workspace, and is deleted with it', async () => {
      const path = await printMuch();
      await acquireAgain();
      expect(await size(path)).toBe('108894\n');
      await restart();
      expect(await size(path)).toBe('108894\n');
      const reader = await backend().workspaces.open(trajectory());
      await using file = await reader!.open(path);
      expect(file.size).toBe(108_894);
      await acquireAgain({ resetWorkspace: true });
      expect(await bash(`cat '${path}'`)).toMatchObject({
        success: false,
        output: expect.stringMatching(/No such file/),
      });
      const read = await call('read_file', { path });
      expect(read).toMatchObject({ success: false, output: '' });
      expect(read.error).toMatch(/does not exist\. .*run the command again/);
    });

    test('only its own slot reaches a whole output, and no path leads out from beside it', async () => {
      const path = await printMuch();
      const { workspaceDir } = slot();
      const directory = posix.dirname(path);
      await bash(
        `echo mine > own; echo beside > "$TMPDIR/beside"; ln -s "$TMPDIR/beside" '${directory}/link'`,
      );
      const ways = [
        `${directory}/../beside`,
        `${directory}/../../workspace/own`,
        `${directory}/..`,
        `${posix.dirname(directory)}/beside`,
        `${directory}-other/x`,
        `${workspaceDir}/../${path}`,
        posix.relative(workspaceDir, path),
      ];
      for (const way of ways) {
        for (const [tool, args] of [
          ['read_file', {}],
          ['search_files', { pattern: '.' }],
        ] as const) {
          const result = await call(tool, { path: way, ...args });
          expect(result, `${tool} ${way}`).toMatchObject({
            success: false,
            output: '',
            metadata: { failure: 'invalid_request' },
          });
        }
        await expect(backend().readArtifact(slot(), way), way).rejects.toMatchObject({
          code: 'invalid_path',
        });
      }
      expect(await call('read_file', { path: `${directory}/link` })).toMatchObject({
        success: false,
        output: '',
      });
      await expect(backend().readArtifact(slot(), `${directory}/link`)).rejects.toMatchObject({
        code: 'invalid_path',
      });
      for (const [tool, args] of [
        ['write_file', { content: 'x' }],
        ['patch', { old_string: '12345', new_string: 'x' }],
        ['bash', { command: 'echo ran' }],
      ] as const) {
        const result = await call(tool, { ...args, [tool === 'bash' ? 'workdir' : 'path']: path });
        expect(result, tool).toMatchObject({
          success: false,
          output: '',
          metadata: { failure: 'invalid_request' },
        });
      }
      expect(await size(path)).toBe('108894\n');
      const other = await backend().acquire();
      try {
        const read = await call('read_file', { path }, {}, other);
        expect(read).toMatchObject({ success: false, output: '' });
        await expect(backend().readArtifact(other, path)).rejects.toThrow();
        if (backend().stats().isolation.kind !== 'none') {
          expect(await call('bash', { command: `cat '${path}'` }, {}, other)).toMatchObject({
            success: false,
          });
        }
      } finally {
        await backend().release(other);
      }
    });

    test('a character is never cut in half', sameEverywhere, async () => {
      for (const padding of ['', 'x', 'xx']) {
        const result = await bash(`printf '${padding}'; yes '日本🙂' | head -n 20000 | tr -d '\\n'`);
        expect(result.metadata.truncated).toBe(true);
        expect(result.output).not.toContain('\ufffd');
      }
    });

    test('bytes that are not UTF-8 are replaced', async () => {
      expect((await bash(`printf 'a\\377b'`)).output).toBe('a\ufffdb');
    });
  });
}
