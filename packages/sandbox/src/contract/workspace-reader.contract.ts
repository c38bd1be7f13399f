/**
 * What every `WorkspaceReader` must do, wherever its files are (artifacts.ts), as long as nobody changes them. It runs on
 * every backend, and on everything else that is read like a workspace:
 *
 *   describeWorkspaceReader(readThrough({ run, reader, workspaceDir, hasSpecialFiles }));
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { describe, expect, type TestOptions, test } from 'vitest';
import type {
  ArchiveFormat,
  ArchiveOptions,
  ArtifactListing,
  ListOptions,
  WorkspaceReader,
} from '../artifacts.ts';
import { FORMATS, unpackArchive } from '../testing/unpack-archive.ts';

const MEGABYTE = 1_000_000;
/** Text that only a file of the host contains. */
const HOST_FILE = '/etc/passwd';

/** Files that a test makes and reads. Each test begins without any. */
export interface ReadFiles {
  /** Runs a command of the shell where the files are. */
  run(command: string): Promise<void>;
  reader(): Promise<WorkspaceReader>;
  /** The directory as commands see it. */
  workspaceDir(): string;
  /** Options of the tests that do not depend on the way to the files. */
  sameEverywhere?: TestOptions;
  /** Whether FIFOs, sockets and devices are among the files. */
  hasSpecialFiles: boolean;
  read(path: string): Promise<string>;
  list(path?: string, options?: ListOptions): Promise<ArtifactListing>;
  archive(path?: string, options?: ArchiveOptions): Promise<Buffer>;
}

/** Reads through the reader alone. */
export function readThrough(files: Omit<ReadFiles, 'read' | 'list' | 'archive'>): ReadFiles {
  const { reader } = files;
  return {
    ...files,
    read: async (path) => readAll(await reader(), path),
    list: async (path = '.', options) => (await reader()).list(path, options),
    archive: async (path = '.', options) => bytesOf(await (await reader()).archive(path, options)),
  };
}

/** Every call that takes a path, as a promise of everything it would reveal. */
export function callsOf({
  reader,
  read,
  list,
  archive,
}: ReadFiles): [string, (path: string) => Promise<string>][] {
  return [
    ['read', read],
    ['list', async (path) => JSON.stringify((await list(path, { recursive: true })).entries)],
    ...FORMATS.map((format): [string, (path: string) => Promise<string>] => [
      `archive ${format}`,
      async (path) => (await unpackArchive(format, await archive(path, { format }))).all,
    ]),
    ['open', async (path) => readAll(await reader(), path)],
  ];
}

