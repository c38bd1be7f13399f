/** The part of the contract suite about reading files out of a workspace (artifacts.ts). */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ContractTools } from '../testing/contract-tools.ts';
import { FORMATS, unpackArchive } from '../testing/unpack-archive.ts';
import { bytesOf, callsOf, describeWorkspaceReader, type ReadFiles } from './workspace-reader.contract.ts';

/** Text that only a file of the host contains. */
const HOST_FILE = '/etc/passwd';
const HOST_TEXT = 'root:';
const MEGABYTE = 1_000_000;

/** `large`: whether to test large files, many files and deep trees. */
export function describeArtifacts(
  { backend, slot, trajectory, bash, race, sameEverywhere, when }: ContractTools,
  { large }: { large: boolean },
): void {
  const run = async (command: string): Promise<void> => {
    const result = await bash(command);
    expect(result, result.output + result.error).toMatchObject({ success: true });
  };
  const reader = async () => {
    const found = await backend().workspaces.open(trajectory());
    expect(found).toBeDefined();
    return found!;
  };
  const list = (path?: string, options = {}) => backend().listArtifacts(slot(), path, options);
  const read = (path: string, options = {}) => backend().readArtifact(slot(), path, options);
  const archive = (path?: string, options = {}) => backend().archiveArtifacts(slot(), path, options);
  const files: ReadFiles = {
    run,
    sameEverywhere,
    reader,
    workspaceDir: () => slot().workspaceDir,
    hasSpecialFiles: true,
    read: async (path) => (await read(path)).content,
    list,
    archive: async (path, { format, ...options } = {}) =>
      (await archive(path, { ...options, archiveFormat: format })).content,
  };
  const calls = callsOf(files);

  describe('artifacts', when('artifacts'), () => {
    describeWorkspaceReader(files);

    test.each(FORMATS)('%s says how many files and directories it holds', async (archiveFormat) => {
      const many = `for i in $(seq 200); do echo $i > ${'n'.repeat(120)}$i; done; head -c 300001 /dev/urandom > large`;
      await run(`mkdir -p tree/a/b tree/empty; cd tree; ${many}; ln -s large link; : > a/b/none`);
      expect(await archive('tree', { archiveFormat })).toMatchObject({ archiveFormat, entryCount: 205 });
      expect(await archive('tree/empty', { archiveFormat })).toMatchObject({ entryCount: 0 });
      expect(await archive('tree/large', { archiveFormat })).toMatchObject({ entryCount: 1 });
    });

    describe('reading', () => {
      test('text, with its size and digest', async () => {
        await run('mkdir -p a/b; printf "h\\303\\251llo\\n" > a/b/file');
        expect(await read('a/b/file', { includeSha256: true })).toEqual({
          path: 'a/b/file',
          encoding: 'text',
          content: 'héllo\n',
          size: 7,
          truncated: false,
          sha256: sha256(Buffer.from('héllo\n')),
        });
      });

      test('bytes as base64', sameEverywhere, async () => {
        await run('printf "\\000\\377\\376\\012" > binary');
        const { content, size } = await read('binary', { encoding: 'base64' });
        expect(Buffer.from(content, 'base64')).toEqual(Buffer.from([0, 0xff, 0xfe, 0x0a]));
        expect(size).toBe(4);
      });

      test(
        'a file over the limit is cut before a character it would halve, and keeps its size and digest',
        sameEverywhere,
        async () => {
          await run('printf "ab\\303\\251cd" > file');
          const whole = sha256(Buffer.from('abécd'));
          expect(await read('file', { maxBytes: 3, includeSha256: true })).toMatchObject({
            content: 'ab',
            size: 6,
            truncated: true,
            sha256: whole,
          });
          const bytes = await read('file', { maxBytes: 3, encoding: 'base64' });
          expect(Buffer.from(bytes.content, 'base64')).toEqual(Buffer.from([0x61, 0x62, 0xc3]));
          expect(await read('file', { maxBytes: 0 })).toMatchObject({ content: '', truncated: true });
        },
      );

      test('a digest follows the content, also at once and at the same size', async () => {
        for (const content of ['one', 'two', 'six']) {
          await run(`printf ${content} > file`);
          const file = await (await reader()).open('file');
          expect(await file.sha256()).toBe(sha256(Buffer.from(content)));
          await file[Symbol.asyncDispose]();
        }
      });

      test('a file that grows keeps its length, one that shrinks fails, one that changes fails its digest', async () => {
        await run('head -c 1000000 /dev/zero > file');
        const open = async () => (await reader()).open('file');
        const grows = await open();
        const digest = await grows.sha256();
        await run('echo more >> file');
        expect(await bytesOf(grows.stream(undefined, { sha256: digest }))).toHaveLength(MEGABYTE);

        const changes = await open();
        const before = await changes.sha256();
        await run('printf X | dd of=file conv=notrunc status=none');
        await expect(bytesOf(changes.stream(undefined, { sha256: before }))).rejects.toMatchObject({
          code: 'artifact_changed',
        });

        const shrinks = await open();
        await run('truncate -s 10 file');
        await expect(bytesOf(shrinks.stream())).rejects.toMatchObject({ code: 'artifact_changed' });
      });
    });

    describe('archiving', () => {
      const fails =
        'a file that shrinks while it is archived, or a workspace that is deleted, fails the stream';
      test(fails, sameEverywhere, async () => {
        await run('truncate -s 50M file');
        const stream = await (await reader()).archive('.', { format: 'tar' });
        const chunks = stream[Symbol.asyncIterator]();
        await chunks.next();
        await run('truncate -s 100 file');
        await expect(rest(chunks)).rejects.toMatchObject({ code: 'artifact_changed' });

        await run('truncate -s 50M file');
        const second = (await (await reader()).archive('.', { format: 'tar' }))[Symbol.asyncIterator]();
        await second.next();
        await backend().release(slot(), { resetWorkspace: true });
        await expect(rest(second)).rejects.toMatchObject({ code: 'artifact_changed' });
      });
    });

    if (large)
      describe('large and many', { tags: ['soak'] }, () => {
        test('a tree that is too deep is listed as far as possible, and says so', async () => {
          await run('for i in $(seq 150); do mkdir d && cd d; done; touch bottom');
          const listing = await list('.', { recursive: true });
          expect(listing.truncated).toBe(true);
          expect(listing.entries.length).toBeGreaterThan(50);
          await expect(archive('.', { archiveFormat: 'tar' })).rejects.toMatchObject({
            code: 'artifact_too_large',
          });
        });

        test.each(FORMATS)('%s of many files', async (archiveFormat) => {
          await run(
            'mkdir many; cd many; for i in $(seq 10); do mkdir $i; for j in $(seq 50); do echo $i-$j > $i/$j; done; done',
          );
          const { content } = await archive('many', { archiveFormat });
          const { names } = await unpackArchive(archiveFormat, content, (directory) => {
            for (const i of [1, 7, 10]) {
              for (const j of [1, 50])
                expect(readFileSync(join(directory, `${i}/${j}`), 'utf8')).toBe(`${i}-${j}\n`);
            }
          });
          expect(names).toHaveLength(10 * 51);
        });

        test.each(FORMATS)('%s of a file much larger than the memory it takes', async (format) => {
          const size = 250 * MEGABYTE;
          await run(`truncate -s ${size} huge`);
          const stream = await (await reader()).archive('huge', { format });
          const before = process.memoryUsage.rss();
          let highest = before;
          let total = 0;
          for await (const chunk of stream) {
            total += chunk.length;
            highest = Math.max(highest, process.memoryUsage.rss());
          }
          if (format === 'tar') expect(total).toBe(512 + Math.ceil(size / 512) * 512 + 1024);
          else expect(total).toBeLessThan(5 * MEGABYTE);
          expect(highest - before).toBeLessThan(120 * MEGABYTE);
        });

        test('waits for a slow reader, and releases everything when a reader leaves', async () => {
          await run('mkdir t; truncate -s 300M t/huge; cd t; touch $(seq 100)');
          const before = openDescriptors();
          for (const format of FORMATS) {
            for (const chunks of [0, 1, 3]) {
              const stream = await (await reader()).archive('t', { format });
              let seen = 0;
              if (chunks === 0) stream.destroy();
              else for await (const _ of stream) if (++seen === chunks) break;
              expect(stream.destroyed).toBe(true);
            }
          }
          await expect.poll(openDescriptors).toBeLessThanOrEqual(before);
        });
      });

    describe('paths', () => {
      test.each([
        // Only root without isolation can create a device.
        ['device', 'mknod device c 1 5'],
        ['socket', `python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'`],
      ])('a %s is refused by every call, where one can be made', async (type, command) => {
        if (!(await bash(command)).success) return;
        for (const [name, call] of calls) {
          await expect(call(type), name).rejects.toMatchObject({ code: 'invalid_path' });
        }
        expect((await list()).entries).toContainEqual(expect.objectContaining({ path: type, type }));
      });

      const swaps: [string, string, string][] = [
        [
          'a file and a link to one of the host',
          'target/passwd',
          `mkdir -p target; while :; do echo mine > new; mv -T new target/passwd; ln -s ${HOST_FILE} l; mv -T l target/passwd; done`,
        ],
        [
          'a directory and a link to one of the host',
          'target/passwd',
          'mkdir real; echo mine > real/passwd; while :; do mv -T real target; mv -T target real; ln -s /etc target; rm target; done',
        ],
      ];
      for (const [files, path, command] of swaps)
        race(`${files} that take turns reveal nothing of the host`, async (racing) => {
          racing.against(command);
          let seen = 0;
          while (racing.lasts(() => seen > 0)) {
            for (const [name, call] of calls) {
              for (const at of name === 'open' || name === 'read' ? [path] : [path, 'target', '.']) {
                const given = await call(at).catch((error) => {
                  expect(['invalid_path', 'artifact_not_found', 'artifact_changed']).toContain(error.code);
                  return '';
                });
                expect(given, name).not.toContain(HOST_TEXT);
                if (given.includes('mine')) seen++;
              }
            }
          }
          expect(seen).toBeGreaterThan(0);
        });
    });

    describe('access', () => {
      test('a workspace is open by its trajectory while a slot holds it, after its release and after a restart', async () => {
        await run('echo kept > file');
        const content = async () => {
          const file = await (await reader()).open('file');
          return (await bytesOf(file.stream())).toString();
        };
        expect(await content()).toBe('kept\n');
        await backend().release(slot());
        expect(await content()).toBe('kept\n');
        const other = await backend().acquire('another');
        expect(await content()).toBe('kept\n');
        await backend().release(other, { resetWorkspace: true });
        await backend().stop();
        await backend().start();
        expect(await content()).toBe('kept\n');
        await backend().workspaces.discard(trajectory());
        expect(await backend().workspaces.open(trajectory())).toBeUndefined();
      });

      test('a trajectory that never acquired a slot has no workspace', async () => {
        expect(await backend().workspaces.open('never seen')).toBeUndefined();
      });

      test('a reader outlives its workspace and then finds nothing', async () => {
        await run('echo x > file');
        const kept = await reader();
        await backend().release(slot(), { resetWorkspace: true });
        await expect(kept.list('')).rejects.toMatchObject({ code: 'artifact_not_found' });
        await expect(kept.open('file')).rejects.toMatchObject({ code: 'artifact_not_found' });
      });

      test('a released slot can read nothing', async () => {
        await run('echo x > file');
        await backend().release(slot());
        for (const call of [() => read('file'), () => list(), () => archive()]) {
          await expect(call()).rejects.toMatchObject({ code: 'slot_gone' });
        }
      });

      test('a stopped backend rejects calls with `backend_down`', sameEverywhere, async () => {
        await backend().stop();
        await expect(list()).rejects.toMatchObject({ code: 'backend_down' });
      });

      test('a call that takes too long fails in time', async () => {
        await run('truncate -s 20G huge');
        const options = { timeoutS: 0.1, maxBytes: 1 };
        await expect(read('huge', { ...options, includeSha256: true })).rejects.toMatchObject({
          code: 'artifact_timeout',
        });
        await expect(
          archive('.', { archiveFormat: 'zip', timeoutS: 0.1, maxBytes: 1e12 }),
        ).rejects.toMatchObject({ code: 'artifact_timeout' });
      });

      test('a timeout may be a fraction of a millisecond', sameEverywhere, async () => {
        await run('echo x > file');
        expect((await list('.', { timeoutS: 60.00005 })).entries).toHaveLength(1);
      });

      test.each([
        ['a size below 0', () => read('file', { maxBytes: -1 })],
        ['an invalid size', () => read('file', { maxBytes: Number.NaN })],
        ['an invalid count', () => list('.', { maxEntries: 1.5 })],
        ['an unknown encoding', () => read('file', { encoding: 'utf16' })],
        ['an unknown format', () => archive('.', { archiveFormat: 'rar' })],
        ['no time at all', () => list('.', { timeoutS: 0 })],
      ])('%s is an invalid request', sameEverywhere, async (_, call) => {
        await run('echo x > file');
        await expect(call()).rejects.toMatchObject({ code: 'invalid_request' });
      });
    });
  });
}

async function rest(chunks: AsyncIterator<unknown>): Promise<void> {
  while (!(await chunks.next()).done);
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length;
}
