/** The part of the contract suite about reading files out of a workspace (artifacts.ts). */
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { ARCHIVE_FORMATS, type ArchiveFormat } from '../artifacts.ts';
import type { ContractTools } from '../testing/contract-tools.ts';

/** What only the host has in a file. */
const HOST_FILE = '/etc/passwd';
const HOST_TEXT = 'root:';
const MEGABYTE = 1_000_000;
/** Archives are checked with the usual programs; a zip only if there is one for it. */
const FORMATS = ARCHIVE_FORMATS.filter(
  (format) => format !== 'zip' || spawnSync('unzip', ['-v']).status === 0,
);

/** `large`: whether to test large files, many files and deep trees. */
export function describeArtifacts(
  { backend, slot, trajectory, bash }: ContractTools,
  { large }: { large: boolean },
): void {
  const run = async (command: string): Promise<void> => {
    const result = await bash(command);
    expect(result, result.output + result.error).toMatchObject({ success: true });
  };
  const reader = async () => {
    const found = await backend().openWorkspace(trajectory());
    expect(found).toBeDefined();
    return found!;
  };
  const list = (path?: string, options = {}) => backend().listArtifacts(slot(), path, options);
  const read = (path: string, options = {}) => backend().readArtifact(slot(), path, options);
  const archive = (path?: string, options = {}) => backend().archiveArtifacts(slot(), path, options);
  const paths = async (path?: string, options = {}) =>
    (await list(path, options)).entries.map((entry) => entry.path);

  /** Every call that takes a path, as a promise of everything it would reveal. */
  const calls: [string, (path: string) => Promise<string>][] = [
    ['readArtifact', async (path) => (await read(path)).content],
    ['listArtifacts', async (path) => JSON.stringify((await list(path, { recursive: true })).entries)],
    ...FORMATS.map((archiveFormat): [string, (path: string) => Promise<string>] => [
      `archiveArtifacts ${archiveFormat}`,
      async (path) => (await unpack(archiveFormat, (await archive(path, { archiveFormat })).content)).all,
    ]),
    [
      'open',
      async (path) => {
        const file = await (await reader()).open(path);
        return (await bytesOf(file.stream())).toString();
      },
    ],
  ];

  describe('artifacts', () => {
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

      test('bytes as base64', async () => {
        await run('printf "\\000\\377\\376\\012" > binary');
        const { content, size } = await read('binary', { encoding: 'base64' });
        expect(Buffer.from(content, 'base64')).toEqual(Buffer.from([0, 0xff, 0xfe, 0x0a]));
        expect(size).toBe(4);
      });

      test('a path as commands see it, with dots in it, and an empty file', async () => {
        await run('mkdir -p d; : > d/empty');
        for (const path of [`${slot().workspaceDir}/d/empty`, './d/../d//empty']) {
          expect(await read(path)).toMatchObject({ path: 'd/empty', content: '', size: 0 });
        }
      });

      test('a file over the limit is cut before a character it would halve, and keeps its size and digest', async () => {
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
      });

      test('a digest follows the content, also at once and at the same size', async () => {
        for (const content of ['one', 'two', 'six']) {
          await run(`printf ${content} > file`);
          const file = await (await reader()).open('file');
          expect(await file.sha256()).toBe(sha256(Buffer.from(content)));
          await file[Symbol.asyncDispose]();
        }
      });

      test('a part of a file as a stream', async () => {
        await run('printf 0123456789 > file');
        const part = async (start: number, end: number) =>
          (await bytesOf((await (await reader()).open('file')).stream({ start, end }))).toString();
        expect(await part(0, 10)).toBe('0123456789');
        expect(await part(3, 5)).toBe('34');
        expect(await part(9, 10)).toBe('9');
        expect(await part(4, 4)).toBe('');
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

    describe('listing', () => {
      test('one directory, in order, with types, sizes and times', async () => {
        await run(
          'mkdir dir; echo x > dir/below; printf abc > b; ln -s /etc/passwd link; ln -s nowhere dangling;' +
            'mkfifo pipe; touch -d @1500000000.5 a',
        );
        const { entries, truncated } = await list();
        const shown = entries.filter(({ path }) => path !== '.talaria');
        expect(truncated).toBe(false);
        expect(shown.map(({ path, type, size }) => [path, type, size])).toEqual([
          ['a', 'file', 0],
          ['b', 'file', 3],
          ['dangling', 'symlink', 0],
          ['dir', 'directory', 0],
          ['link', 'symlink', 0],
          ['pipe', 'fifo', 0],
        ]);
        expect(shown[0]?.modifiedAt).toBe(1_500_000_000.5);
      });

      test('everything below, directory by directory, with paths from the workspace', async () => {
        await run('mkdir -p t/b/c t/a t/empty; touch t/b/c/1 t/b/2 t/a/3 t/z; ln -s /etc t/a/etc');
        const expected = ['a', 'b', 'empty', 'z', 'a/3', 'a/etc', 'b/2', 'b/c', 'b/c/1'];
        expect(await paths('t', { recursive: true })).toEqual(expected.map((path) => `t/${path}`));
      });

      test('an empty directory, and a file by itself', async () => {
        await run('mkdir empty; echo x > file');
        expect(await list('empty')).toEqual({ entries: [], truncated: false });
        expect(await list('file')).toMatchObject({
          entries: [{ path: 'file', type: 'file', size: 2 }],
          truncated: false,
        });
      });

      test('a limit returns the first entries and says that there are more', async () => {
        await run('mkdir many; cd many; touch $(seq -w 1 600); mkdir 0; touch 0/below');
        expect(await list('many', { maxEntries: 3 })).toMatchObject({ truncated: true });
        expect(await paths('many', { maxEntries: 3 })).toEqual(['many/0', 'many/001', 'many/002']);
        const all = await list('many', { maxEntries: 601 });
        expect(all).toMatchObject({ truncated: false });
        expect(all.entries).toHaveLength(601);
        expect(await list('many', { recursive: true, maxEntries: 601 })).toMatchObject({ truncated: true });
        expect(await list('many', { recursive: true, maxEntries: 602 })).toMatchObject({ truncated: false });
        expect(await list('many', { maxEntries: 0 })).toEqual({ entries: [], truncated: true });
        expect(await list('many/0', { recursive: true, maxEntries: 1 })).toMatchObject({ truncated: false });
      });

      test('names of every kind', async () => {
        await run(
          `mkdir n; cd n; touch 'with space' '日本' $'new\\nline' '\\back' ./-dash "$(printf 'bad\\377')";` +
            `touch "$(printf 'x%.0s' $(seq 255))"`,
        );
        const found = (await paths('n')).map((path) => path.slice(2));
        expect(found).toEqual(
          ['-dash', '\\back', 'bad\ufffd', 'new\nline', 'with space', 'x'.repeat(255), '日本'].sort((a, b) =>
            Buffer.compare(Buffer.from(a.replace('\ufffd', 'z')), Buffer.from(b.replace('\ufffd', 'z'))),
          ),
        );
        await run("cd n; echo inside > $'new\\nline'");
        expect(await read('n/new\nline')).toMatchObject({ content: 'inside\n' });
      });
    });

    describe('archiving', () => {
      test.each(FORMATS)(
        '%s holds files, directories, modes and times, and nothing else',
        async (archiveFormat) => {
          await run(
            'mkdir -p t/sub/empty; printf "\\000\\377binary" > t/sub/bytes; echo plain > t/plain; : > t/nothing;' +
              'chmod 640 t/plain; chmod 4755 t/nothing; touch -d @1500000000 t/plain;' +
              'ln -s /etc/passwd t/link; ln -s plain t/inner; ln -s /etc t/dir; mkfifo t/pipe; ln t/plain t/hard',
          );
          const { content } = await archive('t', { archiveFormat });
          const found = await unpack(archiveFormat, content, (directory) => {
            expect(readFileSync(join(directory, 'sub/bytes'))).toEqual(Buffer.from('\0\xffbinary', 'latin1'));
            expect(readFileSync(join(directory, 'hard'), 'utf8')).toBe('plain\n');
            expect(statSync(join(directory, 'plain')).mtimeMs).toBe(1_500_000_000_000);
            expect(statSync(join(directory, 'plain')).mode & 0o7777).toBe(0o640);
            expect(statSync(join(directory, 'nothing')).mode & 0o7777).toBe(0o755);
          });
          expect(found.names).toEqual(['hard', 'nothing', 'plain', 'sub', 'sub/bytes', 'sub/empty']);
        },
      );

      test.each(FORMATS)('%s of one file, of an empty directory, and of all', async (archiveFormat) => {
        await run('mkdir -p d/e; echo x > d/file');
        const names = async (path?: string) =>
          (await unpack(archiveFormat, (await archive(path, { archiveFormat })).content)).names;
        expect(await names('d/file')).toEqual(['file']);
        expect(await names('d/e')).toEqual([]);
        expect((await names()).filter((name) => !name.startsWith('.talaria'))).toEqual([
          'd',
          'd/e',
          'd/file',
        ]);
      });

      test.each(FORMATS)('%s keeps names of every kind', async (archiveFormat) => {
        const long = 'y'.repeat(200);
        await run(
          `mkdir -p n/${long}/${long}; cd n; echo 1 > '日本 🙂'; echo 2 > $'new\\nline'; echo 3 > ${long}/${long}/z;` +
            `echo 4 > "$(printf 'bad\\377')"; echo 5 > 'C:evil'; echo 6 > '..\\..\\evil'`,
        );
        const { content } = await archive('n', { archiveFormat });
        const { all } = await unpack(archiveFormat, content, (directory) => {
          expect(readFileSync(join(directory, '日本 🙂'), 'utf8')).toBe('1\n');
          expect(readFileSync(join(directory, `${long}/${long}/z`), 'utf8')).toBe('3\n');
          if (archiveFormat === 'zip') {
            expect(readFileSync(join(directory, 'bad%FF'), 'utf8')).toBe('4\n');
            expect(readFileSync(join(directory, 'C%3Aevil'), 'utf8')).toBe('5\n');
            expect(readFileSync(join(directory, '..%5C..%5Cevil'), 'utf8')).toBe('6\n');
          } else {
            expect(readdirSync(directory, 'latin1')).toContain('bad\xff');
          }
        });
        for (const digit of '123456') expect(all).toContain(`${digit}\n`);
      });

      test('limits fail the call: there are no partial archives', async () => {
        await run('mkdir t; touch t/1 t/2 t/3; head -c 300000 /dev/urandom > t/4');
        for (const archiveFormat of FORMATS) {
          await expect(archive('t', { archiveFormat, maxEntries: 3 })).rejects.toMatchObject({
            code: 'artifact_too_large',
          });
          await expect(archive('t', { archiveFormat, maxBytes: 200_000 })).rejects.toMatchObject({
            code: 'artifact_too_large',
          });
          await archive('t', { archiveFormat, maxEntries: 4, maxBytes: MEGABYTE });
        }
      });

      test('a file that shrinks while it is archived, or a workspace that is deleted, fails the stream', async () => {
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
          const { names } = await unpack(archiveFormat, content, (directory) => {
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
      const hostile: [string, string, string][] = [
        ['a parent', '..', 'true'],
        ['a parent further down', 'a/../../b', 'mkdir a'],
        ['an absolute path', HOST_FILE, 'true'],
        ['a link to a file of the host', 'link', `ln -s ${HOST_FILE} link`],
        ['a link to a file beside it', 'link', 'echo x > file; ln -s file link'],
        ['a link to a directory', 'link', 'ln -s /etc link'],
        ['a path through a link', 'link/passwd', 'ln -s /etc link'],
        [
          'a path through a link to a directory beside it',
          'link/file',
          'mkdir d; echo x > d/file; ln -s d link',
        ],
        ['a path through a link further down', 'd/link/passwd', 'mkdir d; ln -s /etc d/link'],
        ['a dangling link', 'link', 'ln -s nowhere link'],
        ['a link to itself', 'link', 'ln -s link link'],
        ['a link into /proc', 'link', 'ln -s /proc/self/environ link'],
        ['a FIFO', 'pipe', 'mkfifo pipe'],
        ['a NUL', 'a\0b', 'true'],
        ['a path through a file', 'file/x', 'echo x > file'],
        ['a very long path', 'x/'.repeat(3000), 'true'],
        ['a very long name', 'x'.repeat(300), 'true'],
        ['half a character', 'a\ud800', 'true'],
      ];
      test.each(hostile)('%s is refused by every call', async (_, path, command) => {
        await run(command);
        for (const [name, call] of calls) {
          await expect(call(path), name).rejects.toMatchObject({
            name: 'SandboxError',
            code: 'invalid_path',
          });
        }
      });

      test.each([
        // Only an unisolated root can make one.
        ['device', 'mknod device c 1 5'],
        ['socket', `python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'`],
      ])('a %s is refused by every call, where one can be made', async (type, command) => {
        if (!(await bash(command)).success) return;
        for (const [name, call] of calls) {
          await expect(call(type), name).rejects.toMatchObject({ code: 'invalid_path' });
        }
        expect((await list()).entries).toContainEqual(expect.objectContaining({ path: type, type }));
      });

      test('no call finds a missing path', async () => {
        for (const path of ['missing', 'missing/deeper', '.hidden']) {
          for (const [name, call] of calls) {
            await expect(call(path), name).rejects.toMatchObject({ code: 'artifact_not_found' });
          }
        }
      });

      test('a directory is not a file', async () => {
        await run('mkdir d');
        for (const path of ['d', '.', '']) {
          await expect(read(path)).rejects.toMatchObject({ code: 'invalid_path' });
        }
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
      test.each(swaps)('%s that take turns reveal nothing of the host', async (_, path, command) => {
        const stop = new AbortController();
        const swapping = bash(command, {}, { signal: stop.signal });
        let seen = 0;
        try {
          for (const until = Date.now() + 1_500; Date.now() < until; ) {
            for (const [name, call] of calls) {
              for (const at of name === 'open' || name === 'readArtifact' ? [path] : [path, 'target', '.']) {
                const given = await call(at).catch((error) => {
                  expect(['invalid_path', 'artifact_not_found', 'artifact_changed']).toContain(error.code);
                  return '';
                });
                expect(given, name).not.toContain(HOST_TEXT);
                if (given.includes('mine')) seen++;
              }
            }
          }
        } finally {
          stop.abort();
          await swapping;
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
        await backend().discard(trajectory());
        expect(await backend().openWorkspace(trajectory())).toBeUndefined();
      });

      test('a trajectory that never acquired a slot has no workspace', async () => {
        expect(await backend().openWorkspace('never seen')).toBeUndefined();
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

      test('a backend that is stopped says so', async () => {
        await backend().stop();
        await expect(list()).rejects.toMatchObject({ code: 'backend_down' });
        await expect(backend().openWorkspace(trajectory())).rejects.toMatchObject({ code: 'backend_down' });
      });

      test('a call that takes too long fails in time', async () => {
        await run('truncate -s 20G huge');
        const options = { timeoutS: 0.3, maxBytes: 1 };
        await expect(read('huge', { ...options, includeSha256: true })).rejects.toMatchObject({
          code: 'artifact_timeout',
        });
        await expect(
          archive('.', { archiveFormat: 'zip', timeoutS: 0.3, maxBytes: 1e12 }),
        ).rejects.toMatchObject({ code: 'artifact_timeout' });
      });

      test('a time that is no whole number of milliseconds is one', async () => {
        await run('echo x > file');
        expect((await list('.', { timeoutS: 60.00005 })).entries).toHaveLength(1);
      });

      test.each([
        ['a size below 0', () => read('file', { maxBytes: -1 })],
        ['a size that is none', () => read('file', { maxBytes: Number.NaN })],
        ['a count that is none', () => list('.', { maxEntries: 1.5 })],
        ['an unknown encoding', () => read('file', { encoding: 'utf16' })],
        ['an unknown format', () => archive('.', { archiveFormat: 'rar' })],
        ['no time at all', () => list('.', { timeoutS: 0 })],
      ])('%s is an invalid request', async (_, call) => {
        await run('echo x > file');
        await expect(call()).rejects.toMatchObject({ code: 'invalid_request' });
      });
    });
  });
}

/** The archive as the usual programs see it: its names in order, and the contents of all files in one text. */
async function unpack(
  format: ArchiveFormat,
  content: Buffer,
  look: (directory: string) => void = () => {},
): Promise<{ names: string[]; all: string }> {
  const directory = mkdtempSync(join(tmpdir(), 'talaria-archive-'));
  const into = join(directory, 'into');
  try {
    const file = join(directory, `archive.${format}`);
    writeFileSync(file, content);
    execFileSync('mkdir', [into]);
    const options = { stdio: ['ignore', 'pipe', 'pipe'] as ['ignore', 'pipe', 'pipe'] };
    if (format === 'zip') {
      // unzip calls an archive without entries an error.
      if (content.length > 22) {
        execFileSync('unzip', ['-tqq', file], options);
        execFileSync('unzip', ['-q', file, '-d', into], options);
      }
    } else {
      execFileSync('tar', ['-xpf', file, '-C', into, '--no-same-owner'], options);
    }
    look(into);
    const files = readdirSync(into, { recursive: true, withFileTypes: true });
    for (const entry of files) expect(entry.isFile() || entry.isDirectory(), entry.name).toBe(true);
    const all = execFileSync('sh', ['-c', 'find . -type f -exec cat {} +'], {
      cwd: into,
      maxBuffer: 1e9,
      encoding: 'utf8',
    });
    return { names: readdirSync(into, { recursive: true, encoding: 'utf8' }).sort(), all };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function bytesOf(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
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
