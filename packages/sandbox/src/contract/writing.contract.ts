/** The part of the contract suite about writing files into a workspace from outside (writing.ts). */
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ContractTools } from '../testing/contract-tools.ts';
import type { WorkspaceWriter, WriteOptions } from '../writing.ts';

export function describeWriting({
  backend,
  slot,
  trajectory,
  bash,
  when,
  sameEverywhere,
  race,
  acquire,
}: ContractTools): void {
  const run = async (command: string): Promise<string> => {
    const result = await bash(command);
    expect(result, result.output + result.error).toMatchObject({ success: true });
    return result.output;
  };
  const writer = async (id = trajectory()): Promise<WorkspaceWriter> => {
    const opened = await backend().workspaces.openWriter(id);
    expect(opened).toBeDefined();
    return opened!;
  };
  const write = async (path: string, content: string | Buffer, options: WriteOptions = {}) =>
    (await writer()).write(path, pieces(Buffer.from(content)), options);
  const remove = async (path: string, options = {}) => (await writer()).remove(path, options);
  const read = (path: string) => backend().readArtifact(slot(), path);

  describe('writing', when('writing'), () => {
    test('a file, with the directories above it, that commands own and can change', async () => {
      const before = Date.now() / 1000;
      const written = await write('a/b/file', 'one');
      expect(written).toMatchObject({ path: 'a/b/file', size: 3, sha256: sha256('one'), isNew: true });
      expect(written.modifiedAt).toBeGreaterThan(before - 60);
      expect(await run('cat a/b/file; echo two >> a/b/file; touch a/b/more a/more; ls a a/b')).toBe(
        'onea:\nb\nmore\n\na/b:\nfile\nmore\n',
      );
      expect(await run('[ "$(stat -c %u a/b/file)" = "$(id -u)" ] && stat -c %a a/b/file a')).toBe(
        '644\n755\n',
      );
    });

    test('replaces a file in one step and keeps its permissions', async () => {
      await run('printf old > file; chmod 750 file; exec 9< file; ln file other');
      expect(await write('file', 'new')).toMatchObject({ isNew: false });
      expect(await run('stat -c %a file; cat file other')).toBe('750\nnewold');
    });

    test('bytes of every kind and length, at paths of every kind', async () => {
      const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 7 + (i >> 8)) % 256));
      for (const path of [
        `${slot().workspaceDir}/absolute`,
        './d/../d//dots',
        'new\nline',
        '日本',
        '-dash',
      ]) {
        const { sha256: digest } = await write(path, bytes);
        expect(digest).toBe(sha256(bytes));
        expect(await backend().readArtifact(slot(), path, { includeSha256: true })).toMatchObject({
          size: bytes.length,
          sha256: digest,
        });
      }
      expect(await write('empty', '')).toMatchObject({ size: 0, sha256: sha256('') });
      expect(await read('empty')).toMatchObject({ content: '', size: 0 });
    });

    test('conditions hold or nothing is changed', sameEverywhere, async () => {
      const failed = { code: 'precondition_failed' };
      await write('file', 'one', { ifNoneMatch: '*' });
      await expect(write('file', 'two', { ifNoneMatch: '*' })).rejects.toMatchObject(failed);
      await expect(write('file', 'two', { ifMatch: [sha256('other')] })).rejects.toMatchObject(failed);
      await expect(write('missing', 'two', { ifMatch: '*' })).rejects.toMatchObject(failed);
      await expect(write('no/such/file', 'two', { ifMatch: [sha256('')] })).rejects.toMatchObject(failed);
      await expect(write('file', 'two', { ifNoneMatch: [sha256('one')] })).rejects.toMatchObject(failed);
      await expect(remove('file', { ifMatch: [sha256('other')] })).rejects.toMatchObject(failed);
      expect(await run('ls -A; cat file')).toBe('file\none');

      await write('file', 'two', { ifMatch: [sha256('other'), sha256('one')] });
      await write('file', 'three', { ifMatch: '*' });
      await write('file', 'four', { ifNoneMatch: [sha256('one')] });
      expect((await read('file')).content).toBe('four');
      await remove('file', { ifMatch: [sha256('four')] });
      await run('[ ! -e file ]');
    });

    test('one of many writers that require an absent file succeeds', async () => {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 10 }, (_, i) => write('lock', `writer ${i}`, { ifNoneMatch: '*' })),
      );
      const won = outcomes.flatMap(({ status }, i) => (status === 'fulfilled' ? [i] : []));
      expect(won).toHaveLength(1);
      expect((await read('lock')).content).toBe(`writer ${won[0]}`);
    });

    test('removes files, links and directories, and nothing else', async () => {
      await run(
        'mkdir -p full/below empty; echo x > full/below/x; ln -s /etc/passwd link; ln -s full through',
      );
      await remove('link');
      await remove('empty');
      await expect(remove('full')).rejects.toMatchObject({ code: 'invalid_path' });
      await expect(remove('through/below', { recursive: true })).rejects.toMatchObject({
        code: 'invalid_path',
      });
      await expect(remove('missing')).rejects.toMatchObject({ code: 'artifact_not_found' });
      await run('chmod 500 full');
      await remove('full', { recursive: true });
      expect(await run('ls -A')).toBe('through\n');
      expect(existsSync('/etc/passwd')).toBe(true);
    });

    test('no path leads out of the workspace', sameEverywhere, async () => {
      const outside = mkdtempSync(join(tmpdir(), 'talaria-outside-'));
      try {
        writeFileSync(join(outside, 'kept'), 'kept');
        await run(`ln -s ${outside} out; ln -s ${outside}/kept file; ln -s .. up; mkfifo pipe; mkdir dir`);
        const invalid = { code: 'invalid_path' };
        for (const path of ['out/new', 'out/kept', 'file', 'up/x', '../x', 'a/../../x', '/etc/x', 'pipe']) {
          await expect(write(path, 'bad'), path).rejects.toMatchObject(invalid);
        }
        for (const path of ['.', 'dir', '', 'a\0b', 'x\ud800']) {
          await expect(write(path, 'bad'), path).rejects.toMatchObject(invalid);
        }
        for (const path of ['out/kept', '../x', '.', '/etc/passwd']) {
          await expect(remove(path, { recursive: true }), path).rejects.toMatchObject(invalid);
        }
        expect(readdirSync(outside)).toEqual(['kept']);
      } finally {
        rmSync(outside, { recursive: true });
      }
    });

    test('content that fails, is too long or is aborted leaves nothing', async () => {
      await run('echo old > file');
      async function* broken() {
        yield Buffer.from('begun');
        throw new Error('the source is gone');
      }
      await expect((await writer()).write('file', broken())).rejects.toThrow('the source is gone');
      await expect(write('file', 'four', { maxBytes: 3 })).rejects.toMatchObject({
        code: 'artifact_too_large',
      });
      const signal = AbortSignal.abort(new Error('gave up'));
      await expect(write('file', 'new', { signal })).rejects.toThrow('gave up');
      expect(await run('cat file; ls -A')).toBe('old\nfile\n');
    });

    test('a file is not in the workspace before it is whole', async () => {
      const { promise: rest, resolve: release } = Promise.withResolvers<void>();
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
      async function* slow() {
        yield Buffer.from('first half, ');
        begin();
        await rest;
        yield Buffer.from('second half');
      }
      const writing = (await writer()).write('slow', slow());
      await begun;
      expect(await run('ls -A; true')).toBe('');
      release();
      await writing;
      expect((await read('slow')).content).toBe('first half, second half');
    });

    test('without a slot, and for the next slot; a workspace is created only on request', async () => {
      await write('held', 'held');
      await backend().release(slot());
      await write('kept', 'kept');
      await remove('held');
      await acquire();
      expect(await run('cat kept; [ ! -e held ]; echo more > kept')).toBe('kept');

      const fresh = `${trajectory()} fresh`;
      expect(await backend().workspaces.openWriter(fresh)).toBeUndefined();
      const created = await backend().workspaces.openWriter(fresh, { create: true });
      await created!.write('d/file', pieces(Buffer.from('fresh')));
      const other = await backend().acquire(fresh);
      try {
        const [result] = await backend().executeBatch([
          [other, 'bash', { command: 'cat d/file; touch d/x' }],
        ]);
        expect(result).toMatchObject({ success: true, output: 'fresh' });
      } finally {
        await backend().release(other, { resetWorkspace: true });
      }
    });

    test('merges a snapshot: directories are kept, files and links replaced', async () => {
      const source = `${trajectory()} source`;
      const from = await backend().acquire(source);
      const [made] = await backend().executeBatch([
        [
          from,
          'bash',
          {
            command:
              'mkdir -p both/deep new/deep locked; echo theirs > both/file; echo theirs > both/deep/file;' +
              'echo theirs > new/deep/file; chmod 755 new/deep/file; ln -s both link; echo x > "$(printf "bad\\377")";' +
              'touch locked/x; chmod 500 locked',
          },
        ],
      ]);
      expect(made).toMatchObject({ success: true });
      const snapshot = await collect((await backend().workspaces.snapshot(source))!);
      await backend().release(from, { resetWorkspace: true });

      await run('mkdir -p both/deep; echo mine > both/file; echo mine > both/mine; echo mine > link');
      expect(await (await writer()).merge(pieces(snapshot))).toMatchObject({ omitted: 0 });
      expect(await run('cat both/file both/mine both/deep/file; readlink link; ls new/deep locked')).toBe(
        'theirs\nmine\ntheirs\nboth\nlocked:\nx\n\nnew/deep:\nfile\n',
      );
      expect(
        await run('cat "$(printf "bad\\377")"; stat -c %a locked new/deep/file; echo more >> both/file'),
      ).toBe('x\n500\n755\n');
      await run('rm -rf both; echo file > both');
      await expect((await writer()).merge(pieces(snapshot))).rejects.toMatchObject({ code: 'invalid_path' });
      await run('chmod 700 locked');
      await expect((await writer()).merge(pieces(snapshot.subarray(0, -5)))).rejects.toMatchObject({
        code: 'snapshot_damaged',
      });
    });

    race('a directory that becomes a link while files are written leads nowhere', async (racing) => {
      if (backend().stats().isolation.kind === 'none') return;
      const outside = mkdtempSync(join(tmpdir(), 'talaria-outside-'));
      try {
        racing.against(
          `while :; do mkdir turning; rm -rf turning; ln -s ${outside} turning; rm turning; done`,
        );
        let written = 0;
        while (racing.lasts(() => written > 0)) {
          await write('turning/file', 'x').then(
            () => written++,
            () => {},
          );
          await remove('turning', { recursive: true }).catch(() => {});
        }
        await racing.end();
        expect(written).toBeGreaterThan(0);
        expect(readdirSync(outside)).toEqual([]);
      } finally {
        rmSync(outside, { recursive: true });
      }
    });
  });
}

function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

async function collect(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function* pieces(bytes: Buffer): AsyncGenerator<Buffer, void> {
  for (let at = 0; at < bytes.length; at += 70_001) yield bytes.subarray(at, at + 70_001);
}