export function describeWorkspaceReader(files: ReadFiles): void {
  const { run, reader, read, list, archive, workspaceDir, hasSpecialFiles, sameEverywhere = {} } = files;
  const paths = async (path?: string, options = {}) =>
    (await list(path, options)).entries.map((entry) => entry.path);
  const calls = callsOf(files);

  describe('reading', () => {
    test('a file has its path, size, time and digest', async () => {
      await run('mkdir d; printf "h\\303\\251llo" > d/file; touch -d @1500000000 d/file');
      await using file = await (await reader()).open('d/file');
      expect(file).toMatchObject({ path: 'd/file', size: 6, modifiedAt: 1_500_000_000 });
      expect(await file.sha256()).toBe(createHash('sha256').update('héllo').digest('hex'));
    });

    test('a path as commands see it, with dots in it, and an empty file', async () => {
      await run('mkdir -p d; : > d/empty');
      for (const path of [`${workspaceDir()}/d/empty`, './d/../d//empty']) {
        await using file = await (await reader()).open(path);
        expect(file).toMatchObject({ path: 'd/empty', size: 0 });
        expect(await read(path)).toBe('');
      }
    });

    test('every call finds names that are not ASCII', async () => {
      await run("mkdir 'ü 😀'; printf text > 'ü 😀/é'");
      expect(await paths('ü 😀')).toEqual(['ü 😀/é']);
      for (const [name, call] of calls) {
        expect(await call('ü 😀/é'), name).toContain(name === 'list' ? 'ü 😀/é' : 'text');
      }
    });

    test('the reader of a stream may overwrite and free its chunks', async () => {
      await run('head -c 1000000 /dev/zero | tr "\\0" a > large; printf b > small');
      for (let round = 0; round < 2; round++) {
        for (const [path, expected] of [
          ['large', 'a'.repeat(1_000_000)],
          ['small', 'b'],
        ] as const) {
          const file = await (await reader()).open(path);
          expect(await takenFrom(file.stream()), path).toBe(expected);
        }
        const archived = await takenFrom(await (await reader()).archive('.', { format: 'tar' }));
        expect(archived.match(/a{1000}/g)).toHaveLength(1000);
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
  });

  describe('listing', () => {
    test('one directory, in order, with types, sizes and times', async () => {
      await run(
        'mkdir dir; echo x > dir/below; printf abc > b; ln -s /etc/passwd link; ln -s nowhere dangling;' +
          'mkfifo pipe; touch -d @1500000000.5 a',
      );
      const { entries, truncated } = await list();
      expect(truncated).toBe(false);
      expect(entries.map(({ path, type, size }) => [path, type, size])).toEqual([
        ['a', 'file', 0],
        ['b', 'file', 3],
        ['dangling', 'symlink', 0],
        ['dir', 'directory', 0],
        ['link', 'symlink', 0],
        ...(hasSpecialFiles ? [['pipe', 'fifo', 0]] : []),
      ]);
      expect(entries[0]?.modifiedAt).toBe(1_500_000_000.5);
    });

    test(
      'everything below, directory by directory, with paths from the workspace',
      sameEverywhere,
      async () => {
        await run('mkdir -p t/b/c t/a t/empty; touch t/b/c/1 t/b/2 t/a/3 t/z; ln -s /etc t/a/etc');
        const expected = ['a', 'b', 'empty', 'z', 'a/3', 'a/etc', 'b/2', 'b/c', 'b/c/1'];
        expect(await paths('t', { recursive: true })).toEqual(expected.map((path) => `t/${path}`));
      },
    );

    test('an empty directory, and a file by itself', sameEverywhere, async () => {
      await run('mkdir empty; echo x > file');
      expect(await list('empty')).toEqual({ entries: [], truncated: false });
      expect(await list('file')).toMatchObject({
        entries: [{ path: 'file', type: 'file', size: 2 }],
        truncated: false,
      });
    });

    test('a limit returns the first entries and says that there are more', sameEverywhere, async () => {
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
      expect(await read('n/new\nline')).toBe('inside\n');
    });
  });

  describe('archiving', () => {
    const inEveryFormat = (what: string, show: (format: ArchiveFormat) => Promise<void>): void => {
      for (const format of FORMATS)
        test(`${format} ${what}`, format === 'tar' ? {} : sameEverywhere, () => show(format));
    };

    inEveryFormat('holds files, directories, modes and times, and nothing else', async (format) => {
      await run(
        'mkdir -p t/sub/empty; printf "\\000\\377binary" > t/sub/bytes; echo plain > t/plain; : > t/nothing;' +
          'chmod 640 t/plain; chmod 4755 t/nothing; touch -d @1500000000 t/plain;' +
          'ln -s /etc/passwd t/link; ln -s plain t/inner; ln -s /etc t/dir; mkfifo t/pipe; ln t/plain t/hard',
      );
      const content = await archive('t', { format });
      const found = await unpackArchive(format, content, (directory) => {
        expect(readFileSync(join(directory, 'sub/bytes'))).toEqual(Buffer.from('\0\xffbinary', 'latin1'));
        expect(readFileSync(join(directory, 'hard'), 'utf8')).toBe('plain\n');
        expect(statSync(join(directory, 'plain')).mtimeMs).toBe(1_500_000_000_000);
        expect(statSync(join(directory, 'plain')).mode & 0o7777).toBe(0o640);
        expect(statSync(join(directory, 'nothing')).mode & 0o7777).toBe(0o755);
      });
      expect(found.names).toEqual(['hard', 'nothing', 'plain', 'sub', 'sub/bytes', 'sub/empty']);
    });

    test('one file, an empty directory, and all, in every format', sameEverywhere, async () => {
      await run('mkdir -p d/e; echo x > d/file');
      for (const format of FORMATS) {
        const names = async (path?: string) =>
          (await unpackArchive(format, await archive(path, { format }))).names;
        expect(await names('d/file')).toEqual(['file']);
        expect(await names('d/e')).toEqual([]);
        expect(await names()).toEqual(['d', 'd/e', 'd/file']);
      }
    });

    inEveryFormat('keeps names of every kind', async (format) => {
      const long = 'y'.repeat(200);
      await run(
        `mkdir -p n/${long}/${long}; cd n; echo 1 > '日本 🙂'; echo 2 > $'new\\nline'; echo 3 > ${long}/${long}/z;` +
          `echo 4 > "$(printf 'bad\\377')"; echo 5 > 'C:evil'; echo 6 > '..\\..\\evil'`,
      );
      const content = await archive('n', { format });
      const { all } = await unpackArchive(format, content, (directory) => {
        expect(readFileSync(join(directory, '日本 🙂'), 'utf8')).toBe('1\n');
        expect(readFileSync(join(directory, `${long}/${long}/z`), 'utf8')).toBe('3\n');
        if (format === 'zip') {
          expect(readFileSync(join(directory, 'bad%FF'), 'utf8')).toBe('4\n');
          expect(readFileSync(join(directory, 'C%3Aevil'), 'utf8')).toBe('5\n');
          expect(readFileSync(join(directory, '..%5C..%5Cevil'), 'utf8')).toBe('6\n');
        } else {
          expect(readdirSync(directory, 'latin1')).toContain('bad\xff');
        }
      });
      for (const digit of '123456') expect(all).toContain(`${digit}\n`);
    });

    test('limits fail the call: there are no partial archives', sameEverywhere, async () => {
      await run('mkdir t; touch t/1 t/2 t/3; head -c 300000 /dev/urandom > t/4');
      for (const format of FORMATS) {
        await expect(archive('t', { format, maxEntries: 3 })).rejects.toMatchObject({
          code: 'artifact_too_large',
        });
        await expect(archive('t', { format, maxBytes: 200_000 })).rejects.toMatchObject({
          code: 'artifact_too_large',
        });
        await archive('t', { format, maxEntries: 4, maxBytes: MEGABYTE });
      }
    });
  });

  describe('paths', () => {
    async function expectRefused(...paths: string[]): Promise<void> {
      for (const path of paths) {
        for (const [name, call] of calls) {
          await expect(call(path), `${name} ${path}`).rejects.toMatchObject({
            name: 'SandboxError',
            code: 'invalid_path',
          });
        }
      }
    }

    test('every call refuses a path through a link', async () => {
      await run('ln -s /etc link');
      await expectRefused('link/passwd');
    });

    test('every call refuses a link, wherever it leads, and a path through one', sameEverywhere, async () => {
      await run(
        `echo x > file; mkdir d; echo x > d/file; ln -s ${HOST_FILE} host; ln -s file beside; ln -s /etc directory;` +
          'ln -s d near; ln -s /etc d/further; ln -s nowhere dangling; ln -s itself itself; ln -s /proc/self/environ proc',
      );
      await expectRefused('host', 'beside', 'directory', 'near', 'dangling', 'itself', 'proc');
      await expectRefused('directory/passwd', 'near/file', 'd/further/passwd');
    });

    test(
      'every call refuses an invalid path and one that leads out of the workspace',
      sameEverywhere,
      async () => {
        await run('mkdir a; echo x > file');
        await expectRefused('..', 'a/../../b', HOST_FILE);
        await expectRefused('a\0b', 'file/x', 'x/'.repeat(3000), 'x'.repeat(300), 'a\ud800');
      },
    );

    // With `runIf`, it would count as a test that has to run also where its part is skipped.
    test('every call refuses a FIFO', hasSpecialFiles ? sameEverywhere : { skip: true }, async () => {
      await run('mkfifo pipe');
      await expectRefused('pipe');
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
        await expect(read(path), path).rejects.toMatchObject({ code: 'invalid_path' });
      }
    });
  });
}

async function readAll(reader: WorkspaceReader, path: string): Promise<string> {
  return (await bytesOf((await reader.open(path)).stream())).toString();
}

export async function bytesOf(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The bytes of the stream as text. Each chunk is destroyed before the next one is read. */
async function takenFrom(stream: Readable): Promise<string> {
  let text = '';
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    text += chunk.toString('latin1');
    chunk.fill('x');
    if (chunk.buffer instanceof ArrayBuffer && chunk.buffer.byteLength === chunk.length)
      chunk.buffer.transfer(0);
  }
  return text;
}
